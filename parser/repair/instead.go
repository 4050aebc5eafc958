package repair

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// maxInstead is the length of the longest statement that is rewritten.
const maxInstead = 4000

// Instead returns texts that ask for much of what a refused statement asks for, the nearest first. Each text is one statement, or two with
// a semicolon between them. They are made from the client's own text, and from the names of tables and columns. The caller must find out
// whether they are answered. at is the place of the refused thing in the text, -1 if it is not known.
func Instead(text string, at int, cat ast.Names) []string {
	toks, comments, err := lex.Scan(text)
	if err != nil || len(text) > maxInstead || lex.Guard(toks) != nil {
		return nil
	}
	tree, err := pg.Parse(lex.Blank(text, toks, comments))
	if err != nil || len(tree.Stmts) != 1 {
		return nil
	}
	i := &instead{tables: tables{cat: cat, boundless: map[lookup]bool{}}, at: spot(at)}
	i.statement(tree.Stmts[0].Stmt)
	return i.found
}

func (i *instead) statement(stmt *pg.Node) {
	switch x := stmt.GetNode().(type) {
	case *pg.Node_ExplainStmt:
		if pgtree.Executes(x.ExplainStmt) {
			i.add("EXPLAIN %s", deparsed(x.ExplainStmt.Query))
		}
	case *pg.Node_ViewStmt:
		i.add("CREATE TEMP TABLE %s AS %s", ast.QuoteIdent(x.ViewStmt.View.GetRelname()), deparsed(x.ViewStmt.Query))
	case *pg.Node_SelectStmt:
		if x.SelectStmt.Op == pg.SetOperation_SETOP_NONE && len(x.SelectStmt.ValuesLists) == 0 {
			withoutErrors(x.SelectStmt)
			i.with = x.SelectStmt.WithClause
			i.query(x.SelectStmt)
		}
	}
}

// query collects the statements for a SELECT, the nearest first.
func (i *instead) query(sel *pg.SelectStmt) {
	i.modes(sel)
	i.bounded(sel)
	i.intervals(sel)
	i.discrete(sel)
	i.wholeRows(sel)
	i.tuples(sel)
	i.existing(sel)
	beside{i}.public(sel)
	beside{i}.ranked(sel)
	i.collected(sel)
	i.extremes(sel)
	i.perUnit(sel)
	i.windows(sel)
	if flat, changed := i.flattened(sel); changed {
		i.add("%s", selectSQL(flat))
	}
	i.ofEarlierRows(sel)
	i.quantiles(sel)
	i.ofRelease(sel)
	i.joinedAbove(sel)
	i.values(sel)
	i.joinedExists(sel)
	i.divided(sel)
	i.median(sel)
	i.subselects(sel)
	i.counted(sel)
}
