package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// temporarySchema is the schema of temporary tables, and a temporary table's mark in the tree.
const temporarySchema, temporary = "pg_temp", "t"

// destination returns that of a statement whose query stands behind the text before.
func destination(stmt *pg.Node, before string) Destination {
	changed := func(t *pg.RangeVar, privilege string) Destination {
		return Destination{Changed: &NewTable{Schema: t.GetSchemaname(), Name: t.GetRelname()}, Privilege: privilege}
	}
	switch x := stmt.GetNode().(type) {
	case *pg.Node_CreateTableAsStmt:
		return Destination{Table: before}
	case *pg.Node_DeclareCursorStmt:
		return Destination{Cursor: before, Name: x.DeclareCursorStmt.Portalname}
	case *pg.Node_SelectStmt:
		if into := pgtree.IntoClause(x.SelectStmt); into != nil {
			return Destination{Table: "CREATE " + persistence[into.Rel.GetRelpersistence()] + "TABLE " + written(into.Rel) + " AS "}
		}
	case *pg.Node_InsertStmt:
		return changed(x.InsertStmt.Relation, "INSERT")
	case *pg.Node_UpdateStmt:
		return changed(x.UpdateStmt.Relation, "UPDATE")
	case *pg.Node_DeleteStmt:
		return changed(x.DeleteStmt.Relation, "DELETE")
	}
	return Destination{}
}

// persistence has the words for that of a table.
var persistence = map[string]string{temporary: "TEMPORARY ", "u": "UNLOGGED "}

// written writes the name of a table.
func written(t *pg.RangeVar) string {
	if t.Schemaname == "" {
		return ast.QuoteIdent(t.Relname)
	}
	return ast.QuoteIdent(t.Schemaname) + "." + ast.QuoteIdent(t.Relname)
}
