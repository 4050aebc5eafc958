package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// joinOnUnit joins rows of the same unit in place of all rows with all:
//
//	SELECT count(*) FROM visits v, patients p WHERE v.cost > 5
//	SELECT count(*) FROM visits v, patients p WHERE v.cost > 5 AND p.id = v.patient_id
//
// It applies to tables that no equality connects, and connects each with one before it: by the columns of the unit, or by a column of one
// that has the key of the other. Pairs of rows of different units are lost.
func joinOnUnit(r *refused) {
	var before []*pg.RangeVar
	var conditions []string
	for _, item := range itemsOf(r.FromClause) {
		v := item.GetRangeVar()
		if !r.protected(v) || r.queryOf(item) != nil {
			continue
		}
		if len(before) > 0 && !slices.ContainsFunc(before, func(o *pg.RangeVar) bool { return equated(r, v, o) }) {
			i := slices.IndexFunc(before, func(o *pg.RangeVar) bool { return link(r, v, o) != "" })
			if i < 0 {
				return
			}
			conditions = append(conditions, link(r, v, before[i]))
		}
		before = append(before, v)
	}
	d := r.draft()
	d.require(strings.Join(conditions, " AND "))
	r.edit(d)
}

// equated reports whether an equality compares columns of two tables.
func equated(r *refused, a, b *pg.RangeVar) bool {
	of := func(n *pg.Node, v *pg.RangeVar) bool {
		item := r.itemOf(r.SelectStmt, n)
		return item.GetRangeVar() == v
	}
	nodes := slices.Clone(r.FromClause)
	if r.WhereClause != nil {
		nodes = append(nodes, r.WhereClause)
	}
	return len(find(func(n *pg.Node) bool {
		x := n.GetAExpr()
		if j := n.GetJoinExpr(); j != nil {
			return len(j.UsingClause) > 0 || j.IsNatural
		}
		return x != nil && pgtree.OperatorName(x) == "=" &&
			(of(x.Lexpr, a) && of(x.Rexpr, b) || of(x.Lexpr, b) && of(x.Rexpr, a))
	}, nodes...)) > 0
}

// link is an equality that connects the rows of a unit in two tables; "" if none is known.
func link(r *refused, a, b *pg.RangeVar) string {
	s, _ := r.of(a)
	t, _ := r.of(b)
	equal := func(x *pg.RangeVar, column string, y *pg.RangeVar, other string) string {
		return ident(aliasOf(x)) + "." + ident(column) + " = " + ident(aliasOf(y)) + "." + ident(other)
	}
	for _, column := range parentsIn(s, b) {
		return equal(a, column, b, s.Parents[column].Column)
	}
	for _, column := range parentsIn(t, a) {
		return equal(b, column, a, t.Parents[column].Column)
	}
	if s.Unit == "" || t.Unit == "" {
		return ""
	}
	return equal(a, s.Unit, b, t.Unit)
}

// parentsIn are the columns of a table that have keys of another one, in their order.
func parentsIn(t Table, of *pg.RangeVar) (columns []string) {
	for column, key := range t.Parents {
		if key.Table == of.Relname && (of.Schemaname == "" || of.Schemaname == key.Schema) {
			columns = append(columns, column)
		}
	}
	slices.Sort(columns)
	return columns
}
