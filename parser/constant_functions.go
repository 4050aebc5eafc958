package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// The rows of a function in FROM whose arguments no row decides are known as those of a query of public rows are: they are constants.

// constantCall returns the call of such a function, if it stands alone; nil of others, and of lists that a block has as they are written.
func constantCall(f *pg.RangeFunction) *pg.FuncCall {
	if f == nil || f.IsRowsfrom || len(f.Functions) != 1 {
		return nil
	}
	items := f.Functions[0].GetList().GetItems()
	if len(items) == 0 || items[0].GetFuncCall() == nil {
		return nil
	}
	call := items[0].GetFuncCall()
	if listFunction(call) != "" && !f.Ordinality && len(f.Coldeflist) == 0 || slices.ContainsFunc(call.Args, readsRow) {
		return nil
	}
	return call
}

// readsRow reports whether an expression has a column outside of its sub-selects.
func readsRow(n *pg.Node) (reads bool) {
	if n == nil || isSubLink(n) {
		return false
	}
	pgtree.Children(n, func(c *pg.Node) { reads = reads || readsRow(c) })
	return reads || n.GetColumnRef() != nil
}

// function notes a function in FROM whose rows are constants in its place; false if it is none.
func (s *seeker) function(x *pg.RangeFunction) bool {
	call := constantCall(x)
	if call == nil || slices.ContainsFunc(call.Args, s.readsProtected) {
		return false
	}
	toks := s.l.toks
	from := toks.IndexAt(s.offsetOf(call.Location))
	if from < 0 {
		return false
	}
	end := toks.Brackets(toks.Dotted(from))
	if end < 0 {
		return false
	}
	if x.Ordinality {
		end += len([]string{"WITH", "ORDINALITY"})
	}
	whole := end
	if x.Alias != nil || len(x.Coldeflist) > 0 {
		if toks.Kind(whole) == pg.Token_AS {
			whole++
		}
		if toks.Kind(whole) != lex.OpenParen {
			whole = toks.Name(whole)
		}
		if toks.Kind(whole) == lex.OpenParen {
			whole = toks.Brackets(whole)
		}
	}
	f := finding{as: AsTable, public: true, span: s.own(s.l.between(from, end))}
	f.text = []passage{{words: "SELECT * FROM "}, {span: s.own(s.l.between(from, whole))}}
	if _, name := pgtree.Callee(call); x.Alias == nil {
		f.alias = name
	} else if len(x.Coldeflist) > 0 { // the columns are those of the result
		f.span, f.alias = f.text[1].span, x.Alias.Aliasname
	}
	if !slices.ContainsFunc(s.found, func(g finding) bool { return g.span == f.span }) {
		s.found = append(s.found, f)
	}
	return true
}

// readsProtected reports whether an expression has a sub-select that does not read public rows alone, or reads a row around it.
func (s *seeker) readsProtected(n *pg.Node) (reads bool) {
	pgtree.Every(n, func(m *pg.Node) {
		if sel := m.GetSubLink().GetSubselect(); sel != nil {
			level := s.levels[sel.GetSelectStmt()]
			reads = reads || level == nil || level.kind != public || level.scope.escape >= 0
		}
	})
	return reads
}
