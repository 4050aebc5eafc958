package source

import (
	"cmp"
	"slices"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// resolveDerived resolves a query in FROM. The fault of one that is concealed is not told.
func (sc scope) resolveDerived(f *ast.Derived, nullable bool) (node, frame, error) {
	n, all, err := sc.derivedRows(f, nullable)
	if err != nil && f.Concealed != "" {
		err = parser.ConcealedRefusal(f.Concealed).At(f.At)
	}
	return n, all, err
}

func (sc scope) derivedRows(f *ast.Derived, nullable bool) (node, frame, error) {
	r, err := sc.derivedRelation(f)
	if err != nil {
		return nil, frame{}, err
	}
	r.rows = &derived{}
	at := sc.resolved.place
	if f.Concealed != "" {
		sc.shared.conceals, at.view = true, f.Concealed
	}
	var outputs [][]outputColumn
	for _, sel := range selects(f.Query) {
		b, out, err := sc.shared.branch(at, sel)
		if err != nil {
			return nil, frame{}, err
		}
		r.rows.branches = append(r.rows.branches, b)
		outputs = append(outputs, out)
	}
	if r.unit, err = unitOfBranches(r, f.Query, sc.resolved.model.Unit()); err != nil {
		return nil, frame{}, err
	}
	outputs, fields := withFields(sc.shared, outputs)
	if err = unite(r, f.Query, outputs); err != nil {
		return nil, frame{}, err
	}
	linkFields(r, len(r.columns)-len(fields), fields)
	notNull := valued(r.columns, nullable)
	sc.addRelation(r)
	it := &item{alias: f.Alias}
	for _, c := range r.columns[:len(r.columns)-len(fields)] {
		it.fields = append(it.fields, field{name: c.Name, column: c})
	}
	err = it.rename(f.Columns, f.At)
	return r, frame{[]*item{it}, slices.Clone(it.fields), notNull}, err
}

// derivedRelation is the relation of a query in FROM: that of one that takes the place of another is there already.
func (sc scope) derivedRelation(f *ast.Derived) (*relation, error) {
	if sel, ok := f.Query.(*ast.Select); ok && sc.shared.replacing[sel] != nil {
		return sc.shared.replacing[sel], nil
	}
	return sc.newRelation(f.Alias, f.At)
}

// selects returns the branches of a query.
func selects(rows ast.Rows) []*ast.Select {
	switch rows := rows.(type) {
	case *ast.Select:
		return []*ast.Select{rows}
	case *ast.UnionAll:
		return slices.Concat(selects(rows.Left), selects(rows.Right))
	}
	return nil
}

// unitOfBranches makes the hidden unit column of a derived table: every branch has one, or none.
func unitOfBranches(r *relation, rows ast.Rows, unit string) (*scalar.Column, error) {
	u := &scalar.Column{NotNull: true, SQL: r.alias + ".u"}
	r.tagged = slices.ContainsFunc(r.rows.branches, func(b *branch) bool { return b.source.Tagged() })
	for i, b := range r.rows.branches {
		switch {
		case b.source.Protected() != r.rows.branches[0].source.Protected():
			return nil, pgerr.New(pgerr.Ownership, "UNION ALL of protected and public rows: these belong to no %s", unit).
				At(unionPosition(rows, i)).WithHint("Aggregate each branch by itself and combine the results.")
		case !b.source.Protected() && len(r.rows.branches) > 1:
			return nil, notHere(unionPosition(rows, i), "Combine the rows above the release.",
				"UNION ALL of public rows cannot be joined with protected rows")
		case !b.source.Protected():
			return nil, nil //nolint:nilnil // public rows have no unit
		}
		if r.tagged && len(r.rows.branches) > 1 { // one text for all
			u.Type = pgtype.Of(pgtype.Text)
			continue
		}
		inner := b.source.unit()
		t, ok := inner.Type, true
		if i > 0 {
			t, ok = pgtype.Union(u.Type, inner.Type)
		}
		if !ok {
			return nil, notHere(unionPosition(rows, i), "Aggregate each branch by itself and combine the results.",
				"the branches of UNION ALL identify the %s by %s and %s", unit, u.Type, inner.Type)
		}
		u.Type = t
		u.Of = append(u.Of, &scalar.Ref{Column: inner})
	}
	return u, nil
}

// unionPosition returns the place of the i-th branch.
func unionPosition(rows ast.Rows, i int) int { return selects(rows)[i].At }

// branch resolves a SELECT below a block.
func (b *shared) branch(at place, sel *ast.Select) (*branch, []outputColumn, error) {
	if sel.From == nil {
		return nil, nil, notHere(sel.At, "Write the values into the query around it.",
			"a sub-select without FROM cannot be joined with protected rows")
	}
	sel, sc, err := b.resolveBranch(at, sel)
	if err != nil {
		return nil, nil, err
	}
	br := &branch{grouped: len(sel.Groups) > 0 || sel.Having != nil, distinct: sel.Distinct}
	if err := br.allowed(sc.proved, sel); err != nil {
		return nil, nil, err
	}
	r := sc.Resolver()
	if br.grouped {
		if br.keys, br.groupRows, err = br.unitGroup(sc.proved, sel, r); err != nil {
			return nil, nil, err
		}
	}
	if !br.grouped && !br.distinct && sc.proved.Protected() {
		r.Own = br.ownRows(sc.proved)
	}
	out, err := sc.targets(sel.Targets, r)
	if err != nil {
		return nil, nil, err
	}
	passFields(sc, out)
	r.Own = nil
	if err := sc.tellApart(out); err != nil {
		return nil, nil, err
	}
	if err := br.firstRows(sc.proved, sel, out, r); err != nil {
		return nil, nil, err
	}
	if sel.Having != nil {
		if br.having, err = r.Boolean(sel.Having); err != nil {
			return nil, nil, err
		}
	}
	if br.distinct {
		err = distinctUnits(sc.proved, sel, out)
	}
	br.source = sc.end()
	return br, out, err
}

// resolveBranch resolves FROM and WHERE of a SELECT below a block, and returns it with expressions over these rows.
func (b *shared) resolveBranch(at place, sel *ast.Select) (*ast.Select, scope, error) {
	if sc, ok := b.begun[sel]; ok {
		return sel, sc, nil
	}
	own, over := ownSelect(sel)
	sc, err := b.newLevel(at).resolveLevel(own.From, over)
	return own, sc, err
}

// allowed refuses clauses that only the level of the block can have.
func (b *branch) allowed(rows *bounded, sel *ast.Select) error {
	switch {
	case rows.declares:
		return notHere(sel.At, "Use INNER JOIN there.",
			"a public relation that is outer-joined with protected rows can only stand in FROM of the aggregate itself")
	case !rows.Protected() && (b.grouped || b.distinct || len(sel.First) > 0):
		return notHere(sel.At, "Compute it in a query of its own and join the two results.",
			"an aggregate of public rows cannot be joined with protected rows")
	}
	return nil
}

const castHint = "Cast it to a type whose equal values look the same, such as numeric(12,2)."

// unitGroup resolves the keys of a GROUP BY that contains the unit, and returns how many rows of a
// unit count in a group, 0 if all do. From then on the resolver is one of expressions over groups.
func (b *branch) unitGroup(rows *bounded, sel *ast.Select, r *scalar.Resolver) (keys []scalar.Expr, cut int64, err error) {
	unit := rows.model.Unit()
	for _, g := range sel.Groups {
		x, err := r.Expr(g)
		if err != nil {
			return nil, 0, err
		}
		if !scalar.OneSpelling(x) {
			return nil, 0, notHere(g.Pos(), castHint, "a sub-select on protected rows cannot be grouped by %s", x.Type())
		}
		keys = append(keys, x)
	}
	alone := rows.tells(keys)
	if !alone {
		b.united = refersBy(rows.proof, keys, sel.Tied)
	}
	if !alone && b.united == nil {
		return nil, 0, pgerr.New(pgerr.Ownership, "a group of a sub-select on protected rows can hold rows of more than one %s", unit).
			At(sel.At).WithHint("%s", cmp.Or(hintOfNobody(rows.proof, keys...),
			"Group by the column that identifies the "+unit+" as well."))
	}
	most, cut := rows.rowsInGroup(keys)
	r.Unit, r.Condition = &scalar.UnitGroup{Keys: keys, Rows: most}, nil
	return keys, cut, nil
}

// rowsInGroup bounds the rows of a unit that count where they are aggregated by keys; cut is 0 if that is all, by proof.
func (b *bounded) rowsInGroup(keys []scalar.Expr) (most, cut int64) {
	if b.Fixes(keys) {
		return 1, 0
	}
	if most, known := b.RowsPerUnit(b.publicSizes()); known {
		return most, 0
	}
	most = b.mostRowsTaken(b.model.GroupRows())
	return most, most
}

// untyped reports whether the expression is a literal without a type.
func untyped(e ast.Expr) bool {
	c, ok := e.(*ast.Const)
	return ok && (c.Kind == ast.String || c.Kind == ast.Null)
}

// targets resolves a SELECT list.
func (sc scope) targets(list []ast.Target, r *scalar.Resolver) (out []outputColumn, err error) {
	for _, t := range list {
		if t.X != nil {
			o := outputColumn{name: t.Name, at: t.At}
			if untyped(t.X) {
				o.as = func(typ pgtype.Type) (scalar.Expr, error) { return r.Literal(t.X, typ) }
			} else if o.x, err = r.Expr(t.X); err != nil {
				return nil, err
			}
			out = append(out, o)
			if err := sc.shared.widen(1, len(out), t.At); err != nil {
				return nil, err
			}
			continue
		}
		fields, err := sc.frame.star(t)
		if err == nil {
			err = sc.shared.widen(len(fields), len(out)+len(fields), t.At)
		}
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			x, err := sc.computedField(f)
			if x == nil && err == nil {
				x, err = r.Expr(sc.pin(&ast.Column{Name: f.name, At: t.At}, f.column))
			}
			if err != nil {
				return nil, err
			}
			out = append(out, outputColumn{name: f.name, x: x, at: t.At})
		}
	}
	return out, nil
}

// selected returns the expressions of columns.
func selected(out []outputColumn) (list []scalar.Expr) {
	for _, o := range out {
		list = append(list, o.x)
	}
	return list
}

// distinctUnits refuses DISTINCT over rows of several units, and of values that can be
// equal and different.
func distinctUnits(rows *bounded, sel *ast.Select, out []outputColumn) error {
	unit := rows.model.Unit()
	for i := range out {
		o := &out[i]
		if o.x == nil {
			if err := o.become(pgtype.Of(pgtype.Text)); err != nil { // so that it can be compared
				return err
			}
		}
		if !scalar.OneSpelling(o.x) {
			return notHere(o.at, castHint, "DISTINCT on protected rows cannot compare %s", o.x.Type())
		}
	}
	if rows.tells(selected(out)) {
		return nil
	}
	return pgerr.New(pgerr.Ownership, "a row of a SELECT DISTINCT on protected rows can come from more than one %s", unit).At(sel.At).
		WithHint("%s", cmp.Or(hintOfNobody(rows.proof, selected(out)...), "Select the column that identifies the "+unit+" as well."))
}
