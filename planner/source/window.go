package source

import (
	"cmp"
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// Window functions and DISTINCT ON of a sub-select stand over the rows of one unit: what they say of a row, or
// which row they keep, depends on no other. Where their order does not tell two rows apart, Postgres would take
// them in the order in which it finds them, which depends on everybody's rows; so such rows are
// ordered by a digest of what the level mentions of them. Rows that still tie are identical for the level. But two window
// functions with different orders could number these each in its own way: then keys are mentioned as well.

// ownRows allows window functions over rows of one unit.
func (b *branch) ownRows(rows *bounded) *scalar.OwnRows {
	most, cut := rows.rowsInGroup(nil)
	b.groupRows = cut
	hint := func(keys ...scalar.Expr) string { return hintOfNobody(rows.proof, keys...) }
	return &scalar.OwnRows{Unit: rows.model.Unit(), Rows: most, IsUnit: rows.IsUnit, Hint: hint, Orders: rows.Fixes}
}

// tellApart has window functions that put rows in several orders use keys, where nothing else tells the rows apart.
func (sc scope) tellApart(out []outputColumn) error {
	var orders []*scalar.Window
	for _, o := range out {
		if o.x == nil {
			continue
		}
		for _, w := range scalar.Windows(o.x) {
			if !slices.ContainsFunc(orders, w.SameOrder) {
				orders = append(orders, w)
			}
		}
	}
	if len(orders) < 2 {
		return nil
	}
	keys, ok := rowKeys(sc.proved.proof)
	if !ok {
		return notHere(orders[1].Pos(), "Compute it in a sub-select around this one, or order by columns that tell the rows apart.",
			"two window functions put rows in different orders that nothing tells apart")
	}
	for _, c := range keys {
		sc.mention(c)
	}
	return nil
}

// firstRows resolves DISTINCT ON.
func (b *branch) firstRows(rows *bounded, sel *ast.Select, out []outputColumn, r *scalar.Resolver) error {
	if len(sel.First) == 0 {
		return nil
	}
	unit := rows.model.Unit()
	if slices.ContainsFunc(out, func(o outputColumn) bool { return o.x != nil && scalar.Windowed(o.x) }) {
		return notHere(sel.At, "Compute the window function in a sub-select.",
			"DISTINCT ON of window functions cannot be used on protected rows")
	}
	for _, e := range sel.First {
		x, err := r.Sorted(e)
		if err != nil {
			return err
		}
		b.first = append(b.first, x)
	}
	if !slices.ContainsFunc(b.first, rows.IsUnit) && !rows.OneUnit(b.first) {
		b.united = refersBy(rows.proof, b.first, sel.Tied)
	}
	if !slices.ContainsFunc(b.first, rows.IsUnit) && b.united == nil && !rows.OneUnit(b.first) {
		return pgerr.New(pgerr.Ownership, "a row of a SELECT DISTINCT ON protected rows can be the first of more than one %s", unit).
			At(sel.At).WithHint("%s", cmp.Or(hintOfNobody(rows.proof, b.first...),
			"Write the column that identifies the "+unit+" into DISTINCT ON as well."))
	}
	order, err := r.Order(sel.Order)
	if err != nil {
		return err
	}
	if b.order, err = order.Within(b.first); err == nil {
		b.ordered = rows.Fixes(slices.Concat(b.first, b.order.Exprs()))
	}
	return err
}

// keepFirst writes DISTINCT ON.
func (b *branch) keepFirst(q *sqltext.Select, w *scalar.Writer) error {
	if len(b.first) == 0 {
		return nil
	}
	q.First = b.source.OwnPartition()
	for _, x := range b.first {
		sql, err := w.Sorted(x)
		if err != nil {
			return err
		}
		if len(x.Columns()) > 0 && !slices.Contains(q.First, sql) {
			q.First = append(q.First, sql)
		}
	}
	order, err := w.Order(b.order)
	q.OrderBy = slices.Concat(q.First, order)
	if !b.ordered {
		q.OrderBy = append(q.OrderBy, b.source.OwnTies(w)...)
	}
	return err
}
