package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// discrete uses percentile_disc if percentile_cont cannot take the middle between two values. It uses the most frequent value if the values
// have no order, as percentiles need.
func (i *instead) discrete(sel *pg.SelectStmt) {
	out, name := clone(sel), ""
	var calls []*pg.Node
	everyNodeOf(out, func(n *pg.Node) {
		if f := n.GetFuncCall(); f != nil && f.AggWithinGroup && spot(f.Location) == i.at && len(f.AggOrder) == 1 {
			calls, name = append(calls, n), nameOf(n)
		}
	})
	for _, n := range calls {
		value := exprSQL(n.GetFuncCall().AggOrder[0].GetSortBy().GetNode())
		switch name {
		case "percentile_cont":
			replaceBy(n, "percentile_disc("+listSQL(n.GetFuncCall().Args)+") WITHIN GROUP (ORDER BY "+value+")")
		case "percentile_disc":
			replaceBy(n, "mode() WITHIN GROUP (ORDER BY "+value+")")
		default:
			return
		}
	}
	if len(calls) > 0 {
		i.add("%s", selectSQL(out))
	}
}

// wholeRows counts a column in the place of rows: a column that has a value in every row.
func (i *instead) wholeRows(sel *pg.SelectStmt) {
	out, changed := clone(sel), false
	everyNodeOf(out, func(n *pg.Node) {
		f := n.GetFuncCall()
		if nameOf(n) != "count" || len(f.Args) != 1 || f.AggDistinct {
			return
		}
		fields := f.Args[0].GetColumnRef().GetFields()
		if len(fields) == 0 {
			return
		}
		alias := fields[0].GetString_().GetSval()
		star := len(fields) == 2 && fields[1].GetAStar() != nil
		v := aliased(sel.FromClause, alias)
		if v == nil || !star && len(fields) != 1 {
			return
		}
		r, known := i.cat.Relation(v.Schemaname, v.Relname)
		column := ""
		if len(r.Columns) > 0 {
			column = valuedOf(r)
		}
		if known && column != "" && (star || !slices.Contains(r.Columns, alias)) {
			f.Args = []*pg.Node{pg.MakeColumnRefNode([]*pg.Node{pg.MakeStrNode(alias), pg.MakeStrNode(column)}, -1)}
			changed = true
		}
	})
	if changed {
		i.add("%s", selectSQL(out))
	}
}

// tuples counts different rows of several columns. It joins their texts into one.
func (i *instead) tuples(sel *pg.SelectStmt) {
	out, changed := clone(sel), false
	var calls []*pg.Node
	everyNodeOf(out, func(n *pg.Node) {
		f := n.GetFuncCall()
		if nameOf(n) == "count" && f.AggDistinct && len(f.Args) == 1 && f.Args[0].GetRowExpr() != nil {
			calls = append(calls, n)
		}
	})
	for _, n := range calls {
		f := n.GetFuncCall()
		f.Args, changed = []*pg.Node{parsed(oneText(f.Args[0].GetRowExpr().Args))}, true
	}
	if changed {
		i.add("%s", selectSQL(out))
	}
}

// oneText writes a value that differs between different rows of the expressions, and is never NULL: their texts, quoted.
func oneText(list []*pg.Node) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = "coalesce(replace(CAST(" + exprSQL(n) + " AS text), '|', '||'), ' | ')"
	}
	return strings.Join(parts, " || ' |, ' || ")
}

// existing asks by an aggregate whether there is a row, in the place of EXISTS in a SELECT list.
func (i *instead) existing(sel *pg.SelectStmt) {
	out := clone(sel)
	var links []*pg.Node
	for _, t := range out.TargetList {
		pgtree.Every(t, func(n *pg.Node) {
			if n.GetSubLink().GetSubLinkType() == pg.SubLinkType_EXISTS_SUBLINK {
				links = append(links, n)
			}
		})
	}
	for _, n := range links {
		query := n.GetSubLink().Subselect.GetSelectStmt()
		if len(query.GetFromClause()) == 0 || len(query.GroupClause) > 0 {
			return
		}
		value := "count(*) > 0"
		if query.WhereClause != nil {
			value = "bool_or(" + exprSQL(query.WhereClause) + ")"
		}
		one := "SELECT " + value + " FROM " + fromSQL(query.FromClause)
		if len(sel.FromClause) == 0 && len(sel.TargetList) == 1 && sel.TargetList[0].GetResTarget().GetVal().GetSubLink() != nil {
			replaceBy(out.TargetList[0].GetResTarget().Val, value)
			out.FromClause = query.FromClause
			i.add("%s", selectSQL(out))
			return
		}
		replaceBy(n, "("+one+")")
	}
	if len(links) > 0 {
		i.add("%s", selectSQL(out))
	}
}

// extremes takes the first and the last of the texts that are shown as groups.
func (i *instead) extremes(sel *pg.SelectStmt) {
	var columns []*pg.Node
	refused, others := false, 0
	for _, t := range sel.TargetList {
		val := t.GetResTarget().GetVal()
		f := val.GetFuncCall()
		switch name := nameOf(val); {
		case (name == "min" || name == "max") && f.Over == nil && f.AggFilter == nil && len(f.Args) == 1:
			refused = refused || spot(f.Location) == i.at
			columns = append(columns, columnsOf(f.Args...)...)
		case pgtree.Holds(pgtree.IsAggregate, val):
			others++
		}
	}
	if refused && others == 0 {
		i.ofShown(sel, columns)
	}
}

// counted counts the rows that are asked for. For an aggregate, a count would be another question.
func (i *instead) counted(sel *pg.SelectStmt) {
	computed := func(n *pg.Node) bool { return pgtree.IsAggregate(n) && !isCollecting(n) }
	if len(sel.FromClause) == 0 || len(sel.GroupClause) > 0 ||
		pgtree.Holds(computed, append(slices.Clone(sel.TargetList), sel.HavingClause)...) {
		return
	}
	if pgtree.IsDistinctOn(sel) {
		out := clone(sel)
		out.LimitCount, out.LimitOffset, out.LimitOption = nil, nil, pg.LimitOption_LIMIT_OPTION_DEFAULT
		i.add("SELECT count(*) FROM (%s) AS shown", selectSQL(out))
	}
	i.add("SELECT count(*) FROM %s%s", fromSQL(sel.FromClause), whereSQL(conditionSQL(sel.WhereClause)))
}
