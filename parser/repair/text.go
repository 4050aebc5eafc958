package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"dpproxy/parser/pgtree"
)

// deparsed writes a statement, "" if that fails.
func deparsed(stmt *pg.Node) string {
	text, err := pg.Deparse(&pg.ParseResult{Stmts: []*pg.RawStmt{{Stmt: stmt}}})
	if err != nil {
		return ""
	}
	return text
}

func selectSQL(sel *pg.SelectStmt) string {
	return deparsed(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: sel}})
}

// clauseless returns a SELECT without clauses.
func clauseless(targets ...*pg.Node) *pg.SelectStmt {
	return &pg.SelectStmt{Op: pg.SetOperation_SETOP_NONE, LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT, TargetList: targets}
}

// exprSQL writes an expression, or an item of a list.
func exprSQL(n *pg.Node) string {
	if n.GetResTarget() == nil {
		n = &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: n}}}
	}
	return strings.TrimPrefix(selectSQL(clauseless(n)), "SELECT ")
}

func listSQL(list []*pg.Node) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = exprSQL(n)
	}
	return strings.Join(parts, ", ")
}

func fromSQL(from []*pg.Node) string {
	sel := clauseless()
	sel.FromClause = from
	return strings.TrimPrefix(strings.TrimPrefix(selectSQL(sel), "SELECT"), " FROM ")
}

// whereSQL writes WHERE with a blank before it, or nothing.
func whereSQL(conditions ...string) string {
	conditions = slices.DeleteFunc(conditions, func(s string) bool { return s == "" })
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

func conditionSQL(n *pg.Node) string {
	if n == nil {
		return ""
	}
	return exprSQL(n)
}

// clone copies a SELECT that will be changed.
func clone(sel *pg.SelectStmt) *pg.SelectStmt { return proto.Clone(sel).(*pg.SelectStmt) }

func copyNode(n *pg.Node) *pg.Node { return proto.Clone(n).(*pg.Node) }

func everyNodeOf(sel *pg.SelectStmt, visit func(*pg.Node)) {
	pgtree.Every(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: sel}}, visit)
}

// parsed reads an expression of our own.
func parsed(sql string) *pg.Node {
	tree, err := pg.Parse("SELECT " + sql)
	if err != nil {
		return &pg.Node{}
	}
	return tree.Stmts[0].Stmt.GetSelectStmt().GetTargetList()[0].GetResTarget().GetVal()
}

// replaceBy puts another expression in the place of a node.
func replaceBy(n *pg.Node, sql string) { n.Node = parsed(sql).GetNode() }

// nameOf returns the name of a function, without its schema.
func nameOf(n *pg.Node) string {
	names, _ := pgtree.Strings(n.GetFuncCall().GetFuncname())
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// columnOf returns the bare name of a column, "" for anything else.
func columnOf(n *pg.Node) string {
	names, ok := pgtree.Strings(n.GetColumnRef().GetFields())
	if !ok || len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// columnsOf lists the columns of expressions, each once, as they are written.
func columnsOf(list ...*pg.Node) (refs []*pg.Node) {
	seen := map[string]bool{}
	for _, n := range list {
		pgtree.Every(n, func(m *pg.Node) {
			if name := exprOfColumn(m); name != "" && !seen[name] {
				seen[name] = true
				refs = append(refs, m)
			}
		})
	}
	return refs
}

func exprOfColumn(n *pg.Node) string {
	names, ok := pgtree.Strings(n.GetColumnRef().GetFields())
	if !ok {
		return ""
	}
	return strings.Join(names, ".")
}

// bare removes the qualifiers from the columns of an expression.
func bare(n *pg.Node) *pg.Node { return renamed(n, "") }

// renamed gives the columns of an expression another qualifier.
func renamed(n *pg.Node, qualifier string) *pg.Node {
	if n == nil {
		return nil
	}
	out := copyNode(n)
	pgtree.Every(out, func(m *pg.Node) {
		if ref := m.GetColumnRef(); ref != nil && len(ref.Fields) > 0 {
			ref.Fields = ref.Fields[len(ref.Fields)-1:]
			if qualifier != "" {
				ref.Fields = append([]*pg.Node{pg.MakeStrNode(qualifier)}, ref.Fields...)
			}
		}
	})
	return out
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
