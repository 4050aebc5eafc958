package source

import (
	"cmp"
	"slices"
	"strings"

	"dpproxy/core"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// scan makes the term of a table, with all that the catalogue and the policy prove of its rows.
func (t *terms) scan(m *policy.Model, r *relation) core.Rel {
	s := &core.Scan{Table: r.table.Name.String(), Row: t.fresh()}
	gives := make(map[string]core.Col, len(r.columns)+2)
	gives[theRow] = s.Row
	var valued, spelled []core.Col
	for i, c := range r.columns {
		if s.Cols = append(s.Cols, col(c)); c.Path == nil { // no name means a field
			gives[c.Name] = col(c)
		}
		if c.Path == nil && r.table.Columns[i].NotNull && !c.Reach.Drops() {
			valued = append(valued, col(c))
		}
		if !c.OneSpelling() {
			spelled = append(spelled, col(c))
		}
	}
	s.Says.Valued, s.Spelled = core.Of(valued...), core.Of(spelled...)
	switch {
	case ofReference(r):
		s.Reference = true
	case r.protected():
		t.unitOf(r, s)
		gives[theUnit] = s.Unit
	}
	if r.protected() {
		for _, st := range m.Whole(r.table).Lookups {
			s.Says.Refers = append(s.Says.Refers, keyAt(st, func(i int) core.Col { return t.refers(r.column(st.From[i])) }))
		}
	}
	for _, key := range r.keys() {
		look, names := core.Look{Gives: gives}, []string{}
		for _, i := range sortedBy(key, func(i int) string { return r.columns[i].Name }) {
			look.Cols, names = append(look.Cols, s.Cols[i]), append(names, r.columns[i].Name)
		}
		look.Of = keyName(r.table, names)
		s.Keys, s.Says.Looks = append(s.Keys, core.Of(look.Cols...)), append(s.Says.Looks, look)
	}
	return s
}

// theRow and theUnit are what a row of a table has besides its columns.
const theRow, theUnit = "the row", "the unit"

func sortedBy(list []int, name func(int) string) []int {
	if len(list) == 1 {
		return list
	}
	return slices.SortedFunc(slices.Values(list), func(a, b int) int { return cmp.Compare(name(a), name(b)) })
}

// keyName names a key of a table.
func keyName(t *policy.Table, columns []string) string {
	return t.Name.String() + "(" + strings.Join(columns, ", ") + ")"
}

// keyAt is the key that a step leads to, from columns.
func keyAt(st policy.Step, from func(i int) core.Col) (k core.Key) {
	order := make([]int, len(st.Key))
	for i := range order {
		order[i] = i
	}
	var names []string
	for _, i := range sortedBy(order, func(i int) string { return st.Key[i] }) {
		names, k.Cols = append(names, st.Key[i]), append(k.Cols, from(i))
	}
	k.Of = keyName(st.To, names)
	return k
}

// unitOf adds the unit of a table: its own, or the one at the end of its path. Columns of the table can be those of tables of the path,
// and the unit: they are found step by step.
func (t *terms) unitOf(r *relation, s *core.Scan) {
	s.Unit = col(r.unit)
	if !r.unit.OneSpelling() {
		s.Spelled = s.Spelled.Or(core.Of(s.Unit))
	}
	for _, c := range r.columns {
		switch {
		case c.Whose != nil: // it is the unit of each row on which it has a value
			same := core.Facts{Equal: []core.Pair{{A: col(c), B: s.Unit, Identical: false}}}
			s.Says.Given = append(s.Says.Given, core.Given{If: core.Of(col(c)), Says: same})
			identifier(c, s)
		case c == r.unit:
			identifier(c, s)
		}
	}
	own := r.column
	for _, st := range r.table.Unit.Steps {
		reached := map[string]*scalar.Column{}
		for i, name := range st.From {
			if c := own(name); c != nil {
				reached[st.Key[i]] = c
			}
		}
		key := keyAt(st, func(i int) core.Col {
			if c := reached[st.Key[i]]; c != nil {
				return t.refers(c)
			}
			return 0
		})
		if !slices.Contains(key.Cols, 0) {
			s.Says.Looks = append(s.Says.Looks, core.Look{Key: key, Gives: map[string]core.Col{theUnit: s.Unit}})
			s.Deps = append(s.Deps, core.Dep{From: core.Of(key.Cols...), To: core.Of(s.Unit)})
		}
		own = func(name string) *scalar.Column { return reached[name] }
	}
	if c := own(r.table.Unit.Column); len(r.hops) > 0 && c != nil {
		s.Says.Equal = append(s.Says.Equal, core.Pair{A: col(c), B: s.Unit, Identical: scalar.Identical(c, r.unit)})
		identifier(c, s)
		t.refer = t.refer.But(core.Of(col(c))) // it is known to be the unit, whatever it refers to
	}
}

// refers notes that a column refers to a key.
func (t *terms) refers(c *scalar.Column) core.Col {
	if scalar.Long(c.Type) {
		t.refer = t.refer.Or(core.Of(col(c)))
	}
	return col(c)
}

// identifier adds that the unit tells the identifier of the person, in a column of its type, or that there is none: also in a UNION ALL,
// of columns of one type.
func identifier(c *scalar.Column, s *core.Scan) {
	if !c.OneSpelling() {
		return
	}
	s.Deps = append(s.Deps, core.Dep{From: core.Of(s.Unit), To: core.Of(col(c))})
	s.Says.Looks = append(s.Says.Looks, core.Look{
		Key: core.Key{Of: "a person", Cols: []core.Col{s.Unit}}, Gives: map[string]core.Col{c.Type.String(): col(c)},
	})
}
