package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// find lists the nodes below others.
func find(such func(*pg.Node) bool, list ...*pg.Node) (found []*pg.Node) {
	for _, n := range list {
		pgtree.Every(n, func(m *pg.Node) {
			if such(m) {
				found = append(found, m)
			}
		})
	}
	return found
}

// nodesOf lists the nodes of a SELECT, and of the queries in it.
func nodesOf(sel *pg.SelectStmt, such func(*pg.Node) bool) []*pg.Node {
	return find(such, &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: sel}})
}

// valueOf returns the expression of an item of a SELECT list.
func valueOf(target *pg.Node) *pg.Node { return target.GetResTarget().GetVal() }

// nameOf returns the name of a function, without its schema.
func nameOf(n *pg.Node) string {
	names, _ := pgtree.Strings(n.GetFuncCall().GetFuncname())
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// columnPath returns the name of a column with its qualifiers.
func columnPath(ref *pg.Node) []string {
	names, ok := pgtree.Strings(ref.GetColumnRef().GetFields())
	if !ok {
		return nil
	}
	return names
}

// columnOf returns the bare name of a column, "" for anything else.
func columnOf(n *pg.Node) string {
	path := columnPath(n)
	if len(path) == 0 {
		return ""
	}
	return path[len(path)-1]
}

// dotted returns the name of a column with dots, "" for anything else.
func dotted(n *pg.Node) string { return strings.Join(columnPath(n), ".") }

// columnsOf lists the columns of expressions, each once, as they are written.
func columnsOf(list ...*pg.Node) (refs []*pg.Node) {
	seen := map[string]bool{"": true}
	for _, n := range find(isColumn, list...) {
		if name := dotted(n); !seen[name] {
			seen[name] = true
			refs = append(refs, n)
		}
	}
	return refs
}

func isColumn(n *pg.Node) bool { return n.GetColumnRef() != nil }

func isSubLink(n *pg.Node) bool { return n.GetSubLink() != nil }

// ofTable reports whether an expression has columns of a table.
func ofTable(alias string, n *pg.Node) bool {
	return slices.ContainsFunc(columnsOf(n), func(c *pg.Node) bool { return strings.HasPrefix(dotted(c), alias+".") })
}

// same reports whether two expressions are the same but for their places.
func same(x, y *pg.Node) bool {
	one, _, _ := pgtree.Canonical(x)
	other, _, _ := pgtree.Canonical(y)
	return string(one) == string(other)
}

// equality returns the sides of a condition that compares two values with =, or with IS NOT DISTINCT FROM.
func equality(n *pg.Node) (left, right *pg.Node, ok bool) {
	e := n.GetAExpr()
	if e == nil || pgtree.OperatorName(e) != "=" || e.Kind != pg.A_Expr_Kind_AEXPR_OP && e.Kind != pg.A_Expr_Kind_AEXPR_NOT_DISTINCT {
		return nil, nil, false
	}
	return e.Lexpr, e.Rexpr, true
}

// existing returns the query of EXISTS, nil for any other condition.
func existing(n *pg.Node) *pg.SelectStmt {
	s := n.GetSubLink()
	if s.GetSubLinkType() != pg.SubLinkType_EXISTS_SUBLINK {
		return nil
	}
	return s.Subselect.GetSelectStmt()
}

// notExisting returns the query of NOT EXISTS, nil for any other condition.
func notExisting(n *pg.Node) *pg.SelectStmt {
	b := n.GetBoolExpr()
	if b == nil || b.Boolop != pg.BoolExprType_NOT_EXPR || len(b.Args) != 1 {
		return nil
	}
	return existing(b.Args[0])
}

// tableOf returns the only table of a FROM clause and its alias; nil if there is something else.
func tableOf(from []*pg.Node) (table *pg.RangeVar, alias string) {
	if len(from) != 1 || from[0].GetRangeVar() == nil {
		return nil, ""
	}
	table = from[0].GetRangeVar()
	return table, aliasOf(table)
}

func aliasOf(v *pg.RangeVar) string {
	if a := v.GetAlias().GetAliasname(); a != "" {
		return a
	}
	return v.GetRelname()
}

// aliased finds a table of a FROM clause.
func aliased(from []*pg.Node, alias string) (table *pg.RangeVar) {
	for _, n := range find(func(n *pg.Node) bool { return n.GetRangeVar() != nil && aliasOf(n.GetRangeVar()) == alias }, from...) {
		table = n.GetRangeVar()
	}
	return table
}

// itemsOf lists the tables and sub-selects of a FROM clause, including the sides of joins.
func itemsOf(from []*pg.Node) (items []*pg.Node) {
	for _, n := range from {
		if j := n.GetJoinExpr(); j != nil {
			items = append(items, itemsOf([]*pg.Node{j.Larg, j.Rarg})...)
		} else {
			items = append(items, n)
		}
	}
	return items
}

// subselectOf returns the first sub-select of a FROM clause.
func subselectOf(sel *pg.SelectStmt) *pg.RangeSubselect {
	found := find(func(n *pg.Node) bool { return n.GetRangeSubselect() != nil }, sel.FromClause...)
	if len(found) == 0 {
		return nil
	}
	return found[0].GetRangeSubselect()
}
