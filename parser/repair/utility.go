package repair

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// explainPlain explains without executing:
//
//	EXPLAIN (ANALYZE, BUFFERS) SELECT ...
//	EXPLAIN SELECT ...
//
// All options are lost.
func explainPlain(r *refused) {
	x := r.stmt.GetExplainStmt()
	if x == nil || !pgtree.Executes(x) {
		return
	}
	from := r.toks.Keyword(pg.Token_EXPLAIN, 0, len(r.toks), 0)
	to := from + 1
	if next := r.toks.Kind(to + 1); r.toks.Kind(to) == lex.OpenParen && next != pg.Token_SELECT && next != pg.Token_WITH &&
		next != lex.OpenParen && next != pg.Token_VALUES {
		to = r.toks.Brackets(to)
	}
	for k := r.toks.Kind(to); k == pg.Token_ANALYZE || k == pg.Token_ANALYSE || k == pg.Token_VERBOSE; k = r.toks.Kind(to) {
		to++
	}
	if to > from+1 {
		r.add(r.edited(r.all(), edit{pgtree.Span{Start: r.toks[from].End, End: r.toks[to-1].End}, ""}))
	}
}

// viewToTable keeps results in a temporary table:
//
//	CREATE VIEW v AS SELECT ...
//	CREATE TEMP TABLE v AS SELECT ...
//
// It applies to materialized views as well, unless the view is RECURSIVE. The schema and the options of the view are lost.
func viewToTable(r *refused) {
	view, query := r.stmt.GetViewStmt().GetView(), r.stmt.GetViewStmt().GetQuery()
	if made := r.stmt.GetCreateTableAsStmt(); made.GetObjtype() == pg.ObjectType_OBJECT_MATVIEW {
		view, query = made.Into.Rel, made.Query
	}
	q := r.located(query.GetSelectStmt())
	if q == nil {
		return
	}
	name := r.toks.IndexAt(int(view.Location))
	end := r.toks.Dotted(name)
	if columns := r.toks.Brackets(end); columns > 0 {
		end = columns
	}
	from, _ := r.tokens(q.whole)
	begin, as := r.toks.Keyword(pg.Token_CREATE, 0, len(r.toks), 0), r.toks.Keyword(pg.Token_AS, end, from, 0)
	if r.toks.Keyword(pg.Token_RECURSIVE, begin, name, 0) >= 0 || as < 0 {
		return
	}
	r.add(r.edited(pgtree.Span{Start: 0, End: q.End},
		edit{pgtree.Span{Start: r.toks[begin].Start, End: r.toks[r.toks.Dotted(name)-1].Start}, "CREATE TEMP TABLE "},
		edit{pgtree.Span{Start: r.toks[end-1].End, End: r.toks[as].Start}, " "},
	))
}

// tableToWith counts the rows of a query that would be kept:
//
//	CREATE TEMP TABLE c AS SELECT unit, min(day) FROM t GROUP BY unit
//	WITH c AS (SELECT unit, min(day) FROM t GROUP BY unit) SELECT count(*) FROM c
//
// It applies to SELECT INTO and to INSERT as well. The statements that would use the table can have the query in WITH.
func tableToWith(r *refused) {
	created, inserted := r.stmt.GetCreateTableAsStmt(), r.stmt.GetInsertStmt()
	made, sel := created.GetInto().GetRel(), created.GetQuery().GetSelectStmt()
	switch {
	case created.GetObjtype() == pg.ObjectType_OBJECT_MATVIEW:
		return // the table that viewToTable makes
	case inserted != nil && inserted.WithClause == nil:
		made, sel = inserted.Relation, inserted.SelectStmt.GetSelectStmt()
	case created == nil:
		sel = r.stmt.GetSelectStmt()
		made = sel.GetIntoClause().GetRel()
	}
	q := r.located(sel)
	if made == nil || q == nil || sel.Op != pg.SetOperation_SETOP_NONE {
		return
	}
	name := ident(made.Relname)
	r.add("WITH " + name + " AS (" + r.edited(q.whole, edit{q.parts[into].all, ""}) + ") SELECT count(*) FROM " + name)
}

// changeToCount counts the rows that would be changed:
//
//	DELETE FROM t USING s WHERE t.a = s.a RETURNING t.a
//	SELECT count(*) FROM t, s WHERE t.a = s.a
//
//	UPDATE t SET b = 0 WHERE a = 1
//	SELECT count(*) FROM t WHERE a = 1
//
// It applies without WITH, and to an UPDATE without FROM.
func changeToCount(r *refused) {
	deleted, updated := r.stmt.GetDeleteStmt(), r.stmt.GetUpdateStmt()
	if deleted.GetWithClause() != nil || updated.GetWithClause() != nil || len(updated.GetFromClause()) > 0 {
		return
	}
	end := len(r.toks)
	cut := func(from, to int) edit {
		if from < 1 || to <= from {
			return edit{r.nowhere(), ""}
		}
		return edit{pgtree.Span{Start: r.toks[from-1].End, End: r.toks[to-1].End}, ""}
	}
	first := pgtree.Span{Start: r.toks[0].Start, End: r.toks[0].End}
	var edits []edit
	if len(deleted.GetReturningList())+len(updated.GetReturningList()) > 0 {
		returning := r.toks.Keyword(pg.Token_RETURNING, 0, end, 0)
		edits, end = append(edits, cut(returning, end)), returning
	}
	switch {
	case deleted != nil:
		edits = append(edits, edit{first, "SELECT count(*)"})
		if len(deleted.UsingClause) > 0 {
			using := r.toks.Keyword(pg.Token_USING, 0, end, 0)
			edits = append(edits, edit{pgtree.Span{Start: r.toks[using-1].End, End: r.toks[using].End}, ","})
		}
	case updated != nil:
		set, where := r.toks.Keyword(pg.Token_SET, 0, end, 0), end
		if updated.WhereClause != nil {
			where = r.toks.Keyword(pg.Token_WHERE, set, end, 0)
		}
		edits = append(edits, edit{first, "SELECT count(*) FROM"}, cut(set, where))
	default:
		return
	}
	r.add(r.edited(r.all(), edits...))
}
