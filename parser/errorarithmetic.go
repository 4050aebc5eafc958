package parser

import (
	"math"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// The error of an expression over several aggregates follows from the intervals of all of them, by interval arithmetic:
// of [a, b] + [c, d] the ends are a + c and b + d, of a product the least and the largest of ac, ad, bc, bd, of a
// quotient those of a/c, a/d, b/c, b/d if 0 is not within [c, d]. All k intervals hold at once with the confidence γ if each
// holds with 1 − (1 − γ)/k, by the union bound. The ends are computed as numeric, which neither overflows nor loses
// small ones, where conditions hold that are asked first.

const (
	maxLeaves = 4    // aggregates of an expression, as often as they stand in it
	maxError  = 4000 // bytes of the ends and their conditions; the error has them twice
	maxNumber = 12   // characters of a constant

	minConstant, maxConstant = 1e-30, 1e30 // of those that are not 0

	farEnd   = "1e30"
	farthest = "1e300" // of float8
	digits   = "300"
	nearZero = "1e-15"
	farExp   = "100"
)

// averaging are the aggregates, besides count and sum, whose intervals are those of the aggregate itself. They are not whole numbers.
var averaging = []string{
	"avg", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop",
	"corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_avgx", "regr_avgy", "regr_r2",
}

// intervals writes the ends of one expression.
type intervals struct {
	w          *errorColumns
	confidence string   // of each aggregate
	leaves     []string // texts of aggregates, as they are met
	guards     []string // conditions under which the ends are such
	unknown    bool     // whether something has no interval
}

// ends are those of a value, as SQL of type numeric.
type ends struct {
	low, high string
	whole     bool // it may be of a type of integers, whose quotients are cut off
	integer   bool // it is an integer
	positive  bool // it is a constant, and not negative
}

// arithmetic writes what is known of the error of an expression over aggregates.
func (w *errorColumns) arithmetic(n *pg.Node) bars {
	count := &intervals{w: w}
	count.of(n)
	slices.Sort(count.leaves)
	k := len(slices.Compact(slices.Clone(count.leaves)))
	each := math.Ceil((1-(1-w.confidence)/float64(k))*1e6) / 1e6
	span, ok := w.l.span(n)
	if count.unknown || k == 0 || len(count.leaves) > maxLeaves || each >= 1 || !ok {
		return bars{}
	}
	v := &intervals{w: w, confidence: strconv.FormatFloat(each, 'f', -1, 64)}
	e := v.of(n)
	v.guard(e.low+" > -"+farthest, e.high+" < "+farthest)
	value := "CAST((" + w.l.text[span.Start:span.End] + ") AS numeric)"
	written := func(number string) string {
		return "CASE WHEN " + strings.Join(v.guards, " AND ") + " THEN CAST(round(" + number + ", " + digits + ") AS float8) END"
	}
	half := "greatest(" + e.high + " - " + value + ", " + value + " - (" + e.low + "))"
	b := bars{low: written(e.low), high: written(e.high), half: written(half), composed: true}
	if len(b.half) > 2*maxError {
		return bars{}
	}
	return b
}

// of writes the ends of an expression, which are unknown where they would be long: each operator has those of its arguments twice
// or more.
func (v *intervals) of(n *pg.Node) ends {
	if v.unknown {
		return ends{}
	}
	e := v.written(n)
	size := len(e.low) + len(e.high)
	for _, g := range v.guards {
		size += len(g)
	}
	if size > maxError {
		return v.none()
	}
	return e
}

func (v *intervals) written(n *pg.Node) ends {
	switch x := n.GetNode().(type) {
	case *pg.Node_AConst:
		return v.constant(n)
	case *pg.Node_AExpr:
		return v.operator(n, x.AExpr)
	case *pg.Node_TypeCast:
		return v.cast(x.TypeCast)
	case *pg.Node_CoalesceExpr:
		if args := x.CoalesceExpr.Args; !slices.ContainsFunc(args[1:], func(n *pg.Node) bool { return n.GetAConst() == nil }) {
			return v.of(args[0])
		}
	case *pg.Node_FuncCall:
		if pgtree.IsAggregate(n) {
			return v.aggregate(n)
		}
		return v.function(x.FuncCall)
	}
	return v.none()
}

func (v *intervals) none() ends {
	v.unknown = true
	return ends{}
}

// constant is a number, with itself at both ends.
func (v *intervals) constant(n *pg.Node) ends {
	c := n.GetAConst()
	span, ok := v.w.l.span(n)
	if !ok || c.Isnull || c.GetIval() == nil && c.GetFval() == nil || span.End-span.Start > maxNumber {
		return v.none()
	}
	literal := v.w.l.text[span.Start:span.End]
	x, err := strconv.ParseFloat(literal, 64)
	if size := math.Abs(x); err != nil || x != 0 && (size < minConstant || size > maxConstant) {
		return v.none()
	}
	text, whole := "CAST("+literal+" AS numeric)", !strings.ContainsAny(literal, ".eE")
	return ends{low: text, high: text, whole: whole, integer: whole, positive: x >= 0}
}

// aggregate has the ends that dpproxy states. The text of one with a sub-select would have it a dozen times.
func (v *intervals) aggregate(n *pg.Node) ends {
	f := pgtree.Unweighed(n).GetFuncCall()
	span, ok := v.w.l.span(n)
	_, name := pgtree.Callee(f)
	whole := name == "count" || name == "sum"
	if !ok || f == nil || pgtree.IsReport(f) || f.AggWithinGroup || pgtree.Holds(isSubLink, n) ||
		!whole && !slices.Contains(averaging, name) {
		return v.none()
	}
	text := v.w.l.text[span.Start:span.End]
	low, high := "dp.lower("+text+", "+v.confidence+")", "dp.upper("+text+", "+v.confidence+")"
	v.leaves = append(v.leaves, text)
	v.guard(low+" > -"+farEnd, high+" < "+farEnd)
	return ends{low: "CAST(" + low + " AS numeric)", high: "CAST(" + high + " AS numeric)", whole: whole, integer: name == "count"}
}

// guard adds conditions.
func (v *intervals) guard(conditions ...string) {
	for _, c := range conditions {
		if !slices.Contains(v.guards, c) {
			v.guards = append(v.guards, c)
		}
	}
}

// operator is one of arithmetic, or NULLIF of a value and a constant that is not among those that the value may be.
func (v *intervals) operator(n *pg.Node, x *pg.A_Expr) ends {
	if x.Kind == pg.A_Expr_Kind_AEXPR_NULLIF && x.Rexpr.GetAConst() != nil {
		e, null := v.of(x.Lexpr), v.of(x.Rexpr)
		v.guard("(" + e.low + " > " + null.high + " OR " + e.high + " < " + null.low + ")")
		return e
	}
	if x.Kind != pg.A_Expr_Kind_AEXPR_OP || len(x.Name) != 1 {
		return v.none()
	}
	name, b := x.Name[0].GetString_().GetSval(), v.of(x.Rexpr)
	if x.Lexpr == nil {
		if name != "-" {
			return v.none()
		}
		return ends{low: "(- " + b.high + ")", high: "(- " + b.low + ")", whole: b.whole, integer: b.integer}
	}
	a := v.of(x.Lexpr)
	if v.unknown {
		return ends{}
	}
	e := ends{whole: a.whole && b.whole, integer: a.integer && b.integer}
	switch name {
	case "+":
		e.low, e.high = "("+a.low+" + "+b.low+")", "("+a.high+" + "+b.high+")"
	case "-":
		e.low, e.high = "("+a.low+" - "+b.high+")", "("+a.high+" - "+b.low+")"
	case "*":
		e.low, e.high = times(a, b)
	case "/":
		return v.quotient(n, a, b)
	default:
		return v.none()
	}
	return e
}

// times writes the ends of a product. Of one with a constant they are two products rather than four.
func times(a, b ends) (low, high string) {
	if a.positive {
		a, b = b, a
	}
	if b.positive {
		return "(" + a.low + " * " + b.low + ")", "(" + a.high + " * " + b.low + ")"
	}
	list := corners(a, "*", b)
	return "least(" + list + ")", "greatest(" + list + ")"
}

// quotient divides; the quotient of integers is cut off towards 0. Whether a sum is one, Postgres says.
func (v *intervals) quotient(n *pg.Node, a, b ends) ends {
	v.guard("(" + b.low + " > " + nearZero + " OR " + b.high + " < -" + nearZero + ")")
	divisors := ends{low: "nullif(" + b.low + ", 0)", high: "nullif(" + b.high + ", 0)"}
	e := ends{whole: a.whole && b.whole}
	if b.positive {
		e.low, e.high = "("+a.low+" / "+divisors.low+")", "("+a.high+" / "+divisors.low+")"
	} else {
		list := corners(a, "/", divisors)
		e.low, e.high = "least("+list+")", "greatest("+list+")"
	}
	if !e.whole {
		return e
	}
	by := "1"
	if span, ok := v.w.l.span(n); ok && (!a.integer || !b.integer) {
		kind := "pg_typeof(" + v.w.l.text[span.Start:span.End] + ")"
		by = "CASE WHEN " + kind + " = ANY (CAST('{int2,int4,int8}' AS regtype[])) THEN 1 ELSE 0 END"
	}
	return widened(e, by)
}

// corners lists the results of an operator for all ends.
func corners(a ends, op string, b ends) string {
	op = " " + op + " "
	list := []string{a.low + op + b.low}
	if b.low != b.high {
		list = append(list, a.low+op+b.high)
	}
	if a.low != a.high {
		list = append(list, a.high+op+b.low)
	}
	if a.low != a.high && b.low != b.high {
		list = append(list, a.high+op+b.high)
	}
	return strings.Join(list, ", ")
}

// widened moves both ends away from each other.
func widened(e ends, by string) ends {
	e.low, e.high, e.positive = "("+e.low+" - "+by+")", "("+e.high+" + "+by+")", false
	return e
}

// cast is that to a type of numbers, which may round.
func (v *intervals) cast(c *pg.TypeCast) ends {
	names, _ := pgtree.Strings(c.TypeName.GetNames())
	if len(names) == 0 || len(c.TypeName.ArrayBounds) > 0 {
		return v.none()
	}
	e := v.of(c.Arg)
	switch names[len(names)-1] {
	case "float8":
		e.whole = false
		return e
	case "numeric":
		e.whole = false
		if mods := c.TypeName.Typmods; len(mods) > 0 {
			return v.rounded(e, mods[1:])
		}
		return e
	case "int2", "int4", "int8":
		if !e.integer {
			e = widened(e, "0.5")
		}
		e.whole, e.integer = true, true
		return e
	}
	return v.none()
}

// rounded is a value that is rounded to so many digits, none for a whole number.
func (v *intervals) rounded(e ends, digits []*pg.Node) ends {
	places := 0
	if len(digits) > 0 {
		var ok bool
		if places, ok = pgtree.Position(digits[0]); !ok || places > maxDigits || len(digits) > 1 {
			return v.none()
		}
	}
	e.whole, e.integer = false, e.integer || places == 0
	return widened(e, "0.5e"+strconv.Itoa(-places))
}

// function is one that grows with its argument.
func (v *intervals) function(f *pg.FuncCall) ends {
	schema, name := pgtree.Callee(f)
	if schema != "" && schema != "pg_catalog" || len(f.Args) == 0 || len(f.Args) > 1 && name != "round" {
		return v.none()
	}
	e := v.of(f.Args[0])
	e.whole, e.integer, e.positive = false, false, false
	switch name {
	case "round":
		return v.rounded(e, f.Args[1:])
	case "exp":
		v.guard(e.low+" > -"+farExp, e.high+" < "+farExp)
	case "ln":
		v.guard(e.low + " > 0")
	case "sqrt":
		e.low = "greatest(" + e.low + ", 0)"
	default:
		return v.none()
	}
	return ends{low: name + "(" + e.low + ")", high: name + "(" + e.high + ")"}
}
