package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpproxy/internal/core"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A Compared is what package core derives of the levels of blocks beside what this package proves.
type Compared struct {
	// Levels were compared, Claims of them, and Refusals of blocks; Left counts those that have no term yet, by reason.
	Levels, Claims, Refusals int
	Left                     map[string]int
	// Weaker counts claims by kind that core does not derive, and Stronger those that core alone derives.
	Weaker, Stronger map[string]int
	// Notes has a line for each of them.
	Notes []string
}

// Compare adds the levels of a block.
func (c *Compared) Compare(model *policy.Model, b *ast.Block) error {
	if c.Left == nil {
		c.Left, c.Weaker, c.Stronger = map[string]int{}, map[string]int{}, map[string]int{}
	}
	rows, err := Resolve(&Statement{Model: model, Constants: &scalar.Constants{}}, b)
	if err == nil {
		c.level(rows.scope.proved)
	} else if refused, ok := errors.AsType[*pgerr.Error](err); ok && refused.Code == pgerr.Ownership {
		c.refused(rows.scope.resolved, err)
	}
	return err
}

// refused compares a block whose rows need not be of one unit each.
func (c *Compared) refused(r *resolved, refusal error) {
	if r.root == nil { // a level below is refused
		return
	}
	c.Refusals++
	_, typ, err := typeOf(&bounded{proof: &proof{resolved: r, follows: paths{}, semijoins: r.subselects}})
	c.claim("refusal", refusal.Error(), true, err != nil || len(typ.Loose) > 0)
}

func (c *Compared) String() string {
	return fmt.Sprintf("core: %d levels, %d claims, %d refusals, no term: %v, less: %v, more: %v",
		c.Levels, c.Claims, c.Refusals, c.Left, c.Weaker, c.Stronger)
}

// typeOf derives the type of a level.
func typeOf(b *bounded) (*lowering, core.Type, error) {
	l := &lowering{columns: map[*scalar.Column]core.Col{}, keyed: map[*scalar.Column]bool{}}
	term, err := l.bounded(b)
	if err != nil {
		return l, core.Type{}, err
	}
	typ, err := core.Check(term)
	return l, typ, err
}

// level compares a level, and those below it.
func (c *Compared) level(b *bounded) {
	l, typ, err := typeOf(b)
	switch {
	case errors.Is(err, errNoTerm):
		c.Left[err.Error()]++
	case b.inside && (errors.Is(err, core.ErrLoose) || len(typ.Loose) > 0): // the level around it looks them up
		c.Left["looked up from around"]++
	case err != nil:
		c.claim("ownership", err.Error(), true, false)
	default:
		c.Levels++
		c.claims(b, l, typ)
	}
	for _, r := range b.relations {
		for _, below := range r.branches() {
			c.level(below.source.bounded)
		}
	}
	for _, j := range b.semijoins {
		c.level(j.inner.bounded)
	}
}

// claim compares one claim.
func (c *Compared) claim(name, of string, ours, theirs bool) {
	c.Claims++
	switch {
	case ours && !theirs:
		c.Weaker[name]++
		c.Notes = append(c.Notes, "weaker: "+name+" "+of)
	case theirs && !ours:
		c.Stronger[name]++
		c.Notes = append(c.Notes, "stronger: "+name+" "+of)
	}
}

func (c *Compared) claims(b *bounded, l *lowering, typ core.Type) {
	c.claim("protected", "", b.Protected(), typ.Unit != 0)
	if !b.Protected() || typ.Unit == 0 {
		return
	}
	if l.columns[b.unit().Base()] != 0 { // else it is of a level around this one
		c.claim("unit", "", true, typ.Equal(typ.Unit, l.column(b.unit())))
	}
	c.claim("unique", "", b.Unique() || b.Tagged() && b.leavesOneRow(b.perUnitClosure(nil)), typ.Unique(nil))
	perUnit := typ.PerUnit(nil)
	for _, r := range b.relations {
		for _, col := range r.columns {
			ref := &scalar.Ref{Column: col}
			at, of := l.column(col), r.alias+"."+col.Name
			c.claim("per unit", of, b.PerUnit(ref), perUnit.Has(at))
			c.claim("is unit", of, b.IsUnit(ref), typ.Equal(typ.Unit, at))
			fixes := core.Set{}
			if scalar.OneSpelling(ref) {
				fixes = core.Of(at)
			}
			c.claim("fixes", of, b.Fixes([]scalar.Expr{ref}), typ.Unique(fixes))
		}
	}
	if n, known := b.RowsPerUnit(policy.Limits{}); known {
		c.claim("rows", fmt.Sprint(n, " ", typ.Rows), true, typ.Rows > 0 && typ.Rows <= n)
	} else {
		c.claim("rows", fmt.Sprint(typ.Rows), false, typ.Rows > 0)
	}
}

var errNoTerm = errors.New("no term yet")

func noTerm(why string) error { return fmt.Errorf("%w: %s", errNoTerm, why) }

// A lowering makes terms of levels that are proved.
type lowering struct {
	columns map[*scalar.Column]core.Col
	// keyed are the columns of keys of tables.
	keyed map[*scalar.Column]bool
	last  core.Col
}

func (l *lowering) fresh() core.Col { l.last++; return l.last }

// column numbers a column; one of a derived table that stands for one below has its number, unless it is the beginning
// of a text of a key.
func (l *lowering) column(c *scalar.Column) core.Col {
	if len(c.Of) == 1 {
		if below, plain := scalar.PlainColumn(c.Of[0]); plain && (!l.keyed[below] || c.Reach == scalar.Whole) {
			return l.column(below)
		}
	}
	if l.columns[c] == 0 {
		l.columns[c] = l.fresh()
	}
	return l.columns[c]
}

func (l *lowering) set(list []*scalar.Column) (s core.Set) {
	for _, c := range list {
		s = s.Or(core.Of(l.column(c)))
	}
	return s
}

// bounded makes the term of the rows of a level. Of conditions on a level around it no more is said than which columns
// of its own have values.
func (l *lowering) bounded(b *bounded) (core.Rel, error) {
	where := l.conditions(b.where)
	for i, c := range b.where {
		if slices.ContainsFunc(c.x.Columns(), b.isOuter) {
			own := l.set(slices.DeleteFunc(c.x.Columns(), b.isOuter))
			where[i] = core.Condition{Of: c.x, Cols: own, Says: core.Facts{Valued: where[i].Says.Valued.But(where[i].Cols.But(own))}}
		}
	}
	rel, err := l.node(b, b.root, where)
	if err != nil {
		return nil, err
	}
	rel = &core.Filter{In: rel, If: where}
	for _, j := range b.semijoins {
		if err := l.subselect(rel, j); err != nil {
			return nil, err
		}
	}
	return rel, nil
}

// subselect checks the term of a sub-select in a condition.
func (l *lowering) subselect(rel core.Rel, j *semijoin) error {
	where := j.inner.where
	if m := j.inner.match; m != nil && !j.inner.unmatched {
		where = append(slices.Clone(where), condition{x: m})
	}
	inner, err := l.node(j.inner.bounded, j.inner.root, nil)
	if err != nil {
		return err
	}
	_, err = core.Check(&core.Join{Kind: core.Semi, L: rel, R: inner, On: l.conditions(where)})
	if errors.Is(err, core.ErrScope) {
		return noTerm("a sub-select of two levels")
	}
	return err
}

func (l *lowering) conditions(list []condition) (all []core.Condition) {
	for _, c := range list {
		all = append(all, l.condition(c.x))
	}
	return all
}

// condition says of a condition what package scalar knows of it.
func (l *lowering) condition(x scalar.Expr) core.Condition {
	c := core.Condition{Of: x, Cols: l.set(x.Columns())}
	for _, part := range scalar.Conjuncts(x) {
		if a, b, ok := scalar.Equality(part); ok && l.column(a) != l.column(b) {
			c.Says.Equal = append(c.Says.Equal, core.Pair{A: l.column(a), B: l.column(b), Identical: scalar.Identical(a, b)})
		}
		if col, ok := scalar.Fixed(part); ok {
			c.Says.Fixed = c.Says.Fixed.Or(core.Of(l.column(col)))
		}
	}
	for _, col := range x.Columns() {
		if scalar.NeverNull([]scalar.Expr{x}, &scalar.Ref{Column: col}) {
			c.Says.Valued = c.Says.Valued.Or(core.Of(l.column(col)))
		}
	}
	return c
}

// node makes the term of an item of FROM, where conditions hold of each row. Items of inner joins are joined in an order in which
// units are compared as soon as they meet, if there is one.
func (l *lowering) node(b *bounded, n node, where []core.Condition) (core.Rel, error) {
	j, ok := n.(*joined)
	switch {
	case !ok:
		return l.relation(b, n.(*relation)) //nolint:forcetypeassert // there are two kinds
	case j.outer:
		left, err := l.node(b, j.left, where)
		if err != nil {
			return nil, err
		}
		right, err := l.node(b, j.right, nil)
		return &core.Join{Kind: core.Left, L: left, R: right, On: l.conditions(j.on)}, err
	}
	var items []core.Rel
	all := slices.Clone(where)
	if err := l.inner(b, j, &items, &all); err != nil {
		return nil, err
	}
	rel, items := items[0], items[1:]
	for len(items) > 0 {
		at := max(0, slices.IndexFunc(items, func(r core.Rel) bool { _, err := core.Check(meet(rel, r, all)); return err == nil }))
		rel, items = meet(rel, items[at], all), slices.Delete(items, at, at+1)
	}
	return rel, nil
}

// inner collects the items of inner joins and their conditions.
func (l *lowering) inner(b *bounded, n node, items *[]core.Rel, all *[]core.Condition) error {
	if j, ok := n.(*joined); ok && !j.outer {
		*all = append(*all, l.conditions(j.on)...)
		if err := l.inner(b, j.left, items, all); err != nil {
			return err
		}
		return l.inner(b, j.right, items, all)
	}
	rel, err := l.node(b, n, *all)
	*items = append(*items, rel)
	return err
}

// meet joins two relations by the conditions that are about them.
func meet(l, r core.Rel, conds []core.Condition) core.Rel {
	left, _ := core.Check(l)
	right, _ := core.Check(r)
	return &core.Join{L: l, R: r, On: slices.DeleteFunc(slices.Clone(conds), func(c core.Condition) bool {
		return !c.Cols.In(left.Cols.Or(right.Cols))
	})}
}

// relation makes the term of a relation, with the cut before it is joined.
func (l *lowering) relation(b *bounded, r *relation) (rel core.Rel, err error) {
	switch {
	case r.rows != nil && len(r.rows.branches) > 1:
		rel, err = l.union(r)
	case r.rows != nil:
		rel, err = l.branch(r.rows.branches[0], r)
	default:
		rel = l.scan(b.model, r)
	}
	if n := b.rowsPerUnit[r]; n > 0 && err == nil {
		rel = &core.Cap{In: rel, Rows: n}
	}
	return rel, err
}

// scan reads a table of the policy.
func (l *lowering) scan(m *policy.Model, r *relation) core.Rel {
	s := &core.Scan{Table: r.table.Name.String(), Row: l.fresh()}
	gives := map[string]core.Col{"the row": s.Row}
	for i, c := range r.columns {
		at := l.column(c)
		l.keyed[c] = slices.ContainsFunc(r.keys(), func(key []int) bool { return slices.Contains(key, i) })
		s.Cols = append(s.Cols, at)
		gives[c.Name] = at
		if r.table.Columns[i].NotNull {
			s.Says.Valued = s.Says.Valued.Or(core.Of(at))
		}
		if !scalar.OneSpelling(&scalar.Ref{Column: c}) {
			s.Spelled = s.Spelled.Or(core.Of(at))
		}
	}
	switch {
	case ofReference(r):
		s.Reference = true
	case r.protected():
		l.path(r, s)
		gives["the unit"] = s.Unit
	}
	if r.protected() {
		for _, st := range m.Whole(r.table).Lookups {
			s.Says.Refers = append(s.Says.Refers, keyAt(st, func(i int) core.Col { return l.column(r.column(st.From[i])) }))
		}
	}
	for _, key := range r.keys() {
		cols, names, look := core.Set{}, []string{}, core.Look{Gives: gives}
		for _, i := range sortedBy(key, func(i int) string { return r.columns[i].Name }) {
			cols, names = cols.Or(core.Of(s.Cols[i])), append(names, r.columns[i].Name)
			look.Cols = append(look.Cols, s.Cols[i])
		}
		look.Of = keyName(r.table, names)
		s.Keys, s.Says.Looks = append(s.Keys, cols), append(s.Says.Looks, look)
	}
	return s
}

func sortedBy(list []int, name func(int) string) []int {
	return slices.SortedFunc(slices.Values(list), func(a, b int) int { return strings.Compare(name(a), name(b)) })
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

// path adds the unit of a table: the one at the end of its path.
func (l *lowering) path(r *relation, s *core.Scan) {
	s.Unit = l.column(r.unit)
	if !scalar.OneSpelling(&scalar.Ref{Column: r.unit}) {
		s.Spelled = s.Spelled.Or(core.Of(s.Unit))
	}
	for _, c := range r.columns {
		if c.Whose == nil {
			continue
		}
		same := core.Facts{Equal: []core.Pair{{A: l.column(c), B: s.Unit, Identical: false}}}
		s.Says.Given = append(s.Says.Given, core.Given{If: core.Of(l.column(c)), Says: same})
		if scalar.OneSpelling(&scalar.Ref{Column: c}) {
			s.Deps = append(s.Deps, core.Dep{From: core.Of(s.Unit), To: core.Of(l.column(c))})
		}
	}
	if len(r.hops) == 0 {
		return
	}
	along := newClasses(paths{}.links(r), nil, paths{})
	for _, c := range r.columns {
		if along.same(c, r.unit) {
			s.Says.Equal = append(s.Says.Equal, core.Pair{A: l.column(c), B: s.Unit, Identical: scalar.Identical(c, r.unit)})
		}
	}
	from := r
	for i, h := range r.hops {
		l.step(r, s, along, from, r.table.Unit.Steps[i])
		from = h
	}
}

// step adds that a row has the unit of the row that a step of its path leads to, if columns of the table say which that is.
func (l *lowering) step(r *relation, s *core.Scan, along *classes, hop *relation, st policy.Step) {
	key := keyAt(st, func(i int) core.Col {
		own := slices.IndexFunc(r.columns, func(c *scalar.Column) bool { return along.same(c, hop.column(st.From[i])) })
		if own < 0 {
			return 0
		}
		return s.Cols[own]
	})
	if !slices.Contains(key.Cols, 0) {
		s.Says.Looks = append(s.Says.Looks, core.Look{Key: key, Gives: map[string]core.Col{"the unit": s.Unit}})
		s.Deps = append(s.Deps, core.Dep{From: core.Of(key.Cols...), To: core.Of(s.Unit)})
	}
}

// branch makes the term of a query in FROM. Columns that stand for others have their numbers already.
func (l *lowering) branch(b *branch, r *relation) (core.Rel, error) {
	rel, err := l.bounded(b.source.bounded)
	if err != nil {
		return nil, err
	}
	if b.elements != nil {
		e := b.elements
		rel = &core.Unnest{
			In: rel, Array: core.Def{
				Out: l.column(e.column), Cols: l.set(e.array.Columns()),
				Spelled: !scalar.OneSpelling(&scalar.Ref{Column: e.column}),
			}, Most: e.most,
			Row: l.fresh(), Outer: e.outer,
		}
	}
	if b.grouped {
		rel = l.group(rel, b.keys, b)
	}
	var targets []scalar.Expr
	var defs []core.Def
	for i, x := range b.targets {
		col := r.columns[i]
		below, plain := scalar.PlainColumn(x)
		targets = append(targets, &scalar.Ref{Column: col})
		if plain && l.column(col) == l.column(below) {
			continue
		}
		if partition, ok := scalar.Numbered(x); ok && onlyPlain(partition) {
			rel = &core.Rank{In: rel, By: l.set(columnsOf(partition)), Out: l.column(col)}
			continue
		}
		d := core.Def{Out: l.column(col), Of: x, Free: true, Valued: neverNull(b.source, x), Spelled: !scalar.OneSpelling(x)}
		if !b.grouped && !scalar.Windowed(x) {
			d.Free, d.Cols = false, l.set(x.Columns())
		}
		defs = append(defs, d)
	}
	if len(defs) > 0 {
		rel = &core.Map{In: rel, Defs: defs}
	}
	if b.distinct && !b.grouped {
		rel = l.group(rel, targets, b)
	}
	if len(b.first) > 0 {
		if !onlyPlain(b.first) {
			return nil, noTerm("DISTINCT ON of an expression")
		}
		out := l.fresh()
		rel = &core.Filter{In: &core.Rank{In: rel, By: l.set(columnsOf(b.first)), Out: out}, If: []core.Condition{{
			Cols: core.Of(out), Says: core.Facts{Fixed: core.Of(out), Valued: core.Of(out)},
		}}}
	}
	return rel, nil
}

func onlyPlain(list []scalar.Expr) bool {
	return !slices.ContainsFunc(list, func(x scalar.Expr) bool { _, plain := scalar.PlainColumn(x); return !plain })
}

func columnsOf(list []scalar.Expr) (cols []*scalar.Column) {
	for _, x := range list {
		cols = append(cols, x.Columns()...)
	}
	return cols
}

// group groups rows by expressions; those that are no columns are computed first.
func (l *lowering) group(rel core.Rel, keys []scalar.Expr, b *branch) core.Rel {
	g := &core.Group{In: rel, Row: l.fresh(), ByUnit: b.united != nil}
	var defs []core.Def
	for _, x := range keys {
		if c, plain := scalar.PlainColumn(x); plain {
			g.Keys = g.Keys.Or(core.Of(l.column(c)))
			continue
		}
		d := core.Def{Out: l.fresh(), Of: x, Cols: l.set(x.Columns()), Free: scalar.Windowed(x)}
		defs, g.Keys = append(defs, d), g.Keys.Or(core.Of(d.Out))
	}
	if len(defs) > 0 {
		g.In = &core.Map{In: rel, Defs: defs}
	}
	return g
}

// union makes the term of a UNION ALL.
func (l *lowering) union(r *relation) (core.Rel, error) {
	var all core.Rel
	outs := []core.Col{l.column(r.unit)}
	for _, c := range r.columns {
		outs = append(outs, l.column(c))
	}
	var left []core.Col
	for i, b := range r.rows.branches {
		rel, from, err := l.side(r, b)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			all, left = rel, from
			continue
		}
		u := &core.Union{L: all, R: rel, Left: left, Also: from, Row: l.fresh()}
		for n := range outs {
			out := outs[n]
			if i < len(r.rows.branches)-1 {
				out = l.fresh()
			}
			u.Out = append(u.Out, out)
		}
		all, left = u, u.Out
	}
	return all, nil
}

// side makes the term of a branch of a UNION ALL, and returns its unit and columns.
func (l *lowering) side(r *relation, b *branch) (core.Rel, []core.Col, error) {
	if !b.source.Protected() {
		return nil, nil, noTerm("a public UNION ALL")
	}
	own := &relation{}
	from := []core.Col{l.column(b.source.unit())}
	for n, x := range b.targets {
		c := &scalar.Column{Name: r.columns[n].Name, Type: r.columns[n].Type, Of: []scalar.Expr{x}}
		own.columns = append(own.columns, c)
	}
	rel, err := l.branch(b, own)
	for _, c := range own.columns {
		from = append(from, l.column(c))
	}
	return rel, from, err
}
