package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/pgerr"
)

// classify decides the class of a statement. Only statements that execute
// their query now are analysed. PREPARE, CREATE VIEW, functions and DO are relayed:
// the mirror's row security answers when they read protected rows. A statement that EXECUTE runs
// is known to the session alone.
func (a *analysis) classify(st *Statement, stmt *pg.Node) {
	switch x := stmt.GetNode().(type) {
	case *pg.Node_VariableSetStmt:
		setting(st, x.VariableSetStmt, a.l)
	case *pg.Node_AlterRoleStmt, *pg.Node_AlterRoleSetStmt:
		st.refuse(pgerr.New(pgerr.InsufficientPrivilege, "roles cannot be altered here").At(a.l.first()).
			WithHint("SET changes a setting of the session. Passwords, and the settings that sessions begin with, are the administrator's (the policy)."))
	case *pg.Node_AlterDatabaseSetStmt:
		setting(st, x.AlterDatabaseSetStmt.Setstmt, a.l)
	case *pg.Node_AlterSystemStmt:
		setting(st, x.AlterSystemStmt.Setstmt, a.l)
	case *pg.Node_ExplainStmt:
		if !execution(st, stmt, a.l) {
			a.explain(st, stmt, x.ExplainStmt)
		}
	default:
		st.Unless = unless(stmt)
		if execution(st, stmt, a.l) {
			return
		}
		query, form, ok := executed(stmt)
		if !ok {
			a.copied(st, stmt)
			return
		}
		a.run(st, stmt, query, form)
	}
}

// executed returns the query that the statement runs at once.
func executed(stmt *pg.Node) (query *pg.Node, form Form, ok bool) {
	switch x := stmt.GetNode().(type) {
	case *pg.Node_SelectStmt:
		if into(x.SelectStmt) != nil {
			return stmt, Utility, true
		}
		return stmt, Query, true
	case *pg.Node_InsertStmt, *pg.Node_UpdateStmt, *pg.Node_DeleteStmt, *pg.Node_MergeStmt:
		return stmt, Query, true
	case *pg.Node_CopyStmt:
		return x.CopyStmt.Query, Utility, x.CopyStmt.Query != nil
	case *pg.Node_DeclareCursorStmt:
		return x.DeclareCursorStmt.Query, Utility, true
	case *pg.Node_CreateTableAsStmt:
		c := x.CreateTableAsStmt
		runs := c.Objtype == pg.ObjectType_OBJECT_TABLE && !c.Into.GetSkipData() && c.Query.GetExecuteStmt() == nil
		return c.Query, Utility, runs
	}
	return nil, 0, false
}

// temporarySchema is the schema of temporary tables, and a temporary table's mark in the tree.
const temporarySchema, temporary = "pg_temp", "t"

// unless returns the table of CREATE TABLE IF NOT EXISTS AS.
func unless(stmt *pg.Node) *NewTable {
	c := stmt.GetCreateTableAsStmt()
	rel := c.GetInto().GetRel()
	if !c.GetIfNotExists() || rel.GetCatalogname() != "" {
		return nil
	}
	t := &NewTable{Schema: rel.Schemaname, Name: rel.Relname}
	if t.Schema == "" && rel.Relpersistence == temporary {
		t.Schema = temporarySchema
	}
	return t
}

// cursorHold is the option WITH HOLD in DeclareCursorStmt (CURSOR_OPT_HOLD).
const cursorHold = 0x0020

func needsTransaction(stmt *pg.Node) bool {
	c := stmt.GetDeclareCursorStmt()
	return c != nil && c.Options&cursorHold == 0
}

// into returns the INTO clause of SELECT INTO, which belongs to its first SELECT.
func into(sel *pg.SelectStmt) *pg.IntoClause {
	for sel.Larg != nil {
		sel = sel.Larg
	}
	return sel.IntoClause
}

// run analyses a query and gives the statement its class.
func (a *analysis) run(st *Statement, stmt, query *pg.Node, form Form) {
	st.Form = form
	st.InTransaction = needsTransaction(stmt)
	a.locate(st, stmt, query)
	a.analyse(st, query, form)
	if st.Class == Relay && len(a.found) > 0 && !a.native {
		st.Class = Release
		a.finish(st, stmt)
	}
	a.refuseFile(st, stmt)
}

// locate finds the query inside the statement, and INTO.
func (a *analysis) locate(st *Statement, stmt, query *pg.Node) {
	a.l.query = a.l.inner(stmt)
	if sel := query.GetSelectStmt(); sel != nil && into(sel) != nil {
		a.l.target = a.l.into(into(sel))
	}
	if a.l.origin == nil {
		st.Inner, st.into = a.l.query, a.l.target
	}
}

// analyse sets the class as far as it is known before blocks are rewritten. Where there
// are views to expand nothing is known yet, and the tree is left as it is.
func (a *analysis) analyse(st *Statement, query *pg.Node, form Form) {
	r := result{at: -1}
	sel := query.GetSelectStmt()
	if sel != nil {
		r = a.query(sel, nil)
	} else {
		a.modify(query, nil)
	}
	if len(a.views) > 0 {
		a.found = nil
		return
	}
	st.Protected = a.protected
	if sel != nil && form == Query && a.refusal == nil && r.kind != public && !a.modifies && isProbe(sel, r.kind) {
		st.Class = Empty
		return
	}
	if r.kind == rows {
		st.OnlyRows = sel != nil && form == Query && a.refusal == nil && !a.modifies
		a.refuse(rowAccess(r))
	}
	if a.refusal != nil && !a.native {
		st.refuse(a.refusal)
	}
}

func (s *Statement) refuse(e *pgerr.Error) {
	s.Class, s.Refusal = Refused, e
	s.Blocks, s.whole, s.inner = nil, nil, nil
}

// finish rewrites the blocks of a statement.
func (a *analysis) finish(st *Statement, stmt *pg.Node) {
	err := a.splice(st, stmt)
	switch {
	case err != nil:
		st.refuse(err)
	case len(st.Blocks) == 0:
		st.Class = Relay
	}
}

// copied handles COPY of a table. Into a protected table Postgres refuses it.
func (a *analysis) copied(st *Statement, stmt *pg.Node) {
	c := stmt.GetCopyStmt()
	if c == nil || c.IsFrom || c.Relation == nil {
		return
	}
	if ref, _ := a.table(c.Relation); ref.Resolved.Protected {
		st.Form, st.Inner, st.Protected = Utility, a.l.inner(stmt), a.protected
		st.refuse(rowAccess(result{at: ref.At, table: ref.Name}))
	}
}

// refuseFile refuses to write released results into a file of the mirror's server.
func (a *analysis) refuseFile(st *Statement, stmt *pg.Node) {
	c := stmt.GetCopyStmt()
	if c == nil || st.Class != Release || c.Filename == "" && !c.IsProgram {
		return
	}
	st.refuse(pgerr.New(pgerr.NotAllowed, "released results cannot be copied to a file or program of the server").
		At(st.Inner.Start).WithHint("Use COPY (...) TO STDOUT, or \\copy in psql."))
}

// explain handles EXPLAIN: of blocks it is answered with the privacy plan.
func (a *analysis) explain(st *Statement, stmt *pg.Node, e *pg.ExplainStmt) {
	query, _, ok := executed(e.Query)
	if !ok {
		return
	}
	st.Form = Utility
	a.locate(st, stmt, query)
	a.analyse(st, query, Utility)
	if st.Class != Relay || len(a.found) == 0 || a.native {
		return
	}
	if measures(e) {
		st.refuse(pgerr.New(pgerr.NotAllowed, "EXPLAIN ANALYZE of protected data is not allowed").At(st.Inner.Start).
			WithHint("Use EXPLAIN without ANALYZE: it shows the privacy plan and its cost."))
		return
	}
	st.Class = Explain
	a.finish(st, stmt)
}

// measures reports whether EXPLAIN would execute the query.
func measures(e *pg.ExplainStmt) bool {
	on := false
	for _, n := range e.Options {
		d := n.GetDefElem()
		if d.GetDefname() != "analyze" {
			continue
		}
		switch x := d.GetArg().GetNode().(type) {
		case *pg.Node_String_:
			value := lower(x.String_.Sval)
			on = value != "false" && value != "off"
		case *pg.Node_Integer:
			on = x.Integer.Ival != 0
		case *pg.Node_Boolean:
			on = x.Boolean.Boolval
		default:
			on = true
		}
	}
	return on
}
