package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// temporarySchema is the schema of temporary tables, and a temporary table's mark in the tree.
const temporarySchema, temporary = "pg_temp", "t"

// destination returns that of a statement whose query stands behind the text before.
func destination(stmt *pg.Node, before string) Destination {
	to := Destination{Changes: changesIn(stmt)}
	switch x := stmt.GetNode().(type) {
	case *pg.Node_CreateTableAsStmt:
		to.Table, to.Made = before, newTable(x.CreateTableAsStmt.Into.Rel)
	case *pg.Node_DeclareCursorStmt:
		to.Cursor, to.Name = before, x.DeclareCursorStmt.Portalname
	case *pg.Node_SelectStmt:
		if into := pgtree.IntoClause(x.SelectStmt); into != nil {
			to.Made = newTable(into.Rel)
			to.Table = "CREATE " + persistence[into.Rel.GetRelpersistence()] + "TABLE " +
				ast.QualifiedIdent(into.Rel.Schemaname, into.Rel.Relname) + " AS "
		}
	}
	return to
}

// changesIn lists the changes of a statement, each once.
func changesIn(stmt *pg.Node) (all []Change) {
	add := func(t *pg.RangeVar, privileges ...string) {
		for _, p := range privileges {
			if c := (Change{NewTable{Schema: t.Schemaname, Name: t.Relname}, p}); !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	pgtree.Every(stmt, func(n *pg.Node) {
		switch x := n.GetNode().(type) {
		case *pg.Node_InsertStmt:
			add(x.InsertStmt.Relation, "INSERT")
			if x.InsertStmt.OnConflictClause.GetAction() == pg.OnConflictAction_ONCONFLICT_UPDATE {
				add(x.InsertStmt.Relation, "UPDATE")
			}
		case *pg.Node_UpdateStmt:
			add(x.UpdateStmt.Relation, "UPDATE")
		case *pg.Node_DeleteStmt:
			add(x.DeleteStmt.Relation, "DELETE")
		case *pg.Node_MergeStmt:
			for _, w := range x.MergeStmt.MergeWhenClauses {
				if p, ok := merging[w.GetMergeWhenClause().GetCommandType()]; ok {
					add(x.MergeStmt.Relation, p)
				}
			}
		}
	})
	return all
}

// merging has the privileges that the actions of MERGE take.
var merging = map[pg.CmdType]string{pg.CmdType_CMD_INSERT: "INSERT", pg.CmdType_CMD_UPDATE: "UPDATE", pg.CmdType_CMD_DELETE: "DELETE"}

// persistence has the words for that of a table.
var persistence = map[string]string{temporary: "TEMPORARY ", "u": "UNLOGGED "}

// newTable is a table that a statement makes.
func newTable(rel *pg.RangeVar) NewTable {
	t := NewTable{Schema: rel.Schemaname, Name: rel.Relname}
	if t.Schema == "" && rel.Relpersistence == temporary {
		t.Schema = temporarySchema
	}
	return t
}
