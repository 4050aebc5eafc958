package parser

import (
	"math"
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// A valuer finds values of expressions at one level of a query.
type valuer struct {
	*analysis
	s *scope
}

// of is the value of an expression.
func (v valuer) of(n *pg.Node) value {
	switch x := n.GetNode().(type) {
	case nil:
		return value{}
	case *pg.Node_ColumnRef:
		return v.s.valueOf(x.ColumnRef)
	case *pg.Node_SubLink:
		return v.subLink(x.SubLink)
	case *pg.Node_TypeCast:
		return v.cast(x.TypeCast)
	case *pg.Node_CoalesceExpr:
		first := v.of(x.CoalesceExpr.Args[0])
		if v.s.block && !first.further && !slices.ContainsFunc(first.of, canLack) && !v.any(x.CoalesceExpr.Args[1:]...) {
			return first
		}
	case *pg.Node_FuncCall:
		return v.call(n, x.FuncCall)
	}
	return v.computed(n)
}

// any reports whether one of some expressions is computed from aggregates.
func (v valuer) any(list ...*pg.Node) bool {
	return slices.ContainsFunc(list, func(n *pg.Node) bool { return v.of(n).measured() })
}

// computed is the value of an expression of several parts. Where it asks for errors of aggregates it is about these.
func (v valuer) computed(n *pg.Node) value {
	further, plus := false, 0.0
	pgtree.Children(n, func(n *pg.Node) {
		of := v.of(n)
		further, plus = further || of.measured(), plus+of.plus
	})
	if v.s.block && further && pgtree.Holds(func(n *pg.Node) bool { f := n.GetFuncCall(); return f != nil && pgtree.IsReport(f) }, n) {
		return value{}
	}
	return value{further: further, plus: moved(n, plus)}
}

// moved is how far rounding moves the values of an expression, if it moves those of its parts by so much in all: infinity if that is not
// known.
func moved(n *pg.Node, plus float64) float64 {
	x := n.GetAExpr()
	switch {
	case plus == 0:
		return 0
	case x.GetKind() != pg.A_Expr_Kind_AEXPR_OP:
		return math.Inf(1)
	}
	left, leftKnown := constant(x.Lexpr)
	right, rightKnown := constant(x.Rexpr)
	switch op := pgtree.OperatorName(x); {
	case slices.Contains([]string{"=", "<>", "<", ">", "<=", ">="}, op):
		return 0
	case op == "+" || op == "-":
		return plus
	case op == "*" && leftKnown:
		return plus * math.Abs(left)
	case op == "*" && rightKnown:
		return plus * math.Abs(right)
	case op == "/" && rightKnown && right != 0:
		return plus / math.Abs(right)
	}
	return math.Inf(1)
}

// constant is that of a numeric literal.
func constant(n *pg.Node) (x float64, ok bool) {
	switch c := n.GetAConst().GetVal().(type) {
	case *pg.A_Const_Ival:
		return float64(c.Ival.Ival), true
	case *pg.A_Const_Fval:
		x, err := strconv.ParseFloat(c.Fval.Fval, 64)
		return x, err == nil
	}
	return 0, false
}

// call is the value of a call of a function.
func (v valuer) call(n *pg.Node, f *pg.FuncCall) value {
	switch {
	case f.Over != nil:
		windows := slices.ContainsFunc(v.s.windows, func(n *pg.Node) bool { return v.computed(n).further })
		of := v.computed(n)
		of.further = of.further || v.s.chosen || windows
		return of
	case v.s.block && pgtree.IsAggregate(n):
		if pgtree.IsReport(f) {
			return value{}
		}
		return value{of: []*pg.Node{n}}
	case pgtree.IsAggregate(n):
		of := v.computed(n)
		of.further = of.further || v.s.chosen
		return of
	}
	if _, name := pgtree.Callee(f); name == "round" && len(f.Args) > 0 {
		return v.rounded(f.Args[0], f.Args[1:])
	}
	return v.computed(n)
}

// report refuses a call of dp.lower and its kin whose argument is computed from released values: on the mirror, where that is done,
// there is no noise, and the interval would have no width. dp.error has none there. It is nil of anything else, and notes a call by
// a bare name: whether it is of dp, search_path says.
func (v valuer) report(n *pg.Node) *pgerr.Error {
	f := n.GetFuncCall()
	if f == nil || v.s.block && pgtree.IsReport(f) || !v.any(f.Args...) {
		return nil
	}
	schema, name := pgtree.Callee(f)
	_, told := pgtree.Reports[name]
	if schema == "" && (told || name == "weight") && v.bare == nil {
		v.bare = f
	}
	if schema != "dp" || !told || name == "error" {
		return nil
	}
	return pgerr.New(pgerr.NotAllowed, "dp.%s is of an aggregate over protected rows, and of nothing that is computed from one", name).
		At(v.pos(f.Location)).
		WithHint("Ask for that of the aggregate itself: dp.%s(avg(x)). Of what is computed from it no error is known.", name)
}

// rounded is the value of a number that is rounded to so many digits, none for a whole number. One that is computed further may be whole.
func (v valuer) rounded(n *pg.Node, digits []*pg.Node) value {
	of, places := v.of(n), 0
	if !of.measured() {
		return of
	}
	if len(digits) > 0 {
		var ok bool
		if places, ok = pgtree.Position(digits[0]); !ok || places > maxDigits || len(digits) > 1 {
			of.further, of.plus = true, math.Inf(1)
			return of
		}
	}
	if places < 0 || of.further && places > 0 || !of.further && !slices.ContainsFunc(of.of, whole) {
		of.plus += 0.5 * math.Pow10(-places)
	}
	return of
}

// cast is the value of a number that is cast to another type of numbers, or to a text.
func (v valuer) cast(c *pg.TypeCast) value {
	names, _ := pgtree.Strings(c.TypeName.GetNames())
	if len(names) == 0 || len(c.TypeName.ArrayBounds) > 0 {
		return value{further: v.of(c.Arg).measured()}
	}
	switch mods := c.TypeName.Typmods; names[len(names)-1] {
	case "float8", "text":
		return v.of(c.Arg)
	case "numeric":
		if len(mods) > 0 {
			return v.rounded(c.Arg, mods[1:])
		}
		return v.of(c.Arg)
	case "int2", "int4", "int8":
		return v.rounded(c.Arg, nil)
	}
	return value{further: v.of(c.Arg).measured()}
}

// subLink is the value of a sub-select in an expression.
func (v valuer) subLink(l *pg.SubLink) value {
	level := v.levels[l.Subselect.GetSelectStmt()]
	if level == nil {
		return value{further: len(v.found) > 0}
	}
	r := level.result
	if l.SubLinkType == pg.SubLinkType_EXPR_SUBLINK && len(r.columns) == 1 && r.known {
		return r.columns[0].value
	}
	further := r.chosen || v.any(l.Testexpr) || slices.ContainsFunc(r.columns, column.measured)
	return value{further: further || !r.known && r.kind == released}
}

// listed are the columns of VALUES.
func (v valuer) listed(rows []*pg.Node) (out []column) {
	for _, row := range rows {
		for i, n := range row.GetList().GetItems() {
			if i == len(out) {
				out = append(out, column{name: "column" + strconv.Itoa(i+1)})
			}
			out[i].value = out[i].value.or(v.of(n))
		}
	}
	return out
}

// chooses reports whether released values decide which rows of FROM a level above blocks has, or which of them are in a group.
func (v valuer) chooses(sel *pg.SelectStmt, from result) bool {
	return from.chosen || v.any(sel.WhereClause, sel.HavingClause) || v.any(sel.GroupClause...)
}

// joins reports whether released values decide which rows a join has, of items from the first on.
func (v valuer) joins(j *pg.JoinExpr, first int) bool {
	merged, _ := pgtree.Strings(j.UsingClause)
	named := func(c column) bool { return c.measured() && (j.IsNatural || slices.Contains(merged, c.name)) }
	return v.any(j.Quals) || slices.ContainsFunc(v.s.items[first:], func(it *item) bool {
		return slices.ContainsFunc(it.columns, named)
	})
}

// shown is the result of a SELECT after ORDER BY, DISTINCT ON and LIMIT: the first rows of an order of released values were chosen by
// them.
func (v valuer) shown(sel *pg.SelectStmt, r result) result {
	r.chosen = r.chosen || v.s.chosen
	r.sorted = r.sorted || slices.ContainsFunc(sel.SortClause, func(n *pg.Node) bool { return v.sortedBy(n.GetSortBy().GetNode(), sel, r) })
	limited := sel.LimitCount != nil || sel.LimitOffset != nil || len(sel.DistinctClause) > 0 && !pgtree.IsDistinct(sel)
	r.chosen = r.chosen || r.sorted && limited
	r.columns = slices.Clone(r.columns)
	for i := range r.columns {
		r.columns[i].value = r.columns[i].value.selected(r.chosen)
	}
	return r
}

// sortedBy reports whether an item of ORDER BY, of which names and positions are of columns first, is computed from aggregates.
func (v valuer) sortedBy(n *pg.Node, sel *pg.SelectStmt, r result) bool {
	if i, ok := pgtree.Position(n); ok {
		return !r.known || i < 1 || i > len(r.columns) || r.columns[i-1].measured()
	}
	name, bare := pgtree.ColumnName(n)
	if i := slices.IndexFunc(r.columns, func(c column) bool { return bare && c.name == name }); i >= 0 {
		return r.columns[i].measured()
	}
	return sel.Op == pg.SetOperation_SETOP_NONE && v.any(n)
}

// assigned are the columns that parts of a statement assign values.
func (v valuer) assigned(list ...*pg.Node) (out []column) {
	pgtree.Holds(func(n *pg.Node) bool {
		if t := n.GetResTarget(); t != nil {
			out = append(out, column{name: t.Name, value: v.of(t.Val)})
		}
		return false
	}, list...)
	return out
}
