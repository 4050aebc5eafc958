package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/pgerr"
)

// groups returns the grouping expressions of a SELECT over protected rows:
// an integer is the target at that position; a bare name is an input column first,
// an output column second; anything else is itself.
func (a *analysis) groups(sel *pg.SelectStmt, s *scope) []*pg.Node {
	var out []*pg.Node
	for _, n := range flattenGroups(sel.GroupClause) {
		switch {
		case n.GetGroupingSet() != nil:
			a.refuse(pgerr.New(pgerr.FeatureNotSupported, "grouping sets over protected rows are not supported").
				At(a.at(n.GetGroupingSet().Location)).WithHint("Ask for each grouping in a statement of its own."))
		default:
			out = append(out, a.group(n, sel, s))
		}
	}
	return out
}

// flattenGroups opens (a, b) in GROUP BY, which is the same as a, b.
func flattenGroups(list []*pg.Node) []*pg.Node {
	var out []*pg.Node
	for _, n := range list {
		row := n.GetRowExpr()
		if row != nil && row.RowFormat == pg.CoercionForm_COERCE_IMPLICIT_CAST {
			out = append(out, flattenGroups(row.Args)...)
			continue
		}
		out = append(out, n)
	}
	return out
}

func (a *analysis) group(n *pg.Node, sel *pg.SelectStmt, s *scope) *pg.Node {
	if i, ok := position(n); ok {
		if i >= 1 && i <= len(sel.TargetList) {
			return sel.TargetList[i-1].GetResTarget().GetVal()
		}
		a.refuse(pgerr.New(pgerr.Syntax, "GROUP BY position %d is not in select list", i).
			At(a.at(n.GetAConst().Location)))
		return n
	}
	name, bare := columnName(n)
	if !bare {
		return n
	}
	has := s.has(name)
	if has == present {
		return n
	}
	target := targetNamed(sel, name)
	switch {
	case target == nil:
		return n
	case has == unsure:
		a.refuse(pgerr.New(pgerr.FeatureNotSupported, "%q in GROUP BY may be an input or an output column", name).
			At(a.at(n.GetColumnRef().Location)).WithHint("Write the expression itself, or its position."))
	}
	return target.Val
}

func targetNamed(sel *pg.SelectStmt, name string) *pg.ResTarget {
	for _, n := range sel.TargetList {
		t := n.GetResTarget()
		if t == nil || isStar(t.Val) {
			continue
		}
		if output, known := outputName(t); known && output == name {
			return t
		}
	}
	return nil
}

// groupExprs walks GROUP BY of a SELECT without protected rows.
func (a *analysis) groupExprs(sel *pg.SelectStmt, s *scope, outputs []string) {
	for _, n := range sel.GroupClause {
		if isOutput(n, outputs) {
			if name, _ := columnName(n); s.has(name) == absent {
				continue
			}
		}
		a.exprs([]*pg.Node{n}, s)
	}
}
