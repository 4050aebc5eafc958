package repair

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

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
