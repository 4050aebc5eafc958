package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// A classification is of one statement.
type classification struct {
	*analysis
	st   *Statement
	stmt *pg.Node
}

// classify decides the class of a statement. Only statements that execute
// their query now are analysed, and views. PREPARE, functions and DO are relayed:
// the mirror's row security answers when they read protected rows. A statement that EXECUTE runs
// is known to the session alone.
func (s *classification) classify() {
	switch x := s.stmt.GetNode().(type) {
	case *pg.Node_VariableSetStmt:
		setting(s.st, x.VariableSetStmt, s.l)
	case *pg.Node_AlterRoleStmt, *pg.Node_AlterRoleSetStmt:
		s.st.refuse(pgerr.New(pgerr.InsufficientPrivilege, "roles cannot be altered here").At(s.l.first()).
			WithHint("SET changes a setting of the session. Passwords, and the settings that sessions begin with, " +
				"are the administrator's (the policy)."))
	case *pg.Node_AlterDatabaseSetStmt:
		setting(s.st, x.AlterDatabaseSetStmt.Setstmt, s.l)
	case *pg.Node_AlterSystemStmt:
		setting(s.st, x.AlterSystemStmt.Setstmt, s.l)
	case *pg.Node_ExplainStmt:
		if !execution(s.st, s.stmt, s.l) {
			s.explain(x.ExplainStmt)
		}
	case *pg.Node_ViewStmt:
		s.view(x.ViewStmt.Query, "a view")
	default:
		if c := s.stmt.GetCreateTableAsStmt(); c.GetObjtype() == pg.ObjectType_OBJECT_MATVIEW {
			s.view(c.Query, "a materialized view")
			return
		}
		s.st.Unless = unless(s.stmt)
		if execution(s.st, s.stmt, s.l) {
			return
		}
		query, form, ok := executed(s.stmt)
		if !ok {
			s.copied()
			return
		}
		s.run(query, form)
	}
}

// view refuses a view of protected relations: the mirror has no place for one that is to stay, and a temporary one would read
// what is not there.
func (s *classification) view(of *pg.Node, called string) {
	query := of.GetSelectStmt()
	if query == nil {
		return
	}
	s.query(query, nil)
	relations := s.protected
	for _, v := range s.views {
		relations = append(relations, v.ref)
	}
	s.views, s.found = nil, nil
	if len(relations) > 0 {
		s.st.Protected = relations
		s.st.refuse(pgerr.New(pgerr.NotAllowed, "%s of protected rows cannot be created", called).At(s.l.first()).
			WithHint("Keep results in a table: CREATE TEMP TABLE ... AS SELECT ...; the administrator can list a view in the policy."))
	}
}

// executed returns the query that the statement runs at once.
func executed(stmt *pg.Node) (query *pg.Node, form Form, ok bool) {
	switch x := stmt.GetNode().(type) {
	case *pg.Node_SelectStmt:
		if pgtree.IntoClause(x.SelectStmt) != nil {
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

// created reports whether a statement makes a table of the rows of a query.
func created(stmt *pg.Node) bool {
	return stmt.GetCreateTableAsStmt() != nil || stmt.GetSelectStmt() != nil && pgtree.IntoClause(stmt.GetSelectStmt()) != nil
}

// unless returns the table of CREATE TABLE IF NOT EXISTS AS.
func unless(stmt *pg.Node) *NewTable {
	c := stmt.GetCreateTableAsStmt()
	rel := c.GetInto().GetRel()
	if !c.GetIfNotExists() || rel.GetCatalogname() != "" {
		return nil
	}
	return new(newTable(rel))
}

// run analyses a query and gives the statement its class.
func (s *classification) run(query *pg.Node, form Form) {
	s.st.Form = form
	s.locate(query)
	s.analyse(query, form)
	let, all := s.lets(query)
	if s.st.Class == Relay && len(s.found) > 0 {
		s.st.Class = Release
		s.finish()
	}
	s.let(let, all, Release)
	s.refuseFile()
}

// locate finds the query inside the statement, and INTO.
func (s *classification) locate(query *pg.Node) {
	s.l.query = s.l.inner(s.stmt)
	if sel := query.GetSelectStmt(); sel != nil && pgtree.IntoClause(sel) != nil {
		s.l.target = s.l.into(pgtree.IntoClause(sel))
	}
	if s.l.origin == nil {
		s.st.Inner, s.st.into = s.l.query, s.l.target
		s.st.Destination = destination(s.stmt, s.st.Text[:s.st.Inner.Start])
	}
}

// analyse sets the class as far as it is known before blocks are rewritten. Where there
// are views to expand nothing is known yet, and the tree is left as it is.
func (s *classification) analyse(query *pg.Node, form Form) {
	r := result{at: -1}
	sel := query.GetSelectStmt()
	if sel != nil {
		r = s.query(sel, nil)
		s.outputs = append(s.outputs, r.columns...)
	} else {
		s.modify(query, nil)
	}
	if len(s.views) > 0 {
		s.found = nil
		return
	}
	s.st.Protected, s.st.Beside = s.protected, s.beside
	if sel != nil && form == Query {
		s.st.ErrorPlaces, _ = errorPlaces(sel)
	}
	if sel != nil && form == Query && s.refusal == nil && r.kind != public && !s.modifies && isProbe(sel, r.kind) {
		s.st.Class, s.st.Outputs = Empty, noisyOutputs(s.outputs, nil)
		for _, c := range s.found {
			s.st.empty = append(s.st.empty, s.l.client(c.at))
		}
		return
	}
	if r.kind == rows {
		s.st.OnlyRows = sel != nil && form == Query && s.refusal == nil && !s.modifies
		e := rowAccess(r)
		if created(s.stmt) {
			e = e.WithHint("Write the same SELECT in WITH of the statement that aggregates its rows: " +
				"WITH t AS (SELECT ...) SELECT count(*) FROM t.")
		}
		s.refuse(e)
	}
	if misplaced := s.misplaced(); misplaced != nil {
		s.refuse(misplaced)
	}
	switch {
	case s.changed != nil: // Postgres would say so too, if it came to that before it reads
		s.st.refuse(pgerr.New(pgerr.InsufficientPrivilege, "permission denied for table %s", s.changed.Resolved.Name).
			WithHint("Protected tables are not changed here. They answer questions about all of their rows."))
	case s.refusal != nil:
		s.st.refuse(s.refusal)
	}
}

func (s *Statement) refuse(e *pgerr.Error) {
	s.Class, s.Refusal = Refused, e
	s.Blocks, s.whole, s.inner = nil, nil, nil
}

// finish rewrites the blocks of a statement.
func (s *classification) finish() {
	err := splice(s.analysis, s.st, s.stmt)
	switch {
	case err != nil:
		s.st.refuse(err)
	case len(s.st.Blocks) == 0:
		s.st.Class = Relay
	}
}

// copied handles COPY of a table. Into a protected table Postgres refuses it.
func (s *classification) copied() {
	c := s.stmt.GetCopyStmt()
	if c == nil || c.IsFrom || c.Relation == nil {
		return
	}
	if ref, _ := s.table(c.Relation); ref.Resolved.Protected {
		s.st.Form, s.st.Inner, s.st.Protected = Utility, s.l.inner(s.stmt), s.protected
		s.st.refuse(rowAccess(result{at: ref.At, table: ref.Name, reference: ref.Resolved.Reference}))
	}
}

// refuseFile refuses to write released results into a file of the mirror's server.
func (s *classification) refuseFile() {
	c := s.stmt.GetCopyStmt()
	if c == nil || s.st.Class != Release || c.Filename == "" && !c.IsProgram {
		return
	}
	s.st.refuse(pgerr.New(pgerr.NotAllowed, "released results cannot be copied to a file or program of the server").
		At(s.st.Inner.Start).WithHint("Use COPY (...) TO STDOUT, or \\copy in psql."))
}

// explain handles EXPLAIN: of blocks it is answered with the privacy plan.
func (s *classification) explain(e *pg.ExplainStmt) {
	query, form, ok := executed(e.Query)
	if !ok {
		return
	}
	s.st.Form, s.st.Explained, s.st.Verbose = Utility, form, pgtree.Verbose(e)
	s.locate(query)
	s.analyse(query, Utility)
	let, all := s.lets(query)
	if !pgtree.Executes(e) {
		defer s.let(let, all, Explain)
	}
	if s.st.Class != Relay || len(s.found) == 0 {
		return
	}
	if pgtree.Executes(e) {
		s.st.refuse(pgerr.New(pgerr.NotAllowed, "EXPLAIN ANALYZE of protected data is not allowed").At(s.st.Inner.Start).
			WithHint("Use EXPLAIN without ANALYZE: it shows the privacy plan and its cost."))
		return
	}
	s.st.Class = Explain
	s.finish()
}
