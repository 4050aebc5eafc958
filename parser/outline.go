package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// An Outline lists the names in a SELECT.
type Outline struct {
	// Params are the numbers of its parameters, sorted, each once.
	Params []int
	// Relations are the tables and views after FROM, those of sub-selects too; nothing of
	// them is resolved. Names of WITH queries are among them.
	Relations []ast.TableRef
}

// OutlineOf reads the text of one SELECT that only reads. It is not ok for any other text:
// several statements, SELECT INTO, FOR UPDATE, and WITH queries that write among them. The bodies of
// functions are not looked at.
func OutlineOf(sql string) (o Outline, ok bool) {
	if len(sql) > lex.MaxText {
		return o, false
	}
	_, tree, ok := viewQuery(sql)
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		switch x := n.Node.(type) {
		case *pg.Node_ParamRef:
			o.Params = append(o.Params, int(x.ParamRef.Number))
		case *pg.Node_RangeVar:
			o.Relations = append(o.Relations, ast.TableRef{
				Schema: x.RangeVar.Schemaname, Name: x.RangeVar.Relname,
				At: int(x.RangeVar.Location),
			})
		case *pg.Node_InsertStmt, *pg.Node_UpdateStmt, *pg.Node_DeleteStmt, *pg.Node_MergeStmt, *pg.Node_LockingClause, *pg.Node_IntoClause:
			ok = false
		case *pg.Node_SelectStmt:
			ok = ok && pgtree.IntoClause(x.SelectStmt) == nil
			pgtree.Others(x.SelectStmt.ProtoReflect(), visit)
			return
		}
		pgtree.Children(n, visit)
	}
	if ok {
		visit(tree)
	}
	slices.Sort(o.Params)
	o.Params = slices.Compact(o.Params)
	return o, ok
}
