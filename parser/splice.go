package parser

import (
	"cmp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// A piece of a spliced statement is text, or the place of a block's relation.
type piece struct {
	text  string
	block int // -1 for text
	view  int // that it is of, as an index into Statement.Concealed; -1 for none
}

// Splice returns the text of the statement with block i replaced by
// relation(i), a sub-select in parentheses with the columns g1.. and a1.. of the
// block. The splice was proved when the statement was parsed. A statement
// without blocks is its own text.
func (s *Statement) Splice(relation func(i int) string) string {
	if s.whole == nil {
		return s.Text
	}
	return fill(s.whole, relation, nil)
}

// SpliceInner is Splice for the Inner query alone. An INTO clause is left out,
// so that the query can be described.
func (s *Statement) SpliceInner(relation func(i int) string) string {
	if s.inner == nil {
		return s.InnerText()
	}
	return fill(s.inner, relation, nil)
}

// InnerText is the client's own text of the Inner query, without an INTO clause.
func (s *Statement) InnerText() string {
	if s.into.End == 0 {
		return s.Text[s.Inner.Start:s.Inner.End]
	}
	return s.Text[s.Inner.Start:s.into.Start] + s.Text[s.into.End:s.Inner.End]
}

// Unconcealed is Splice, or SpliceInner, with view(i), a sub-select in parentheses, in the
// place of the rest of the view Concealed[i]. A statement without blocks is its own text.
func (s *Statement) Unconcealed(inner bool, relation, view func(i int) string) string {
	switch {
	case inner && s.inner != nil:
		return fill(s.inner, relation, view)
	case inner:
		return s.InnerText()
	case s.whole != nil:
		return fill(s.whole, relation, view)
	}
	return s.Text
}

// ConcealedQuery returns the rest of the view Concealed[i], a sub-select in parentheses,
// with its blocks replaced.
func (s *Statement) ConcealedQuery(i int, relation func(i int) string) string {
	var own []piece
	for _, p := range s.whole {
		if p.view == i {
			own = append(own, p)
		}
	}
	return fill(own, relation, nil)
}

// fill writes the pieces. Without view, those of views are written as well.
func fill(pieces []piece, relation, view func(i int) string) string {
	var b strings.Builder
	last := -1
	for _, p := range pieces {
		begins := p.view >= 0 && p.view != last
		last = p.view
		switch {
		case view != nil && begins:
			b.WriteString(view(p.view))
		case view != nil && p.view >= 0:
		case p.block >= 0:
			b.WriteString(relation(p.block))
		default:
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// A change is a block with its candidate and its matches.
type change struct {
	*candidate
	*matcher
}

// splice computes the edits of all blocks, applies them to the tree as well,
// and proves that the new text means the new tree. The tree is spent afterwards.
func splice(a *analysis, st *Statement, stmt *pg.Node) *pgerr.Error {
	l := a.l
	changes, edits, err := a.rewrite()
	if err != nil || len(changes) == 0 {
		return err
	}
	sorted, items, err := sorter{a}.edits(edits, changes[0].at)
	if err != nil {
		return err
	}
	edits = append(edits, sorted...)
	for _, c := range changes {
		st.Blocks = append(st.Blocks, convert(a, c.candidate, c.matcher))
	}
	places := map[*pg.Node]ast.Place{}
	for i, c := range changes {
		c.place(i, places)
	}
	st.Outputs = noisyOutputs(a.outputs, places)
	if a.bare != nil {
		_, name := pgtree.Callee(a.bare)
		st.Bare = &BareCall{name, a.pos(a.bare.Location)}
	}
	for i, c := range changes {
		substitute(c.candidate, c.matcher, i)
	}
	for _, by := range items {
		by.SortbyNulls = pg.SortByNulls_SORTBY_NULLS_LAST
	}
	for _, body := range a.bodies {
		body.Ctequery = nullQuery(len(body.Aliascolnames))
	}
	if l.target.End > 0 {
		edits = append(edits, edit{Span: l.target, block: -1, inner: true})
	}
	edits = outermost(edits)
	views := l.concealedSpans(edits)
	for _, v := range views {
		st.Concealed = append(st.Concealed, *v.view)
	}
	st.whole = assemble(l.text, Span{0, len(l.text)}, edits, views, false)
	st.inner = assemble(l.text, l.query, edits, views, true)
	if !proved(st, stmt) {
		return l.internal(changes[0].at)
	}
	return nil
}

// rewrite lists the blocks in text order, without those that stand in text
// which another one replaces, and the edits of all.
func (a *analysis) rewrite() ([]change, []edit, *pgerr.Error) {
	slices.SortFunc(a.found, func(x, y *candidate) int { return cmp.Compare(x.at, y.at) })
	edits, err := a.bodyEdits()
	if err != nil {
		return nil, nil, err
	}
	var changes []change
	for _, c := range a.found {
		if covered(edits, c.at) {
			continue
		}
		m := match(c)
		if m.exhausted() {
			return nil, nil, pgerr.New(pgerr.StatementTooComplex, "a query over protected rows is too large").At(a.l.client(c.at)).
				WithHint("Split the statement.")
		}
		more, err := a.l.edits(c, m, len(changes))
		if err != nil {
			return nil, nil, err
		}
		edits = append(edits, more...)
		changes = append(changes, change{c, m})
	}
	return changes, edits, nil
}

// bodyEdits empties the CTEs that read protected rows. Nothing refers to them
// any more once the blocks are replaced, except perhaps each other.
func (a *analysis) bodyEdits() ([]edit, *pgerr.Error) {
	var out []edit
	for _, c := range a.bodies {
		s, ok := a.l.body(c)
		if !ok {
			return nil, a.l.internal(a.offsetOf(c.Location))
		}
		out = append(out, edit{Span: s, before: nullText(len(c.Aliascolnames)), block: -1})
	}
	return out, nil
}

// covered reports whether the offset lies in text that is replaced.
func covered(edits []edit, at int) bool {
	return slices.ContainsFunc(edits, func(e edit) bool { return e.Start <= at && at < e.End })
}

// outermost sorts the edits by place and drops those inside another one. An
// insertion comes before a replacement that begins where it stands.
func outermost(edits []edit) []edit {
	slices.SortStableFunc(edits, func(x, y edit) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End))
	})
	out := edits[:0]
	end := 0
	for _, e := range edits {
		if e.Start >= end {
			out = append(out, e)
			end = e.End
		}
	}
	return out
}

// substitute changes the tree of a block as its edits change the text.
func substitute(c *candidate, m *matcher, block int) {
	for _, n := range c.sel.TargetList {
		t := n.GetResTarget()
		if name, known := pgtree.OutputName(t); known {
			t.Name = name
		}
	}
	for _, o := range m.found {
		o.node.Node = &pg.Node_ColumnRef{ColumnRef: &pg.ColumnRef{
			Fields: []*pg.Node{pg.MakeStrNode(alias(block)), pg.MakeStrNode(o.column)},
		}}
	}
	c.sel.FromClause = []*pg.Node{{Node: &pg.Node_RangeSubselect{RangeSubselect: &pg.RangeSubselect{
		Subquery: emptySelect(nil),
		Alias:    &pg.Alias{Aliasname: alias(block)},
	}}}}
	c.sel.WhereClause, c.sel.HavingClause = c.sel.HavingClause, nil
	c.sel.GroupClause, c.sel.GroupDistinct = nil, false
	if c.fenced {
		c.sel.LimitOffset, c.sel.LimitOption = pg.MakeAConstIntNode(0, 0), pg.LimitOption_LIMIT_OPTION_COUNT
	}
}

func emptySelect(targets []*pg.Node) *pg.Node {
	return &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{
		TargetList: targets, LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT, Op: pg.SetOperation_SETOP_NONE,
	}}}
}

// nullText is a query of n columns, at least one.
func nullText(n int) string { return "SELECT NULL" + strings.Repeat(", NULL", max(n, 1)-1) }

func nullQuery(n int) *pg.Node {
	var targets []*pg.Node
	for range max(n, 1) {
		null := &pg.Node{Node: &pg.Node_AConst{AConst: &pg.A_Const{Isnull: true}}}
		targets = append(targets, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: null}}})
	}
	return emptySelect(targets)
}

// assemble applies the edits within the range. New text gets a space
// where it would run into its neighbour.
func assemble(text string, within Span, edits []edit, views []concealedSpan, inner bool) []piece {
	out := &assembly{view: -1}
	at := within.Start
	for _, e := range edits {
		if e.Start < within.Start || e.End > within.End || e.inner && !inner {
			continue
		}
		out.copied(text, Span{at, e.Start}, views)
		write(&out.text, e.before)
		if e.block >= 0 {
			out.end()
			out.pieces = append(out.pieces, piece{block: e.block, view: out.view})
			write(&out.text, e.after)
		}
		at = e.End
	}
	out.copied(text, Span{at, within.End}, views)
	out.end()
	return out.pieces
}

// An assembly is a spliced text on its way.
type assembly struct {
	pieces []piece
	text   strings.Builder // of the piece that has not ended
	view   int             // that it is of
}

func (a *assembly) end() {
	a.pieces = append(a.pieces, piece{a.text.String(), -1, a.view})
	a.text.Reset()
}

// copied adds a stretch of the text, and begins a piece where a view begins or ends.
func (a *assembly) copied(text string, s Span, views []concealedSpan) {
	at := s.Start
	for i, v := range views {
		if v.Start >= s.Start && v.Start <= s.End {
			write(&a.text, text[at:v.Start])
			a.end()
			at, a.view = v.Start, i
		}
		if v.End > s.Start && v.End <= s.End {
			write(&a.text, text[at:v.End])
			a.end()
			at, a.view = v.End, -1
		}
	}
	write(&a.text, text[at:s.End])
}

// write appends the text, after a space if it would run into the text before it.
func write(b *strings.Builder, next string) {
	written := b.String()
	if written != "" && next != "" && lex.IsWord(written[len(written)-1]) && lex.IsWord(next[0]) {
		b.WriteByte(' ')
	}
	b.WriteString(next)
}

// proved parses the spliced text with an empty relation in each place and
// compares it with the substituted tree, locations aside.
func proved(st *Statement, stmt *pg.Node) bool {
	want, _, _ := pgtree.Canonical(&pg.RawStmt{Stmt: stmt})
	got, ok := pgtree.CanonicalText(st.Splice(func(int) string { return "(SELECT)" }))
	return ok && string(got) == string(want)
}
