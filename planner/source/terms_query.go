package source

import (
	"slices"

	"dpproxy/core"
	"dpproxy/planner/scalar"
)

// branch makes the term of a query in FROM, with the columns given. Columns that stand for others have their numbers already.
func (t *terms) branch(b *branch, columns []*scalar.Column) core.Rel {
	rel := b.source.read
	if e := b.elements; e != nil {
		rel = &core.Unnest{
			In: rel, Most: e.most, Row: t.fresh(), Outer: e.outer, Array: core.Def{
				Out: col(e.column), Of: e.array, Cols: cols(e.array.Columns()), Spelled: !e.column.OneSpelling(),
			},
		}
	}
	if b.grouped {
		rel = t.group(rel, b.keys, b)
	}
	var defs []core.Def
	for i, x := range b.targets {
		out := col(columns[i])
		if below, plain := scalar.PlainColumn(x); plain && out == col(below) {
			continue
		}
		if partition, ok := scalar.Numbered(x); ok && onlyPlain(partition) {
			rel = &core.Rank{In: rel, By: cols(columnsOf(partition)), Out: out}
			continue
		}
		d := core.Def{Out: out, Of: x, Free: true, Valued: neverNull(b.source, x), Spelled: !scalar.OneSpelling(x)}
		if d.Over = windows(x); !b.grouped && d.Over == nil {
			d.Free, d.Cols = false, cols(x.Columns())
		}
		defs = append(defs, d)
	}
	if len(defs) > 0 {
		rel = &core.Map{In: rel, Defs: defs}
	}
	if b.distinct && !b.grouped {
		targets := make([]scalar.Expr, len(columns))
		for i, c := range columns {
			targets[i] = &scalar.Ref{Column: c}
		}
		rel = t.group(rel, targets, b)
	}
	if len(b.first) > 0 {
		out := t.fresh()
		in, by := t.computed(rel, b.first)
		rel = &core.Filter{In: &core.Rank{In: in, By: by, Out: out}, If: []core.Condition{{
			Cols: core.Of(out), Says: core.Facts{Fixed: core.Of(out), Valued: core.Of(out)},
		}}}
	}
	typ, _ := t.judge.Check(rel)
	b.one, b.most = typ.Unique(nil), typ.Rows
	return rel
}

// windows are the columns that partition the rows of the window functions in an expression.
func windows(x scalar.Expr) (over []core.Set) {
	for _, partition := range scalar.Partitions(x) {
		plain := slices.DeleteFunc(slices.Clone(partition), func(x scalar.Expr) bool { return !onlyPlain([]scalar.Expr{x}) })
		over = append(over, cols(columnsOf(plain)))
	}
	return over
}

func onlyPlain(list []scalar.Expr) bool {
	return !slices.ContainsFunc(list, func(x scalar.Expr) bool { _, plain := scalar.PlainColumn(x); return !plain })
}

func columnsOf(list []scalar.Expr) (columns []*scalar.Column) {
	for _, x := range list {
		columns = append(columns, x.Columns()...)
	}
	return columns
}

// group groups rows by expressions.
func (t *terms) group(rel core.Rel, keys []scalar.Expr, b *branch) core.Rel {
	in, by := t.computed(rel, keys)
	return &core.Group{In: in, Keys: by, Row: t.fresh(), ByUnit: b.united != nil}
}

// computed returns a relation with expressions as columns: those that are no columns are computed.
func (t *terms) computed(rel core.Rel, list []scalar.Expr) (in core.Rel, by core.Set) {
	var defs []core.Def
	for _, x := range list {
		if c, plain := scalar.PlainColumn(x); plain {
			by = by.Or(core.Of(col(c)))
			continue
		}
		d := core.Def{Out: t.fresh(), Of: x, Cols: cols(x.Columns()), Over: windows(x)}
		d.Free = d.Over != nil
		defs, by = append(defs, d), by.Or(core.Of(d.Out))
	}
	if len(defs) > 0 {
		return &core.Map{In: rel, Defs: defs}, by
	}
	return rel, by
}

// union makes the term of a UNION ALL, whose branches are of units all, or none.
func (t *terms) union(r *relation) core.Rel {
	outs := []core.Col{col(r.unit)}
	for _, c := range r.columns {
		outs = append(outs, col(c))
	}
	last := len(r.rows.branches) - 1
	all, left := t.side(r, r.rows.branches[0])
	for i, b := range r.rows.branches[1:] {
		rel, from := t.side(r, b)
		u := &core.Union{L: all, R: rel, Left: left, Also: from, Row: t.fresh(), Out: outs}
		if i+1 < last {
			u.Out = make([]core.Col, len(outs))
			for n := range u.Out {
				u.Out[n] = t.fresh()
			}
		}
		all, left = u, u.Out
	}
	return all
}

// side makes the term of a branch of a UNION ALL, and returns its unit and columns.
func (t *terms) side(r *relation, b *branch) (core.Rel, []core.Col) {
	from, own := []core.Col{col(b.source.unit())}, []*scalar.Column{}
	for n, x := range b.targets {
		c := &scalar.Column{Name: r.columns[n].Name, Type: r.columns[n].Type, Of: []scalar.Expr{x}}
		t.number(c)
		own, from = append(own, c), append(from, col(c))
	}
	return t.branch(b, own), from
}
