package parser

import (
	"math"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// The error of an expression over several aggregates follows from the intervals of all of them, by interval arithmetic:
// of [a, b] + [c, d] the ends are a + c and b + d, of a product the least and the largest of ac, ad, bc, bd, of a
// quotient those of a/c, a/d, b/c, b/d if 0 is not within [c, d]. All k intervals hold at once with the confidence γ if each
// holds with 1 − (1 − γ)/k, by the union bound. The ends are computed as numeric, which neither overflows nor loses
// small ones, where conditions hold that are asked first.

const (
	maxLeaves = 4    // aggregates of an expression, as often as they stand in it
	maxError  = 4000 // bytes of the text of an error
	maxNumber = 12   // characters of a constant
	farEnd    = "1e30"
	nearZero  = "1e-15"
	farExp    = "100"
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

// ends are those of a value, as SQL of type numeric; whole tells that it may be an integer, whose quotients are cut off.
type ends struct {
	low, high string
	whole     bool
}

// arithmetic writes the error of an expression over aggregates, or "" where none is known.
func (w *errorColumns) arithmetic(n *pg.Node) string {
	count := &intervals{w: w}
	count.of(n)
	slices.Sort(count.leaves)
	k := len(slices.Compact(slices.Clone(count.leaves)))
	each := math.Ceil((1-(1-w.confidence)/float64(k))*1e6) / 1e6
	span, ok := w.l.span(n)
	if count.unknown || k == 0 || len(count.leaves) > maxLeaves || each >= 1 || !ok {
		return ""
	}
	v := &intervals{w: w, confidence: strconv.FormatFloat(each, 'f', -1, 64)}
	e := v.of(n)
	value := "CAST((" + w.l.text[span.Start:span.End] + ") AS numeric)"
	text := "CASE WHEN " + strings.Join(v.guards, " AND ") +
		" THEN CAST(greatest(" + e.high + " - " + value + ", " + value + " - (" + e.low + ")) AS float8) END"
	if len(text) > maxError {
		return ""
	}
	return text
}

// of writes the ends of an expression.
func (v *intervals) of(n *pg.Node) ends {
	switch x := n.GetNode().(type) {
	case *pg.Node_AConst:
		return v.constant(n)
	case *pg.Node_AExpr:
		return v.operator(x.AExpr)
	case *pg.Node_TypeCast:
		return v.cast(x.TypeCast)
	case *pg.Node_CoalesceExpr:
		if args := x.CoalesceExpr.Args; !slices.ContainsFunc(args[1:], func(n *pg.Node) bool { return n.GetAConst() == nil }) {
			return v.of(args[0])
		}
	case *pg.Node_FuncCall:
		if isAggregate(n) {
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
	if whole := c.GetIval() != nil; ok && !c.Isnull && (whole || c.GetFval() != nil) && span.End-span.Start <= maxNumber {
		text := "CAST(" + v.w.l.text[span.Start:span.End] + " AS numeric)"
		return ends{text, text, whole}
	}
	return v.none()
}

// aggregate has the ends that dpproxy states. The text of one with a sub-select would have it a dozen times.
func (v *intervals) aggregate(n *pg.Node) ends {
	f := unweighed(n).GetFuncCall()
	span, ok := v.w.l.span(n)
	_, name := callee(f)
	whole := name == "count" || name == "sum"
	queries := func(n *pg.Node) bool { return n.GetSubLink() != nil }
	if !ok || f == nil || isReport(f) || f.AggWithinGroup || holds(queries, n) || !whole && !slices.Contains(averaging, name) {
		return v.none()
	}
	text := v.w.l.text[span.Start:span.End]
	low, high := "dp.lower("+text+", "+v.confidence+")", "dp.upper("+text+", "+v.confidence+")"
	v.leaves = append(v.leaves, text)
	v.guard(low+" > -"+farEnd, high+" < "+farEnd)
	return ends{"CAST(" + low + " AS numeric)", "CAST(" + high + " AS numeric)", whole}
}

// guard adds conditions.
func (v *intervals) guard(conditions ...string) {
	for _, c := range conditions {
		if !slices.Contains(v.guards, c) {
			v.guards = append(v.guards, c)
		}
	}
}

// operator is one of arithmetic, or NULLIF of a value and a constant.
func (v *intervals) operator(x *pg.A_Expr) ends {
	if x.Kind == pg.A_Expr_Kind_AEXPR_NULLIF && x.Rexpr.GetAConst() != nil {
		return v.of(x.Lexpr)
	}
	if x.Kind != pg.A_Expr_Kind_AEXPR_OP || len(x.Name) != 1 {
		return v.none()
	}
	name, b := x.Name[0].GetString_().GetSval(), v.of(x.Rexpr)
	if x.Lexpr == nil {
		if name != "-" {
			return v.none()
		}
		return ends{"(- " + b.high + ")", "(- " + b.low + ")", b.whole}
	}
	a := v.of(x.Lexpr)
	both := a.whole && b.whole
	switch name {
	case "+":
		return ends{"(" + a.low + " + " + b.low + ")", "(" + a.high + " + " + b.high + ")", both}
	case "-":
		return ends{"(" + a.low + " - " + b.high + ")", "(" + a.high + " - " + b.low + ")", both}
	case "*":
		list := corners(a, "*", b)
		return ends{"least(" + list + ")", "greatest(" + list + ")", both}
	case "/":
		return v.quotient(a, b)
	}
	return v.none()
}

// quotient divides; the quotient of integers is cut off towards 0.
func (v *intervals) quotient(a, b ends) ends {
	v.guard("(" + b.low + " > " + nearZero + " OR " + b.high + " < -" + nearZero + ")")
	list := corners(a, "/", ends{low: "nullif(" + b.low + ", 0)", high: "nullif(" + b.high + ", 0)"})
	e := ends{"least(" + list + ")", "greatest(" + list + ")", a.whole && b.whole}
	if e.whole {
		return widened(e, "1")
	}
	return e
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
	return ends{"(" + e.low + " - " + by + ")", "(" + e.high + " + " + by + ")", e.whole}
}

// cast is that to a type of numbers, which may round.
func (v *intervals) cast(c *pg.TypeCast) ends {
	names, _ := stringsOf(c.TypeName.GetNames())
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
		if !e.whole {
			e = widened(e, "0.5")
		}
		e.whole = true
		return e
	}
	return v.none()
}

// rounded is a value that is rounded to so many digits, none for a whole number.
func (v *intervals) rounded(e ends, digits []*pg.Node) ends {
	places := 0
	if len(digits) > 0 {
		var ok bool
		if places, ok = position(digits[0]); !ok || places > maxDigits || len(digits) > 1 {
			return v.none()
		}
	}
	e.whole = false
	return widened(e, "0.5e"+strconv.Itoa(-places))
}

// function is one that grows with its argument.
func (v *intervals) function(f *pg.FuncCall) ends {
	schema, name := callee(f)
	if schema != "" && schema != "pg_catalog" || len(f.Args) == 0 || len(f.Args) > 1 && name != "round" {
		return v.none()
	}
	e := v.of(f.Args[0])
	e.whole = false
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
	return ends{name + "(" + e.low + ")", name + "(" + e.high + ")", false}
}
