package parser

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// An Insertion is text that is put into a statement's Text, before the byte At.
type Insertion struct {
	At   int
	Text string
}

// ErrorColumns returns what makes the errors of a query's columns columns of their own, behind all others: of a column
// x that is computed of aggregates, x_error. The confidence in [0.5, 1) is that of errors over several aggregates; those of one have
// the session's. Where x is more than an aggregate that is cast, rounded, or COALESCE of it and constants, and
// more than arithmetic of counts, sums and averages, the column keeps the place of its error. The query is a SELECT, also in
// PREPARE, COPY, DECLARE and CREATE TABLE AS, without DISTINCT, or one of all or some columns of such a sub-select or WITH query.
// Others have none: rows that differ by their errors alone would be different ones.
func (s *Statement) ErrorColumns(confidence float64) []Insertion {
	toks, comments, err := lex.Scan(s.Text)
	if err != nil || lex.Guard(toks) != nil {
		return nil
	}
	tree, err := pg.Parse(lex.Blank(s.Text, toks, comments))
	if err != nil || len(tree.Stmts) != 1 {
		return nil
	}
	stmt := tree.Stmts[0].Stmt
	query, _, _ := executed(stmt)
	if p := stmt.GetPrepareStmt(); p != nil {
		query = p.Query
	}
	sel := query.GetSelectStmt()
	if sel == nil {
		return nil
	}
	w := &errorColumns{
		l: &locator{text: s.Text, toks: toks}, root: query, blocks: s.Blocks, folded: lex.Lower(s.Text), confidence: confidence,
	}
	w.keepPlaces(sel, w.selected(sel), s.Outputs)
	slices.SortStableFunc(w.insertions, func(x, y Insertion) int { return x.At - y.At })
	return w.insertions
}

// errorColumns finds the places for the errors of one query.
type errorColumns struct {
	l          *locator
	root       *pg.Node
	blocks     []*ast.Block // none if they are not known yet
	folded     string       // the text, to tell which names are taken
	confidence float64
	insertions []Insertion
}

// An errorColumn is a column with that of its error.
type errorColumn struct{ of, name string }

// selected adds the errors of the columns of a SELECT, and returns them.
func (w *errorColumns) selected(sel *pg.SelectStmt) []errorColumn {
	if sel.Op > pg.SetOperation_SETOP_NONE || len(sel.ValuesLists) > 0 || len(sel.DistinctClause) > 0 || len(sel.TargetList) == 0 {
		return nil
	}
	at := int(sel.TargetList[0].GetResTarget().GetLocation())
	switch {
	case !pgtree.IsAggregated(sel):
		return w.passed(sel)
	case len(w.blocks) > 0 && !slices.ContainsFunc(w.blocks, func(b *ast.Block) bool { return b.At == at }):
		return nil // it aggregates released values
	}
	return w.measured(sel)
}

// measured adds the errors of the columns of a release block.
func (w *errorColumns) measured(sel *pg.SelectStmt) []errorColumn {
	var out []errorColumn
	var list strings.Builder
	for _, n := range sel.TargetList {
		t := n.GetResTarget()
		if t == nil || pgtree.IsStar(t.Val) || !isNoisy(t.Val) {
			continue
		}
		value := cmp.Or(w.errorOf(t.Val), w.arithmetic(t.Val))
		name, _ := pgtree.OutputName(t)
		if value == "" && len(w.blocks) > 0 {
			continue
		}
		value = cmp.Or(value, keptPlace(name))
		c := errorColumn{name, w.errorName(name)}
		list.WriteString(", " + value + " AS " + ast.QuoteIdent(c.name))
		out = append(out, c)
	}
	return w.insert(sel, list.String(), out)
}

// passed adds the errors of columns that a SELECT has of the only query in its FROM.
func (w *errorColumns) passed(sel *pg.SelectStmt) []errorColumn {
	before := len(w.insertions)
	inner, alias := w.only(sel)
	var out []errorColumn
	var list strings.Builder
	for _, n := range sel.TargetList {
		t := n.GetResTarget()
		if pgtree.IsStar(t.GetVal()) {
			out = append(out, inner...)
			continue
		}
		fields, _ := pgtree.Strings(t.GetVal().GetColumnRef().GetFields())
		i := slices.IndexFunc(inner, func(c errorColumn) bool { return len(fields) > 0 && c.of == fields[len(fields)-1] })
		if i < 0 {
			continue
		}
		name, _ := pgtree.OutputName(t)
		c := errorColumn{name, w.errorName(name)}
		list.WriteString(", " + alias + ast.QuoteIdent(inner[i].name) + " AS " + ast.QuoteIdent(c.name))
		out = append(out, c)
	}
	if len(out) == 0 {
		w.insertions = w.insertions[:before]
		return nil
	}
	return w.insert(sel, list.String(), out)
}

// keepPlaces has the outermost SELECT keep places for the errors of all other columns with noise.
func (w *errorColumns) keepPlaces(sel *pg.SelectStmt, known []errorColumn, outputs []ast.Output) {
	if sel.Op > pg.SetOperation_SETOP_NONE || len(sel.ValuesLists) > 0 || len(sel.DistinctClause) > 0 || len(sel.TargetList) == 0 {
		return
	}
	var list strings.Builder
	for i, o := range outputs {
		named := func(p ast.Output) bool { return p.Name == o.Name }
		if slices.IndexFunc(outputs, named) < i ||
			slices.ContainsFunc(known, func(c errorColumn) bool { return c.of == o.Name }) {
			continue
		}
		list.WriteString(", " + keptPlace(o.Name) + " AS " + ast.QuoteIdent(w.errorName(o.Name)))
	}
	w.insert(sel, list.String(), nil)
}

// only adds the errors of the columns of the query that is all of a FROM clause, and returns them, with the prefix of
// their names.
func (w *errorColumns) only(sel *pg.SelectStmt) (columns []errorColumn, alias string) {
	if len(sel.FromClause) != 1 {
		return nil, ""
	}
	if r := sel.FromClause[0].GetRangeSubselect(); r != nil && len(r.Alias.GetColnames()) == 0 {
		if name := r.Alias.GetAliasname(); name != "" {
			alias = ast.QuoteIdent(name) + "."
		}
		return w.selected(r.Subquery.GetSelectStmt()), alias
	}
	r := sel.FromClause[0].GetRangeVar()
	if r == nil || r.Schemaname != "" || len(r.Alias.GetColnames()) > 0 {
		return nil, ""
	}
	for _, n := range sel.WithClause.GetCtes() {
		c := n.GetCommonTableExpr()
		body := c.GetCtequery().GetSelectStmt()
		if c.Ctename != r.Relname || body == nil || len(c.Aliascolnames) > 0 || w.mentions(c.Ctename) > 1 {
			continue
		}
		name := r.Relname
		if a := r.Alias.GetAliasname(); a != "" {
			name = a
		}
		return w.selected(body), ast.QuoteIdent(name) + "."
	}
	return nil, ""
}

// mentions counts the relations of that name in the query.
func (w *errorColumns) mentions(name string) (n int) {
	var visit func(*pg.Node)
	visit = func(node *pg.Node) {
		if r := node.GetRangeVar(); r != nil && r.Relname == name {
			n++
		}
		if sel := node.GetSelectStmt(); sel != nil {
			pgtree.Others(sel.ProtoReflect(), visit)
		} else {
			pgtree.Children(node, visit)
		}
	}
	visit(w.root)
	return n
}

// insert puts a list of columns behind those of a SELECT, and returns them; none where their place is not found.
func (w *errorColumns) insert(sel *pg.SelectStmt, list string, columns []errorColumn) []errorColumn {
	if list == "" {
		return columns
	}
	last, ok := w.lastOfList(sel)
	if !ok {
		return nil
	}
	w.insertions = append(w.insertions, Insertion{w.l.toks[last].End, list})
	return columns
}

// lastOfList returns the last token of the list of a SELECT.
func (w *errorColumns) lastOfList(sel *pg.SelectStmt) (token int, ok bool) {
	at := int(sel.TargetList[0].GetResTarget().GetLocation())
	if len(sel.FromClause) > 0 {
		k, ok := w.l.clauses(&candidate{sel: sel, at: at})
		if ok && k.into >= 0 {
			return k.into - 1, true
		}
		return k.from - 1, ok
	}
	first := w.l.toks.IndexAt(at)
	if first < 0 || sel.IntoClause != nil {
		return 0, false
	}
	depth := w.l.toks[first].Depth
	end := w.l.toks.EndOfSelect(first, depth)
	for i := first; i < end; i++ {
		kind := w.l.toks.Kind(i)
		if w.l.afterGrouping(i, depth) || w.l.toks[i].Depth == depth && !w.l.toks.Label(i) &&
			(kind == pg.Token_WHERE || kind == pg.Token_GROUP_P) {
			return i - 1, true
		}
	}
	return end - 1, true
}

// maxName is how long a name is, in bytes.
const maxName = 63

// errorName returns the name of the error of a column: one that the statement does not have.
func (w *errorColumns) errorName(of string) string {
	for i := 0; ; i++ {
		suffix := pgtree.ErrorSuffix
		if i > 0 {
			suffix += strconv.Itoa(i)
		}
		name := of[:min(len(of), maxName-len(suffix))]
		for !utf8.ValidString(name) {
			name = name[:len(name)-1]
		}
		if name += suffix; !strings.Contains(w.folded, lex.Lower(name)) {
			return name
		}
	}
}

// isNoisy reports whether a column is computed of aggregates, and not of their errors alone.
func isNoisy(n *pg.Node) bool {
	found := false
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		switch {
		case found || n.GetSelectStmt() != nil || n.GetFuncCall() != nil && pgtree.IsReport(n.GetFuncCall()):
		case pgtree.IsAggregate(n):
			found = true
		default:
			pgtree.Children(n, visit)
		}
	}
	pgtree.Visit(n, visit)
	return found
}

// errorOf writes the error of an expression, or "" where none is known.
func (w *errorColumns) errorOf(n *pg.Node) string {
	switch x := n.GetNode().(type) {
	case *pg.Node_FuncCall:
		if pgtree.IsAggregate(n) && !pgtree.IsReport(x.FuncCall) {
			s, ok := w.l.span(n)
			if !ok {
				return ""
			}
			return "dp.error(" + w.l.text[s.Start:s.End] + ")"
		}
		if _, name := pgtree.Callee(x.FuncCall); name == "round" && len(x.FuncCall.Args) > 0 {
			return w.rounded(x.FuncCall.Args[0], x.FuncCall.Args[1:])
		}
	case *pg.Node_TypeCast:
		return w.cast(x.TypeCast)
	case *pg.Node_CoalesceExpr:
		args := x.CoalesceExpr.Args
		if !slices.ContainsFunc(args[1:], func(n *pg.Node) bool { return n.GetAConst() == nil }) {
			return w.errorOf(args[0])
		}
	}
	return ""
}

// cast is the error of a number that is cast to another type of numbers.
func (w *errorColumns) cast(c *pg.TypeCast) string {
	names, _ := pgtree.Strings(c.TypeName.GetNames())
	if len(names) == 0 || len(c.TypeName.ArrayBounds) > 0 {
		return ""
	}
	switch names[len(names)-1] {
	case "float8":
		return w.errorOf(c.Arg)
	case "numeric":
		if mods := c.TypeName.Typmods; len(mods) > 0 {
			return w.rounded(c.Arg, mods[1:])
		}
		return w.errorOf(c.Arg)
	case "int2", "int4", "int8":
		if f := pgtree.Unweighed(c.Arg).GetFuncCall(); f != nil {
			if _, name := pgtree.Callee(f); name == "count" {
				return w.errorOf(c.Arg)
			}
		}
		return w.rounded(c.Arg, nil)
	}
	return ""
}

// maxDigits bounds the digits that a value is rounded to.
const maxDigits = 30

// rounded is the error of a number that is rounded to so many digits, none for a whole number.
func (w *errorColumns) rounded(n *pg.Node, digits []*pg.Node) string {
	places := 0
	if len(digits) > 0 {
		var ok bool
		if places, ok = pgtree.Position(digits[0]); !ok || places > maxDigits || len(digits) > 1 {
			return ""
		}
	}
	of := w.errorOf(n)
	if of == "" {
		return ""
	}
	return of + " + 0.5e" + strconv.Itoa(-places)
}
