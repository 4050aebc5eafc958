package parser

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// Which of k tiles of all rows a row is in, as in ntile(4) OVER (ORDER BY cost), depends on everybody's rows. Where the tiles meet
// can be released: these are percentiles. The query of them is a binding, and in the place of the window function a row's own value is
// compared with what was released. percent_rank and cume_dist are told so where they are compared with constants alone: between two of
// these any value does.

// A Ranking says how a released result tells the rank of a row.
type Ranking struct {
	value      string // of the row
	descending bool
	nullsFirst bool
	upTo       bool     // a row at a released value is above it: cume_dist counts the rows up to a value, with those that are equal
	steps      []string // the results, as literals, between the released values, one more than these
	typ        string   // of the results
	as         string   // a name behind all
}

// maxTiles bounds the tiles of ntile, and maxRanks the constants that a rank is compared with.
const (
	maxTiles = 100
	maxRanks = 20
)

// ranked notes the window functions of a query of protected rows that rank all of them, or all of a partition.
func (s *seeker) ranked(sel *pg.SelectStmt) {
	level := s.levels[sel]
	plain := sel.Op <= pg.SetOperation_SETOP_NONE && sel.WithClause == nil && len(sel.DistinctClause) == 0 && len(sel.ValuesLists) == 0 &&
		sel.LimitCount == nil && sel.LimitOffset == nil && len(sel.LockingClause) == 0
	if level.kind != rows || level.scope.escape >= 0 || !plain || len(sel.TargetList) == 0 {
		return
	}
	var calls []rankCall
	for _, n := range sel.TargetList {
		s.rankCalls(sel, n.GetResTarget(), n, &calls)
	}
	for i := range calls {
		s.rank(sel, calls, i)
	}
}

// A rankCall is a window function that ranks.
type rankCall struct {
	Ranking

	span      Span     // in the client's text, with what stands after OVER
	of        *pg.Node // the value
	partition []*pg.Node
	fractions []float64
}

// rankCalls collects those of a target.
func (s *seeker) rankCalls(sel *pg.SelectStmt, target *pg.ResTarget, n *pg.Node, out *[]rankCall) {
	if n == nil || n.GetSelectStmt() != nil || n.GetSubLink() != nil {
		return
	}
	f := n.GetFuncCall()
	if f.GetOver() == nil {
		pgtree.Children(n, func(n *pg.Node) { s.rankCalls(sel, target, n, out) })
		return
	}
	c := rankCall{}
	whole := target.GetVal().GetFuncCall() == f
	if !s.window(sel, f, &c) || !s.stepsOf(f, target, whole, &c) {
		return
	}
	if name, _ := pgtree.OutputName(target); whole && target.Name == "" {
		c.as = " AS " + ast.QuoteIdent(name)
	}
	call, ok := s.l.call(int(f.Location) - s.l.base)
	if !ok {
		return
	}
	end := s.l.toks.IndexAt(call.End - 1)
	for end >= 0 && end < len(s.l.toks) && s.l.toks[end].Start < call.End {
		end++
	}
	if end < 0 || s.l.toks.Kind(end) != pg.Token_OVER {
		return
	}
	if end++; s.l.toks.Kind(end) == lex.OpenParen {
		end = s.l.brackets(end)
	} else {
		end = s.l.toks.Name(end)
	}
	c.span = s.own(Span{call.Start, s.l.toks[end-1].End})
	*out = append(*out, c)
}

// window reads what stands after OVER. Rows that belong together are ranked without a released result.
func (s *seeker) window(sel *pg.SelectStmt, f *pg.FuncCall, c *rankCall) bool {
	w := f.Over
	if w.Name != "" {
		w = (&windowClause{sel}).named(w.Name)
	}
	own := s.levels[sel].scope
	schema, _ := pgtree.Callee(f)
	if schema != "" && schema != "pg_catalog" || f.AggFilter != nil || f.AggDistinct || len(f.AggOrder) > 0 || f.AggWithinGroup ||
		f.FuncVariadic || w.GetRefname() != "" || len(w.GetOrderClause()) == 0 || named(s.cat, own.originsOf(w.PartitionClause)) {
		return false
	}
	for _, n := range w.OrderClause[1:] { // they tell rows of equal values apart, which the released values do not
		if n.GetSortBy().GetNode().GetColumnRef() == nil {
			return false
		}
	}
	by := w.OrderClause[0].GetSortBy()
	if _, constant := pgtree.Position(by.Node); constant || by.SortbyDir == pg.SortByDir_SORTBY_USING {
		return false
	}
	c.of, c.partition = by.Node, w.PartitionClause
	c.descending = by.SortbyDir == pg.SortByDir_SORTBY_DESC
	c.nullsFirst = by.SortbyNulls == pg.SortByNulls_SORTBY_NULLS_FIRST ||
		c.descending && by.SortbyNulls != pg.SortByNulls_SORTBY_NULLS_LAST
	return !slices.ContainsFunc(append([]*pg.Node{c.of}, c.partition...), func(n *pg.Node) bool {
		return s.sideOf(n, own)&outside != 0 || overRows(n)
	})
}

// overRows reports whether there is a window function in an expression.
func overRows(n *pg.Node) (found bool) {
	pgtree.Every(n, func(n *pg.Node) { found = found || pgtree.IsWindowCall(n) })
	return found
}

// stepsOf decides where the function has which values.
func (s *seeker) stepsOf(f *pg.FuncCall, target *pg.ResTarget, whole bool, c *rankCall) bool {
	switch _, name := pgtree.Callee(f); name {
	case "ntile":
		if len(f.Args) != 1 {
			return false
		}
		tiles, ok := pgtree.Position(f.Args[0])
		if !ok || tiles < 2 || tiles > maxTiles {
			return false
		}
		c.typ = "integer"
		for i := 1; i <= tiles; i++ {
			c.steps = append(c.steps, strconv.Itoa(i))
			if i < tiles {
				c.fractions = append(c.fractions, float64(i)/float64(tiles))
			}
		}
		return true
	case "percent_rank", "cume_dist":
		c.upTo = name == "cume_dist"
		output, known := pgtree.OutputName(target)
		if len(f.Args) != 0 || !whole || !known {
			return false
		}
		var ok bool
		if c.fractions, ok = s.compared(output); !ok {
			return false
		}
		below, typ := 0.0, "double precision"
		for _, f := range append(slices.Clone(c.fractions), 1) {
			c.steps = append(c.steps, "CAST("+ast.Quote(strconv.FormatFloat((below+f)/2, 'g', -1, 64))+" AS "+typ+")")
			below, c.typ = f, typ
		}
		return true
	}
	return false
}

// compared lists the constants that a column of that name is compared with, false if anything else is done with one.
func (s *seeker) compared(name string) (list []float64, ok bool) {
	uses, good := 0, 0
	plain := true
	named := func(n *pg.Node) bool {
		names, _ := pgtree.Strings(n.GetColumnRef().GetFields())
		return len(names) > 0 && names[len(names)-1] == name
	}
	compare := func(column *pg.Node, with ...*pg.Node) {
		if !named(column) {
			return
		}
		good++
		for _, n := range with {
			f, number := fraction(n)
			plain = plain && number
			list = append(list, f)
		}
	}
	pgtree.Every(s.stmt, func(n *pg.Node) {
		switch x := n.Node.(type) {
		case *pg.Node_ColumnRef:
			if named(n) {
				uses++
			}
		case *pg.Node_AExpr:
			switch e := x.AExpr; {
			case e.Kind == pg.A_Expr_Kind_AEXPR_BETWEEN || e.Kind == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
				compare(e.Lexpr, e.Rexpr.GetList().GetItems()...)
			case e.Kind == pg.A_Expr_Kind_AEXPR_OP && slices.Contains([]string{"<", "<=", ">", ">="}, pgtree.OperatorName(e)):
				compare(e.Lexpr, e.Rexpr)
				compare(e.Rexpr, e.Lexpr)
			}
		case *pg.Node_SelectStmt: // names of columns by their places
			plain = plain && x.SelectStmt.Op <= pg.SetOperation_SETOP_NONE
		case *pg.Node_RangeSubselect:
			plain = plain && len(x.RangeSubselect.Alias.GetColnames()) == 0
		case *pg.Node_RangeVar:
			plain = plain && len(x.RangeVar.Alias.GetColnames()) == 0
		case *pg.Node_CommonTableExpr:
			plain = plain && len(x.CommonTableExpr.Aliascolnames) == 0
		case *pg.Node_JoinExpr:
			plain = plain && !x.JoinExpr.IsNatural && len(x.JoinExpr.Alias.GetColnames()) == 0 &&
				!slices.ContainsFunc(x.JoinExpr.UsingClause, func(n *pg.Node) bool { return n.GetString_().GetSval() == name })
		}
	})
	slices.Sort(list)
	list = slices.Compact(list)
	return list, plain && uses == good && len(list) > 0 && len(list) <= maxRanks
}

// fraction reads a literal between 0 and 1.
func fraction(n *pg.Node) (float64, bool) {
	c := n.GetAConst().GetFval()
	if c == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(c.Fval, 64)
	return f, err == nil && f > 0 && f < 1
}

// rank notes the percentiles that a window function is told by.
func (s *seeker) rank(sel *pg.SelectStmt, calls []rankCall, i int) {
	c := calls[i]
	targets, rest, ok := s.clauses(sel)
	spans, also := s.spans(append([]*pg.Node{c.of}, c.partition...)...)
	if !ok || !also {
		s.lost = s.lost || !also
		return
	}
	f := finding{as: AsRanks, span: c.span, ranking: &c.Ranking}
	c.value = s.text[spans[0].Start:spans[0].End]
	for _, p := range spans[1:] {
		f.keys = append(f.keys, s.text[p.Start:p.End])
	}
	add := func(words string) { f.text = append(f.text, passage{words: words}) }
	var parts, places, names []string
	ranked := unlike("ranked", sel)
	for i := range f.keys {
		name := unlike("part"+strconv.Itoa(i+1), sel)
		parts, names, places = append(parts, f.keys[i]+" AS "+name), append(names, name), append(places, strconv.Itoa(i+1))
	}
	add("SELECT ")
	for _, name := range names {
		add(name + ", ")
	}
	var cuts, fractions []string
	for i, fraction := range c.fractions {
		cuts = append(cuts, "cuts["+strconv.Itoa(i+1)+"]")
		fractions = append(fractions, strconv.FormatFloat(fraction, 'f', -1, 64))
	}
	down := map[bool]string{true: " DESC"}[c.descending]
	percentiles := func(of string) string {
		return "percentile_disc(ARRAY[" + strings.Join(fractions, ", ") + "]) WITHIN GROUP (ORDER BY " + of + down + ") AS cuts FROM "
	}
	add(strings.Join(cuts, ", ") + " FROM (SELECT ")
	if pgtree.IsAggregated(sel) {
		for _, name := range names {
			add(name + ", ")
		}
		add(percentiles(ranked) + "(SELECT ")
		f.text = append(f.text, without(targets, calls)...)
		add(", " + strings.Join(append([]string{c.value + " AS " + ranked}, parts...), ", ") + " FROM ")
		f.text = append(f.text, passage{span: rest})
		add(") AS each")
	} else {
		for _, part := range parts {
			add(part + ", ")
		}
		add(percentiles(c.value))
		f.text = append(f.text, passage{span: rest})
	}
	if len(places) > 0 {
		add(" GROUP BY " + strings.Join(places, ", "))
	}
	add(") AS ranks")
	s.note(f, &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: sel}})
}

// unlike is a name that no column of a query has.
func unlike(name string, sel *pg.SelectStmt) string {
	for slices.Contains(outputNames(sel), name) {
		name += "_"
	}
	return name
}

// without are the targets of a query with constants in the places of window functions.
func without(targets Span, calls []rankCall) (out []passage) {
	for _, c := range calls {
		out = append(out, passage{span: Span{targets.Start, c.span.Start}}, passage{words: "0" + c.as})
		targets.Start = c.span.End
	}
	return append(out, passage{span: targets})
}

// clauses are the targets of a query, and what follows FROM as far as HAVING.
func (s *seeker) clauses(sel *pg.SelectStmt) (targets, rest Span, ok bool) {
	l := s.l
	k, ok := l.clauses(&candidate{sel: sel, at: int(sel.TargetList[0].GetResTarget().GetLocation()) - l.base})
	first := l.toks.IndexAt(int(sel.TargetList[0].GetResTarget().GetLocation()) - l.base)
	if !ok || first < 0 {
		return targets, rest, false
	}
	end := k.next
	for end < k.end && (!l.afterGrouping(end, k.depth) || l.toks[end].Kind == pg.Token_HAVING) {
		end++
	}
	return s.own(l.between(first, k.from)), s.own(l.between(k.from+1, end)), true
}

// choice writes the rank of a row: of released values that are not there it is NULL.
func (k *Ranking) choice(r Result, row [][]byte, keys int) string {
	var b strings.Builder
	b.WriteString("(CASE")
	if k.nullsFirst {
		b.WriteString(" WHEN (" + k.value + ") IS NULL THEN " + k.steps[0])
	}
	compare := map[bool]string{false: " <", true: " >"}[k.descending]
	if !k.upTo {
		compare += "="
	}
	compare += " "
	for i, cell := range row[keys:] {
		if cell == nil && !r.Unknown {
			return k.none()
		}
		b.WriteString(" WHEN (" + k.value + ")" + compare + r.constant(keys+i, cell) + " THEN " + k.steps[i])
	}
	b.WriteString(" ELSE " + k.steps[len(k.steps)-1] + " END)")
	return b.String()
}

// none is the rank of a row of a group that is not there.
func (k *Ranking) none() string { return "CAST(NULL AS " + k.typ + ")" }
