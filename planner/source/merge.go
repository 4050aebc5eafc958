package source

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// MergeProjection: a query in FROM that only chooses rows and computes columns of each, as tools, views and WITH write it, is its own FROM
// with other names. Map(Filter(Map(Filter(R)))) = Map(Filter(R)), and a condition on a side of a join is a condition of the join.
//
//	FROM customers c LEFT JOIN (SELECT o.customer_id AS who, o.total FROM orders o WHERE o.total > 5) v ON v.who = c.id WHERE v.total < 90
//
//	FROM customers c LEFT JOIN orders o ON o.total > 5 AND o.customer_id = c.id WHERE o.total < 90
//
// So a question in a wrapper is the same question, and all that is known of a table is known of the query. The query stays a relation if
// a row of it is more than a row of its FROM: with groups, DISTINCT, windows or LIMIT. It also stays one if a column is not its expression
// around the query. An outer join fills a side with NULL: there coalesce(x, 0) is NULL, and not 0.

// merged returns the query of an item of FROM if a rule says that its FROM takes its place; else nil.
func merged(sc scope, f ast.From, nullable, whole bool) (*ast.Derived, *ast.Select) {
	for _, r := range fromRules {
		if d, sel := r.apply(sc, f, nullable, whole); d != nil {
			return d, sel
		}
	}
	return nil, nil
}

// mergeProjection is the rule. Nullable says that an outer join around the item adds rows in which its columns are NULL, and whole that it
// is all of FROM.
func mergeProjection(sc scope, f ast.From, nullable, whole bool) (*ast.Derived, *ast.Select) {
	d, ok := f.(*ast.Derived)
	if !ok || d.Concealed != "" || sc.elements[f] != nil {
		return nil, nil
	}
	sel, ok := d.Query.(*ast.Select)
	if _, begun := sc.shared.begun[sel]; begun || sc.shared.replacing[sel] != nil || !ok || !projects(sel) {
		return nil, nil
	}
	distinct := sel.Distinct && !(whole && sc.outer != nil) // whether there is a row is the same without
	plain := sc.plain || nullable || sel.Distinct
	if distinct || plain && slices.ContainsFunc(sel.Targets, computes) || !whole && (!ofOneRow(sel.Where) || !plainItems(sel.From)) {
		return nil, nil
	}
	if sc.shared.weightsOf(sel) == nil {
		return nil, nil
	}
	return d, sel
}

// projects reports whether each row of a query is one of its FROM, with columns that are computed of that row alone.
func projects(sel *ast.Select) bool {
	return sel.From != nil && len(sel.Groups) == 0 && sel.Having == nil && len(sel.First) == 0 && sel.Limit == nil && !sel.Tied &&
		!slices.ContainsFunc(sel.Targets, func(t ast.Target) bool { return t.X != nil && !ofOneRow(t.X) })
}

// computes reports whether a target is no column, and no star.
func computes(t ast.Target) bool {
	_, column := t.X.(*ast.Column)
	return t.X != nil && !column
}

// plainItems reports whether an item of FROM means the same beside others: nothing in it refers to the items before it.
func plainItems(f ast.From) bool {
	switch f := f.(type) { //nolint:gochecksumtype // the others do not
	case *ast.Table, *ast.Derived, *ast.Listed:
		return true
	case *ast.Join:
		return f.Kind != ast.Full && plainItems(f.Left) && plainItems(f.Right)
	}
	return false
}

// namesColumns reports whether names in FROM must mean columns: those that USING compares, and those in sub-selects.
func namesColumns(f ast.From) bool {
	j, ok := f.(*ast.Join)
	return ok && (j.Natural || len(j.Using) > 0 || !ofOneRow(j.On) || namesColumns(j.Left) || namesColumns(j.Right))
}

// maxMerged bounds the size of an expression that takes the place of a column: what is computed twice at each level would be large soon.
const maxMerged = 60

// weightsOf returns the sizes of the expressions that stand for the columns of a query, if they are more than one; nil if one is too large.
// Names that several items of FROM have count as the largest.
func (b *shared) weightsOf(sel *ast.Select) map[string]int {
	if known, ok := b.weights[sel]; ok {
		return known
	}
	if b.weights == nil {
		b.weights = map[*ast.Select]map[string]int{}
	}
	b.weights[sel] = b.weigh(sel)
	return b.weights[sel]
}

func (b *shared) weigh(sel *ast.Select) map[string]int {
	below, out := map[string]int{}, map[string]int{}
	b.addWeights(sel.From, below)
	for _, t := range sel.Targets {
		if t.X == nil {
			for name, n := range below {
				out[name] = max(out[name], n)
			}
			continue
		}
		if out[t.Name] = max(out[t.Name], weight(t.X, below)); out[t.Name] > maxMerged {
			return nil
		}
	}
	return out
}

func (b *shared) addWeights(f ast.From, to map[string]int) {
	switch f := f.(type) { //nolint:gochecksumtype // the others have columns
	case *ast.Join:
		b.addWeights(f.Left, to)
		b.addWeights(f.Right, to)
	case *ast.Derived:
		sel, ok := f.Query.(*ast.Select)
		if !ok || !projects(sel) {
			return
		}
		most := 0
		for name, n := range b.weightsOf(sel) {
			to[name], most = max(to[name], n), max(most, n)
		}
		for _, name := range f.Columns {
			to[name] = max(to[name], most)
		}
	}
}

// weight is the number of nodes of an expression.
func weight(x ast.Expr, below map[string]int) int {
	if c, ok := x.(*ast.Column); ok {
		return max(1, below[c.Name])
	}
	n := 1
	for _, o := range ast.Operands(x) {
		n += weight(o, below)
	}
	return n
}

// resolveMerged resolves an item of FROM as what its query has there. The conditions are those of the join that it is in.
func resolveMerged(sc scope, d *ast.Derived, sel *ast.Select, nullable bool) (node, frame, error) {
	n, below, err := sc.resolveItem(sel.From, nullable)
	if err != nil {
		return nil, frame{}, err
	}
	in := scope{sc.draft, below.withoutOwn(), nil} // it is no LATERAL
	for _, e := range conjunction(sel.Where) {
		c, err := in.resolveCondition(e)
		if err != nil {
			return nil, frame{}, err
		}
		sc.pending[n] = append(sc.pending[n], c)
	}
	all, err := projected(in, d, sel)
	return n, all, err
}

// resolveWhole resolves a query that is all of FROM likewise. Its conditions are those of the level.
func resolveWhole(sc scope, d *ast.Derived, sel *ast.Select) (scope, error) {
	sc.draft.plain = sc.plain || !ofOneRow(sel.Where)
	below, err := sc.resolveFrom(sel.From)
	if err != nil {
		return sc, err
	}
	where := sel.Where
	if below, err = joinApplied(below, sel.From, []*ast.Expr{&where}); err != nil {
		return sc, err
	}
	in := scope{sc.draft, below.frame.withoutOwn(), nil} // it is no LATERAL
	if err := in.resolveWhere(where); err != nil {
		return sc, err
	}
	sc.frame, err = projected(in, d, sel)
	return sc, err
}

// projected returns the names that a query gives to expressions over the rows of a scope. None of them is mentioned before it is used.
func projected(sc scope, d *ast.Derived, sel *ast.Select) (frame, error) {
	mentioned := sc.mentions
	sc.mentions = mentions{seen: map[*scalar.Column]bool{}}
	out, err := sc.targets(sel.Targets, sc.Resolver())
	sc.mentions = mentioned
	if err != nil {
		return frame{}, err
	}
	it := &item{alias: d.Alias}
	for _, o := range out {
		if o.x == nil {
			if err := o.become(pgtype.Of(pgtype.Text)); err != nil {
				return frame{}, err
			}
		}
		f := field{name: o.name}
		if c, column := scalar.PlainColumn(o.x); column {
			f.column = c
		} else {
			f.computed = &computed{x: o.x}
			if !f.own() {
				f.computed.x = scalar.Called(o.x, o.name)
			}
		}
		if sel.Distinct && !scalar.OneSpelling(o.x) {
			return frame{}, notHere(o.at, castHint, "DISTINCT on protected rows cannot compare %s", o.x.Type())
		}
		it.fields = append(it.fields, f)
	}
	err = it.rename(d.Columns, d.At)
	return frame{[]*item{it}, slices.Clone(it.fields), sc.frame.notNull}, err
}

// joinPending gives a join the conditions of its sides. On a side that an outer join fills with NULL they say which rows match; any other
// are conditions on the rows of the join.
func (d *draft) joinPending(j *joined) {
	left, right := d.takePending(j.left), d.takePending(j.right)
	if j.outer || j.declares {
		j.on = append(j.on, right...)
		right = nil
	}
	if all := slices.Concat(left, right); len(all) > 0 {
		d.pending[j] = all
	}
}

func (d *draft) takePending(n node) []condition {
	conds := d.pending[n]
	delete(d.pending, n)
	return conds
}

// rooted makes a node all of FROM.
func (d *draft) rooted(n node) {
	d.resolved.root = d.reordered(n)
	d.resolved.where = append(d.resolved.where, d.takePending(n)...)
}

// errPending says that conditions of a query in FROM are nowhere.
func (d *draft) errPending() error {
	if len(d.pending) > 0 {
		return pgerr.New(pgerr.Internal, "conditions of a query in FROM are not part of its level")
	}
	return nil
}

// ofOneRow reports whether an expression needs nothing but the row that it is computed for.
func ofOneRow(e ast.Expr) bool {
	switch e.(type) { //nolint:gochecksumtype // the others are computed of their operands
	case *ast.InQuery, *ast.Exists, *ast.ValueQuery, *ast.Quantified, *ast.Aggregate, *ast.Window:
		return false
	}
	return !slices.ContainsFunc(ast.Operands(e), func(o ast.Expr) bool { return !ofOneRow(o) })
}

// equatesComputed reports whether a condition equates another column with what a projection computes: of the row around that must be a
// column, as it is while the projection is a table of its own.
func equatesComputed(where ast.Expr, from ast.From) bool {
	names := computedNames(from)
	return slices.ContainsFunc(conjunction(where), func(e ast.Expr) bool {
		eq, ok := e.(*ast.Op)
		if !ok || eq.Name != "=" || eq.Left == nil {
			return false
		}
		named := func(x ast.Expr) bool { c, ok := x.(*ast.Column); return ok && slices.Contains(names, c.Name) }
		return (named(eq.Left) || named(eq.Right)) && !ast.ColumnFree(eq.Left) && !ast.ColumnFree(eq.Right)
	})
}

// computedNames are the names of columns of a projection that are computed, at any depth.
func computedNames(f ast.From) (names []string) {
	d, ok := f.(*ast.Derived)
	if !ok {
		return nil
	}
	sel, ok := d.Query.(*ast.Select)
	if !ok {
		return nil
	}
	below, star := computedNames(sel.From), false
	for i, t := range sel.Targets {
		c, column := t.X.(*ast.Column)
		switch {
		case t.X == nil:
			names, star = append(names, below...), true
		case !column, slices.Contains(below, c.Name):
			if i < len(d.Columns) {
				names = append(names, d.Columns[i])
			}
			names = append(names, t.Name)
		}
	}
	if star && len(names) > 0 {
		names = append(names, d.Columns...) // whichever they are of
	}
	return names
}
