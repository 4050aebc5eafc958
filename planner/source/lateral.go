package source

import "dpproxy/parser/ast"

// LATERAL is evaluated for each row of the items before it in FROM. The rules for values hold for it as well: it becomes a join with all
// rows of its query, or with the first of each group. If each row around has one group, that may be of no rows: its columns are computed
// around the join, so that a count is zero there.

// A lateral is a join with LATERAL.
type lateral struct {
	*ast.Join
	// of is its right side.
	of *ast.Lateral
	// frame has the names of its left side.
	frame frame
	// nullable says that an outer join around it adds rows in which its columns are NULL.
	nullable bool
}

// resolveLateral resolves a join with LATERAL whose left side is resolved.
func resolveLateral(sc scope, f lateral, left node) (node, frame, error) {
	if f.frame.named("", f.of.Alias) != nil {
		return nil, frame{}, errSameAlias(f.of.Alias, f.At)
	}
	a := &applied{scope: scope{sc.draft, f.frame, nil}}
	q := a.perRow(f.of.Query, f.of.At, f.of.Refusal)
	switch {
	case a.err != nil:
		return nil, frame{}, a.err
	case q == nil:
		return nil, frame{}, f.of.Untied
	}
	for _, r := range sc.shared.rules {
		if r.lateral == nil {
			continue
		}
		if rows, computed := r.lateral(q, f); rows != nil {
			return joinLateral(sc, q, f, rows, computed, left)
		}
	}
	return nil, frame{}, f.of.Refusal
}

// joinLateral joins all rows in the place of LATERAL. Its columns are theirs, or computed of them.
func joinLateral(sc scope, q *perRow, f lateral, rows *ast.Select, outer []ast.Target, left node) (node, frame, error) {
	right := &ast.Derived{Query: rows, Alias: f.of.Alias, Columns: f.of.Columns, At: f.of.At}
	kind := ast.Inner
	if f.Kind == ast.Left {
		kind = ast.Left
	}
	if outer != nil { // each row has its group
		right.Alias, right.Columns, kind = q.alias, nil, ast.Left
	}
	if e := sc.elements[f.of]; e != nil {
		sc.elements[right] = e
	}
	on := q.equalities(right.Alias, rows)
	if f.On != nil && !isTrue(f.On) {
		on = append(on, f.On)
	}
	n, all, err := sc.joinTo(&ast.Join{Kind: kind, Right: right, On: allOf(on, asIs), At: f.of.At}, left, f.frame, f.nullable)
	if err == nil {
		err = q.separated(n)
	}
	if err != nil || outer == nil {
		return n, all, err
	}
	it := &item{alias: f.of.Alias}
	for _, t := range outer {
		x := field{name: t.Name, computed: &computed{of: t.X, in: all}}
		if c, plain := t.X.(*ast.Column); plain {
			x = field{name: t.Name}
			if x.column, err = all.find(c); err != nil {
				return nil, frame{}, err
			}
		}
		it.fields = append(it.fields, x)
	}
	if err := it.rename(f.of.Columns, f.of.At); err != nil {
		return nil, frame{}, err
	}
	return n, all.beside(frame{items: []*item{it}, visible: it.fields}, nil), nil
}
