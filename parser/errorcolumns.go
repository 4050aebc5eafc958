package parser

import (
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

// ErrorColumns returns what makes the errors of a query's columns columns of their own, behind all others: of a column x that is computed
// of aggregates, x_error, and others by the word of dp.columns. The confidence in [0.5, 1) is that of errors over several aggregates; those
// of one have the session's. Where x is more than an aggregate that is cast, rounded, or COALESCE of it and constants, the column keeps the
// place of its error, which arithmetic of counts, sums and averages fills. The query is a SELECT, also in COPY, DECLARE and
// CREATE TABLE AS, without DISTINCT, or one of all or some columns of such a sub-select or WITH query. Others have none: rows that differ
// by their errors alone would be different ones. With inserted, a query whose rows an INSERT without a list of columns takes has them too.
func (s *Statement) ErrorColumns(confidence float64, columns ErrorColumns, inserted bool) []Insertion {
	toks, comments, err := lex.Scan(s.Text)
	if err != nil || lex.Guard(toks) != nil || columns == Values {
		return nil
	}
	tree, err := pg.Parse(lex.Blank(s.Text, toks, comments))
	if err != nil || len(tree.Stmts) != 1 {
		return nil
	}
	query, form, _ := executed(tree.Stmts[0].Stmt)
	sel := query.GetSelectStmt()
	if into := query.GetInsertStmt(); inserted && len(into.GetCols()) == 0 && into.GetSelectStmt() != nil {
		sel, form = into.SelectStmt.GetSelectStmt(), Utility
	}
	if sel == nil {
		return nil
	}
	if form == Utility && columns == Rounded {
		columns = Errors // the values of what it writes are not rounded
	}
	w := &errorColumns{
		l: &locator{text: s.Text, toks: toks}, root: query, blocks: s.empty, folded: lex.Lower(s.Text),
		confidence: confidence, columns: columns,
	}
	for _, b := range s.Blocks {
		w.blocks = append(w.blocks, b.At)
	}
	w.selected(sel, shownAll, s.Outputs)
	slices.SortStableFunc(w.insertions, func(x, y Insertion) int { return x.At - y.At })
	return w.insertions
}

// errorColumns finds the places for the errors of one query.
type errorColumns struct {
	l          *locator
	root       *pg.Node
	blocks     []int  // where they begin; none if they are not known yet
	folded     string // the text, to tell which names are taken
	confidence float64
	columns    ErrorColumns
	insertions []Insertion
	inner      []errorColumn // those of the only query in FROM of the SELECT that is read
}

// An errorColumn is a column with what is known of its error.
type errorColumn struct {
	of string
	bars
}

// A shownBy says which columns of a SELECT the client sees.
type shownBy int

const (
	shownAll shownBy = iota // it is the query itself
	byStar                  // the query has all of its columns
	byOthers                // what the query computes of them
)

// selected inserts the errors of the columns of a SELECT, and returns them as the query around it can name them. Of columns that the client
// sees they are in the order of outputs, the columns with noise, whatever is known of them.
func (w *errorColumns) selected(sel *pg.SelectStmt, by shownBy, outputs []ast.Output) []errorColumn {
	if sel == nil || sel.Op > pg.SetOperation_SETOP_NONE || len(sel.DistinctClause) > 0 || len(sel.TargetList) == 0 {
		return nil // it is VALUES, or its rows would be other ones
	}
	var columns, passed []errorColumn
	if pgtree.IsAggregated(sel) {
		columns = w.measured(sel)
	} else {
		columns, passed = w.passed(sel, by, outputs)
	}
	if by == byOthers {
		columns = slices.DeleteFunc(columns, errorColumn.unknown)
	} else {
		columns = placed(columns, passed, by, outputs)
	}
	return append(passed, w.insert(sel, columns, by, outputs)...)
}

// placed returns the columns whose errors get places in a SELECT that the client sees: all columns with noise but those that a star
// passes on. If the columns with noise are not known yet, it returns all.
func placed(columns, passed []errorColumn, by shownBy, outputs []ast.Output) (all []errorColumn) {
	has := func(of []errorColumn, name string) int {
		return slices.IndexFunc(of, func(c errorColumn) bool { return c.of == name })
	}
	if outputs == nil {
		return columns
	}
	for _, o := range outputs {
		at := has(columns, o.Name)
		switch {
		case has(all, o.Name) >= 0 || has(passed, o.Name) >= 0:
		case at >= 0:
			all = append(all, columns[at])
		case by == shownAll:
			all = append(all, errorColumn{of: o.Name})
		}
	}
	return all
}

// measured are the columns of a release block with noise.
func (w *errorColumns) measured(sel *pg.SelectStmt) (all []errorColumn) {
	at := int(sel.TargetList[0].GetResTarget().GetLocation())
	if len(w.blocks) > 0 && !slices.Contains(w.blocks, at) {
		return nil // it aggregates released values
	}
	w.inner = nil
	for _, n := range sel.TargetList {
		t := n.GetResTarget()
		if t == nil || pgtree.IsStar(t.Val) || !isNoisy(t.Val) {
			continue
		}
		name, _ := pgtree.OutputName(t)
		c := errorColumn{name, w.barsOf(t.Val)}
		if c.unknown() {
			c.bars = w.arithmetic(t.Val)
		}
		all = append(all, c)
	}
	return all
}

// passed are the columns with noise that a SELECT computes of the only query in its FROM, and those of that query which a star has.
func (w *errorColumns) passed(sel *pg.SelectStmt, by shownBy, outputs []ast.Output) (columns, all []errorColumn) {
	before := len(w.insertions)
	star := slices.ContainsFunc(sel.TargetList, func(n *pg.Node) bool { return pgtree.IsStar(n.GetResTarget().GetVal()) })
	of := byOthers
	if star && by != byOthers {
		of = byStar
	}
	query, alias := w.only(sel)
	inner := w.selected(query, of, outputs)
	if star {
		all = inner
	}
	w.inner = nil
	for _, c := range inner {
		w.inner = append(w.inner, errorColumn{c.of, c.within(alias)})
	}
	for _, n := range sel.TargetList {
		t := n.GetResTarget()
		if pgtree.IsStar(t.GetVal()) {
			continue
		}
		if b := w.barsOf(t.GetVal()); !b.unknown() {
			name, _ := pgtree.OutputName(t)
			columns = append(columns, errorColumn{name, b})
		}
	}
	if len(columns)+len(all) == 0 {
		w.insertions = w.insertions[:before]
	}
	return columns, all
}

// only is the query that is all of a FROM clause, with the prefix of the names of its columns; nil if there is none.
func (w *errorColumns) only(sel *pg.SelectStmt) (query *pg.SelectStmt, alias string) {
	if len(sel.FromClause) != 1 {
		return nil, ""
	}
	if r := sel.FromClause[0].GetRangeSubselect(); r != nil && len(r.Alias.GetColnames()) == 0 {
		if name := r.Alias.GetAliasname(); name != "" {
			alias = ast.QuoteIdent(name) + "."
		}
		return r.Subquery.GetSelectStmt(), alias
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
		return body, ast.QuoteIdent(name) + "."
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

// insert puts the errors of columns behind those of a SELECT, and returns their names; none where their place is not found. The error
// of a column that is computed of released values further than its formula tells has a place, which something else may be put into.
func (w *errorColumns) insert(sel *pg.SelectStmt, columns []errorColumn, by shownBy, outputs []ast.Output) (out []errorColumn) {
	if len(columns) == 0 {
		return nil
	}
	sides := w.columns.of()
	if by == byOthers && w.columns == Rounded {
		sides = Errors.of()
	}
	further := func(c errorColumn) bool {
		i := slices.IndexFunc(outputs, func(o ast.Output) bool { return o.Name == c.of })
		return c.composed || i >= 0 && len(outputs[i].Of) == 0
	}
	var list strings.Builder
	for _, c := range columns {
		named := errorColumn{c.of, bars{whole: c.whole}}
		for _, side := range sides {
			value := c.side(side)
			if by != byOthers && (value == "" || side != Half || further(c)) {
				value = side.kept(c.of, value)
			}
			if value == "" {
				continue
			}
			name := ast.QuoteIdent(w.errorName(c.of, side))
			list.WriteString(", " + value + " AS " + name)
			named.set(side, name)
		}
		out = append(out, named)
	}
	last, ok := w.lastOfList(sel)
	if !ok {
		return nil
	}
	w.insertions = append(w.insertions, Insertion{w.l.toks[last].End, list.String()})
	return out
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

// errorName returns the name of a side of the error of a column: one that the statement does not have.
func (w *errorColumns) errorName(of string, side Side) string {
	for i := 0; ; i++ {
		suffix := side.suffix()
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
