package parser

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// A view over protected rows is expanded in the text: its query, in brackets, takes the
// place of its name in FROM. The new text is analysed instead of the client's, and may name
// views again. Offsets in it are mapped back before anyone sees them.

// maxViews bounds how deep views are made of views.
const maxViews = 16

// A viewRef is a name in FROM that stands for a view over protected rows, or a call of dp.suggest_bounds.
type viewRef struct {
	node  *pg.Node // its range variable, or the call
	ref   ast.TableRef
	query string    // of the view
	tree  *pg.Node  // of that query
	own   []Setting // for the statement alone
}

// function returns the call of one that is no view.
func (v viewRef) function() *pg.FuncCall {
	if f := v.node.GetRangeFunction(); f != nil {
		return f.Functions[0].GetList().Items[0].GetFuncCall()
	}
	return nil
}

// location is where its name begins in the tree.
func (v viewRef) location() int32 {
	if f := v.function(); f != nil {
		return f.Location
	}
	return v.node.GetRangeVar().Location
}

// alias is the alias that the client wrote, or nil; name is the one it has without.
func (v viewRef) alias() (alias *pg.Alias, name string) {
	if f := v.node.GetRangeFunction(); f != nil {
		return f.Alias, suggestBounds
	}
	return v.node.GetRangeVar().Alias, v.ref.Name
}

// noteView notes the range variable if it must be expanded. ONLY is left to Postgres.
func (a *analysis) noteView(n *pg.Node, s *scope) {
	v := n.GetRangeVar()
	if !v.Inh || v.Catalogname != "" || v.Schemaname == "" && s.ctes.find(v.Relname) != nil {
		return
	}
	r, known := a.cat.Relation(v.Schemaname, v.Relname)
	if !known || r.View == "" || !a.readsProtected(r, 0) {
		return
	}
	if slices.ContainsFunc(a.views, func(known viewRef) bool { return known.node == n }) {
		return // an expression that GROUP BY names by position is walked twice
	}
	query, tree, _ := viewQuery(r.View)
	at := a.offsetOf(v.Location)
	ref := ast.TableRef{
		Schema: v.Schemaname, Name: v.Relname, Resolved: r, At: a.pos(v.Location), Within: a.l.within(at), Concealed: a.l.concealed(at),
	}
	a.views = append(a.views, viewRef{node: n, ref: ref, query: query, tree: tree})
}

// noteSuggestion notes a call of dp.suggest_bounds that must be expanded, and refuses one that cannot be. A call in another
// place is left to Postgres: the function on the mirror raises.
func (a *analysis) noteSuggestion(n *pg.Node) {
	f := n.GetRangeFunction()
	call := suggestionCall(f)
	names, knows := a.cat.(ast.Suggester)
	if call == nil || !knows {
		return
	}
	at := a.pos(call.Location)
	if f.Lateral || f.Ordinality || f.IsRowsfrom || len(f.Coldeflist) > 0 {
		a.refuse(pgerr.New(pgerr.Syntax, "dp.suggest_bounds stands in FROM by itself").At(at).WithHint(suggestHint))
		return
	}
	own := []Setting{{Name: "mechanism", Value: "exponential", At: at}, {Name: "intervals", Value: "off", At: at}} // no ends are shown
	path, epsilon, ok := suggestionOf(call)
	if ok && epsilon != nil {
		own = append(own, Setting{Name: "epsilon", Value: settingValue(epsilon), At: at})
	}
	if !ok {
		a.refuse(pgerr.New(pgerr.InvalidParameterValue, "dp.suggest_bounds takes constants: 'table.column', and what it may spend").
			At(at).WithHint(suggestHint))
		return
	}
	schema := ""
	if len(path) > 2 {
		schema, path = path[0], path[1:]
	}
	query, refusal := names.SuggestBounds(schema, path[0], path[1])
	if refusal != nil {
		a.refuse(refusal.At(at))
		return
	}
	query, tree, ok := viewQuery(query)
	if !ok {
		a.refuse(a.l.internal(at))
		return
	}
	a.views = append(a.views, viewRef{node: n, query: query, tree: tree, own: own})
}

// override has the calls in a statement set what they set for it alone. Two calls share one epsilon.
func override(s *Statement, views []viewRef) {
	for _, v := range views {
		for _, set := range v.own {
			for _, other := range s.Own {
				if other.Name == set.Name && other.Value != set.Value {
					s.refuse(pgerr.New(pgerr.InvalidParameterValue, "a statement has one %s, and calls of dp.suggest_bounds name two",
						set.Name).At(set.At).WithHint("Ask in two statements."))
					return
				}
			}
			s.Own = append(s.Own, set)
		}
	}
}

// readsProtected reports whether the view names a protected relation, itself or through
// other views. In doubt it does.
func (a *analysis) readsProtected(view ast.Relation, depth int) bool {
	if known, ok := a.reads[view.View]; ok {
		return known
	}
	_, tree, ok := viewQuery(view.View)
	if !ok {
		return false // it stays a name, and the mirror refuses to read it
	}
	found := depth >= maxViews
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		if v := n.GetRangeVar(); v != nil && !found {
			r, _ := a.cat.Relation(v.Schemaname, v.Relname)
			found = r.Protected || r.View != "" && a.readsProtected(r, depth+1)
		}
		if sel := n.GetSelectStmt(); sel != nil {
			pgtree.Others(sel.ProtoReflect(), visit)
			return
		}
		pgtree.Children(n, visit)
	}
	visit(tree)
	if a.reads == nil {
		a.reads = map[string]bool{}
	}
	a.reads[view.View] = found
	return found
}

// viewQuery returns the query of a view without the text around it, and its tree.
func viewQuery(text string) (query string, tree *pg.Node, ok bool) {
	toks, comments, err := lex.Scan(text)
	if err != nil || lex.Guard(toks) != nil {
		return "", nil, false
	}
	for len(toks) > 0 && toks[len(toks)-1].Kind == lex.Semicolon {
		toks = toks[:len(toks)-1]
	}
	parsed, err := pg.Parse(lex.Blank(text, toks, comments))
	if err != nil || len(toks) == 0 || len(parsed.Stmts) != 1 {
		return "", nil, false
	}
	sel := parsed.Stmts[0].Stmt.GetSelectStmt()
	if sel == nil || pgtree.IntoClause(sel) != nil {
		return "", nil, false
	}
	return text[toks[0].Start:toks[len(toks)-1].End], parsed.Stmts[0].Stmt, true
}

// expand returns the text and the tree of the statement with its views expanded, and
// proves that the text means the tree.
func (a *analysis) expand(stmt *pg.Node) (*locator, *pg.Node, *pgerr.Error) {
	slices.SortFunc(a.views, func(x, y viewRef) int {
		return cmp.Compare(x.location(), y.location())
	})
	text, from, ok := a.expandText()
	if !ok {
		return nil, nil, a.l.internal(0)
	}
	for _, v := range a.views {
		v.substitute()
	}
	toks, comments, err := lex.Scan(text)
	switch {
	case err != nil:
		return nil, nil, a.l.internal(0)
	case len(text) > lex.MaxText || lex.Guard(toks) != nil:
		return nil, nil, a.tooDeep()
	}
	parsed, err := pg.Parse(lex.Blank(text, toks, comments))
	if err != nil || len(parsed.Stmts) != 1 {
		return nil, nil, a.l.internal(0)
	}
	got, _, _ := pgtree.Canonical(&pg.RawStmt{Stmt: parsed.Stmts[0].Stmt})
	want, _, _ := pgtree.Canonical(&pg.RawStmt{Stmt: stmt})
	if string(got) != string(want) {
		return nil, nil, a.l.internal(0)
	}
	return &locator{text: text, toks: toks, origin: from}, parsed.Stmts[0].Stmt, nil
}

func (a *analysis) tooDeep() *pgerr.Error {
	return pgerr.New(pgerr.StatementTooComplex, "the views of the statement are too large or too deep").At(a.views[0].ref.At).
		WithHint("Write the tables themselves in FROM.")
}

// reference refuses a column of an expanded view that is named with its schema: its
// item of FROM has only the view's name.
func (a *analysis) reference(c *pg.ColumnRef) {
	if len(a.expanded) == 0 || len(c.Fields) < 3 {
		return
	}
	names, _ := pgtree.Strings(c.Fields)
	if len(names) < 2 {
		return
	}
	for _, v := range a.expanded {
		if v.Resolved.Schema == names[0] && v.Name == names[1] {
			a.refusal = pgerr.New(pgerr.FeatureNotSupported, "a column of view %q is named with its schema", v.Name).
				At(a.pos(c.Location)).WithHint("Write %s.column, or give the view an alias.", ast.QuoteIdent(v.Name))
		}
	}
}

// substitute changes the tree as expandText changes the text.
func (v viewRef) substitute() {
	alias, name := v.alias()
	if alias == nil {
		alias = &pg.Alias{Aliasname: name}
	}
	v.node.Node = &pg.Node_RangeSubselect{RangeSubselect: &pg.RangeSubselect{Subquery: v.tree, Alias: alias}}
}

// expandText puts the query of each view in the place of its name.
func (a *analysis) expandText() (string, origin, bool) {
	l := a.l
	var b strings.Builder
	var from origin
	at := 0
	for _, v := range a.views {
		i := l.toks.IndexAt(a.offsetOf(v.location()))
		if i < 0 || b.Len() > lex.MaxText {
			return b.String(), nil, i >= 0
		}
		end := l.toks.Dotted(i)
		switch {
		case v.function() != nil:
			end = l.brackets(end)
		case l.toks.Kind(end) == lex.Star:
			end++ // v * is v with its children
		}
		if end < 0 {
			return b.String(), nil, false
		}
		place := stretch{client: l.client(l.toks[i].Start), view: l.origin.stretch(l.toks[i].Start).view}
		query := place
		if place.view == nil && v.ref.Resolved.Concealed {
			query.view = &v.ref
		}
		put := func(s stretch, text string) {
			s.start = b.Len()
			from = append(from, s)
			b.WriteString(text)
		}
		command := l.toks.Kind(i-1) == pg.Token_TABLE // TABLE v
		if command {
			i--
		}
		name := l.between(i, end)
		from = append(from, l.origin.copied(Span{at, name.Start}, b.Len())...)
		b.WriteString(l.text[at:name.Start])
		if command {
			put(place, "SELECT * FROM ")
		}
		put(query, "("+v.query+")")
		if alias, name := v.alias(); alias == nil {
			put(place, " AS "+ast.QuoteIdent(name))
		}
		at = name.End
	}
	from = append(from, l.origin.copied(Span{at, len(l.text)}, b.Len())...)
	b.WriteString(l.text[at:])
	return b.String(), from, true
}

// An origin maps offsets of an expanded text to the client's. It is nil for the
// client's own text.
type origin []stretch

// A stretch of text begins at start. It is the client's own from the offset client on,
// or it is all of a view whose name stands there.
type stretch struct {
	start, client int
	own           bool
	// view is the view whose text no client may see, if it is of one, or in one.
	view *ast.TableRef
}

// client returns the client's offset.
func (o origin) client(at int) int {
	s := o.stretch(at)
	if s.own {
		return s.client + at - s.start
	}
	return s.client
}

// stretch returns that which holds the offset.
func (o origin) stretch(at int) stretch {
	i := sort.Search(len(o), func(i int) bool { return o[i].start > at }) - 1
	if i < 0 {
		return stretch{own: true}
	}
	return o[i]
}

// copied returns the origin of a copy of the span that begins at to.
func (o origin) copied(s Span, to int) []stretch {
	of := o.stretch(s.Start)
	out := []stretch{{start: to, client: o.client(s.Start), own: of.own, view: of.view}}
	for _, part := range o {
		if part.start > s.Start && part.start < s.End {
			part.start += to - s.Start
			out = append(out, part)
		}
	}
	return out
}

// A concealedSpan is the text of a view that no client may see, with its brackets.
type concealedSpan struct {
	Span
	view *ast.TableRef
}

// concealedSpans returns those that are not in text which an edit replaces.
func (l *locator) concealedSpans(edits []edit) []concealedSpan {
	var spans []concealedSpan
	for i, s := range l.origin {
		end := len(l.text)
		if i+1 < len(l.origin) {
			end = l.origin[i+1].start
		}
		switch last := len(spans) - 1; {
		case s.view == nil:
		case i > 0 && l.origin[i-1].view == s.view:
			spans[last].End = end
		default:
			spans = append(spans, concealedSpan{Span{s.start, end}, s.view})
		}
	}
	return slices.DeleteFunc(spans, func(s concealedSpan) bool { return covered(edits, s.Start) })
}
