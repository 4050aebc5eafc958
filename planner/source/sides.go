package source

import (
	"slices"

	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// A sub-select of a condition is a side of the joins of its level: the different values by which its rows are found, outer-joined
// on the equalities that tie it to the row around it. So it is read as every relation of a join is, whether or not a row asks.
//
//	FROM patients p WHERE p.smoker AND p.id IN (SELECT v.patient_id FROM visits v WHERE v.cost > 900)
//
//	FROM patients p LEFT JOIN (SELECT DISTINCT v.patient_id AS k1 FROM visits v WHERE v.cost > 900) AS j1 ON j1.k1 = p.id
//	WHERE p.smoker AND j1.k1 IS NOT NULL
//
// A sub-select without such an equality has the constant one as its key. IN that can be NULL has a second side, which says
// whether there is a NULL among the values. The exception is a look-up (subselect_by_index.go).

// A side is such a sub-select.
type side struct {
	*semijoin

	level *level
	name  string // of its relation
	// keys are the values that its rows are found by, own the conditions on its rows alone.
	keys []sideKey
	own  []condition
	// value is the key of IN with the value that may be NULL, nil if there is none.
	value *sideKey
}

// A sideKey is a value that is compared with one of the row around by an equality.
type sideKey struct {
	equality     scalar.Expr
	inner, outer scalar.Expr
}

// sideOf returns the i-th sub-select of a level as a side.
func sideOf(l *level, i int) *side {
	j := l.semijoinsOf()[i]
	s := &side{semijoin: j, level: l, name: sqltext.SubSelect(i)}
	for _, c := range j.inner.where {
		s.add(c)
	}
	if match := j.inner.match; match != nil {
		s.add(condition{x: match})
		if j.inner.unmatched {
			s.value = &sideKey{equality: match, inner: match}
			if a, b, ok := scalar.Equated(match); ok {
				s.value.outer, s.value.inner = a, b
			}
		}
	}
	return s
}

// add takes a condition of the sub-select.
func (s *side) add(c condition) {
	foreign := func(e scalar.Expr) bool { return slices.ContainsFunc(e.Columns(), s.inner.isOuter) }
	if !foreign(c.x) {
		s.own = append(s.own, c)
		return
	}
	a, b, _ := scalar.Equated(c.x)
	if foreign(a) {
		a, b = b, a
	}
	s.keys = append(s.keys, sideKey{c.x, a, b})
}

// column is the key as a column of the side. Long texts have been cut where it was made.
func (s *side) column(i int) *scalar.Column {
	return &scalar.Column{Type: s.keys[i].inner.Type(), Of: []scalar.Expr{s.keys[i].inner}, SQL: sqltext.Of(s.name, sqltext.Key(i))}
}

// condition writes that the sub-select has a row for the row around it, or, of IN with values that may be NULL, what IN is.
func (s *side) condition(w *scalar.Writer) (string, error) {
	found := "(" + sqltext.Of(s.name, sqltext.Key(0)) + " IS NOT NULL)"
	if s.value == nil {
		return found, nil
	}
	null := sqltext.Of(s.nulls(), sqltext.Value)
	if s.value.outer != nil {
		outer, err := w.Expr(s.value.outer)
		if err != nil {
			return "", err
		}
		null = sqltext.Of(s.nulls(), sqltext.One) + " AND (" + outer + " IS NULL OR " + null + ")"
	}
	return "(CASE WHEN " + found + " THEN TRUE WHEN " + null + " THEN NULL ELSE FALSE END)", nil
}

// nulls names the second side of IN with values that may be NULL.
func (s *side) nulls() string { return s.name + sqltext.Nulls }

// join joins the side with the item that is written of a node.
func (s *side) join(p *sourceWriter, n node, from sqltext.Item) (sqltext.Item, error) {
	values, err := s.values(p)
	if err != nil {
		return nil, err
	}
	values.Distinct = true
	to, err := s.joined(p, n, from, values)
	if err != nil || s.value == nil {
		return to, err
	}
	return s.joinNulls(p, n, to)
}

// joinNulls joins the second side: whether there are rows, and a NULL among their values.
func (s *side) joinNulls(p *sourceWriter, n node, from sqltext.Item) (sqltext.Item, error) {
	ties := *s
	ties.keys = slices.DeleteFunc(slices.Clone(s.keys), func(k sideKey) bool { return k.equality == s.value.equality })
	ties.own = slices.DeleteFunc(slices.Clone(s.own), func(c condition) bool { return c.x == s.value.equality })
	ties.name = s.nulls()
	values, err := ties.values(p)
	if err != nil {
		return nil, err
	}
	for i := range max(1, len(ties.keys)) {
		values.GroupBy = append(values.GroupBy, values.Columns[i].SQL)
	}
	inner, err := s.inner.writer(p.w).Expr(s.value.inner)
	values.Columns = append(values.Columns, sqltext.Column{SQL: "pg_catalog.bool_or(" + inner + " IS NULL)", As: sqltext.Value},
		sqltext.Column{SQL: "TRUE", As: sqltext.One})
	if err != nil {
		return nil, err
	}
	return ties.joined(p, n, from, values)
}

// joined joins values with an item by their keys.
func (s *side) joined(p *sourceWriter, n node, from sqltext.Item, values *sqltext.Select) (sqltext.Item, error) {
	to := &sqltext.Join{
		Kind: sqltext.Left, Left: from, Right: &sqltext.Query{Select: values, As: s.name}, LeftUnit: p.presence(n),
	}
	link := func(equal, key string, left sqltext.End) {
		to.Links = append(to.Links, sqltext.Link{SQL: equal, Left: left, Right: sqltext.End{Of: s.name, Present: key}})
	}
	if len(s.keys) == 0 {
		key, one := sqltext.Of(s.name, sqltext.Key(0)), p.anyColumn(n)
		to.On = []string{key + " OPERATOR(pg_catalog.=) CASE WHEN " + one.Present + " IS NULL THEN 1 ELSE 1 END"}
		link(to.On[0], key, one)
	}
	for i, k := range s.keys {
		key := s.column(i)
		equal, err := p.w.Expr(scalar.Replaced(k.equality, k.inner, &scalar.Ref{Column: key, At: s.at}))
		if err != nil {
			return nil, err
		}
		to.On = append(to.On, equal)
		for _, c := range k.outer.Columns() {
			link(equal, key.SQL, p.endOf(c))
		}
	}
	return to, nil
}

// endOf tells of a column of the level in a link.
func (p *sourceWriter) endOf(c *scalar.Column) sqltext.End {
	return end(&joined{left: p.level.root, right: p.level.root}, c, nil)
}

// anyColumn tells of a column that is written of each row of a node.
func (p *sourceWriter) anyColumn(n node) sqltext.End {
	r := region(n)[0]
	e := sqltext.End{Of: r.alias, Present: p.presence(n)}
	if e.Present != "" {
		return e
	}
	e.Present = sqltext.Of(r.alias, sqltext.One)
	for _, c := range r.columns {
		if r.rows == nil || p.mentioned(c) {
			e.Present = c.Presence()
		}
	}
	return e
}

// values writes the rows of the side with their keys.
func (s *side) values(p *sourceWriter) (*sqltext.Select, error) {
	in := &sourceWriter{level: s.inner, w: s.inner.writer(p.w), keyed: p.keyed}
	q, err := in.rows(s.own)
	if err != nil {
		return nil, err
	}
	for i := range s.keys {
		sql, err := in.w.Target(s.column(i), 0)
		if err != nil {
			return nil, err
		}
		q.Columns = append(q.Columns, sqltext.Column{SQL: sql, As: sqltext.Key(i)})
	}
	if len(s.keys) == 0 {
		q.Columns = []sqltext.Column{{SQL: "1", As: sqltext.Key(0)}}
	}
	return q, nil
}

// joinSides joins sub-selects with the item that is written of a node.
func (p *sourceWriter) joinSides(n node, from sqltext.Item, asked []int) (_ sqltext.Item, err error) {
	for _, i := range asked {
		if p.level.byIndex(p.level.semijoinsOf()[i]) {
			continue
		}
		if from, err = sideOf(p.level, i).join(p, n, from); err != nil {
			return nil, err
		}
	}
	return from, nil
}

// sidesOf are the numbers of the sub-selects of some conditions.
func (p *sourceWriter) sidesOf(conds []condition) (list []int) {
	for _, c := range conds {
		for _, q := range scalar.Queries(c.x) {
			list = append(list, slices.IndexFunc(p.level.semijoinsOf(), func(j *semijoin) bool { return j.query == q }))
		}
	}
	return list
}

// sidesOfRows are those of the sub-selects of all expressions over the rows of the level.
func (p *sourceWriter) sidesOfRows() (list []int) {
	_, joins := byQueries(joinConditions(p.level.root))
	below := p.sidesOf(joins)
	for i := range p.level.semijoinsOf() {
		if !slices.Contains(below, i) {
			list = append(list, i)
		}
	}
	return list
}

// byQueries tells conditions with sub-selects from others.
func byQueries(conds []condition) (without, with []condition) {
	for _, c := range conds {
		if c.query {
			with = append(with, c)
		} else {
			without = append(without, c)
		}
	}
	return without, with
}
