package repair

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// wholeKey compares all columns of a key that a join compares in part:
//
//	SELECT count(*) FROM lines l JOIN orders o ON l.order_id = o.id
//	SELECT count(*) FROM lines l JOIN orders o ON l.order_id = o.id AND l.day = o.day
//
// It applies to the conditions of joins, and to WHERE, of tables whose rows lead to a row of the other one by several columns. Rows that
// agree in a part of the key alone are lost, if there are any.
func wholeKey(r *refused) {
	d := r.draft()
	for _, level := range selectsOf(r.SelectStmt) {
		known := comparisonsOf(level)
		for _, c := range known {
			for _, sides := range [][2]*pg.Node{{c.left, c.right}, {c.right, c.left}} {
				if rest := restOfKey(r, level, known, sides[0], sides[1]); rest != "" {
					d.after(r.place(c.node), rest)
				}
			}
		}
	}
	r.edit(d)
}

// A comparison is an equality of two columns that holds in each row of a join.
type comparison struct{ node, left, right *pg.Node }

// comparisonsOf lists the equalities of columns in the conditions of joins and in WHERE.
func comparisonsOf(level *pg.SelectStmt) (all []comparison) {
	conditions := []*pg.Node{level.WhereClause}
	for _, n := range level.FromClause {
		for j := n.GetJoinExpr(); j != nil; j = j.Larg.GetJoinExpr() {
			conditions = append(conditions, j.Quals)
		}
	}
	for len(conditions) > 0 {
		n := conditions[0]
		conditions = conditions[1:]
		if b := n.GetBoolExpr(); b.GetBoolop() == pg.BoolExprType_AND_EXPR {
			conditions = append(conditions, b.Args...)
		}
		if l, r, ok := equality(n); ok && isColumn(l) && isColumn(r) {
			all = append(all, comparison{n, l, r})
		}
	}
	return all
}

// restOfKey writes the comparisons that are lacking of a key whose first column is compared.
func restOfKey(r *refused, level *pg.SelectStmt, known []comparison, from, to *pg.Node) (rest string) {
	ours, theirs := r.itemOf(level, from), r.itemOf(level, to)
	t, ok := r.of(ours.GetRangeVar())
	if !ok || ours == theirs {
		return ""
	}
	own, other := aliasOf(ours.GetRangeVar()), aliasOf(theirs.GetRangeVar())
	is := func(n, item *pg.Node, column string) bool { return columnOf(n) == column && r.itemOf(level, n) == item }
	for _, way := range t.Ways {
		if !way.To.names(theirs.GetRangeVar()) || columnOf(from) != way.Columns[0] || columnOf(to) != way.Keys[0] {
			continue
		}
		for i, column := range way.Columns {
			key := way.Keys[i]
			if !slices.ContainsFunc(known, func(c comparison) bool {
				return is(c.left, ours, column) && is(c.right, theirs, key) || is(c.right, ours, column) && is(c.left, theirs, key)
			}) {
				rest += " AND " + ident(own) + "." + ident(column) + " = " + ident(other) + "." + ident(key)
			}
		}
		return rest
	}
	return ""
}

// names reports whether an item of FROM is the table of a key.
func (k Key) names(v *pg.RangeVar) bool {
	return v.GetRelname() == k.Table && (v.GetSchemaname() == "" || v.GetSchemaname() == k.Schema)
}
