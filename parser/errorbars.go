package parser

import (
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// Bars are what formulas tell of the error of an expression, as SQL of each side; "" where it is not known.
type bars struct {
	low, high, deviation, half string
	whole                      bool // it is a count
	composed                   bool // they are of arithmetic, and wider than the error can be
	text                       bool // the half is a text of a number
}

func (b bars) unknown() bool { return b.half == "" }

// side is one of them.
func (b bars) side(s Side) string {
	return [...]string{Low: b.low, High: b.high, Deviation: b.deviation, Half: b.half, Said: b.half}[s]
}

// set makes a side a name. The side that is said is a text of a number.
func (b *bars) set(s Side, name string) {
	*[...]*string{Low: &b.low, High: &b.high, Deviation: &b.deviation, Half: &b.half, Said: &b.half}[s] = name
	b.text = b.text || s == Said
}

// within names the sides by a relation that has columns of these names.
func (b bars) within(alias string) bars {
	for _, text := range []*string{&b.low, &b.high, &b.deviation, &b.half} {
		if *text == "" {
			continue
		}
		if *text = alias + *text; b.text {
			*text = "CAST(" + *text + " AS float8)"
		}
	}
	b.text = false
	return b
}

// barsOf are those of an expression.
func (w *errorColumns) barsOf(n *pg.Node) bars {
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		fields, _ := pgtree.Strings(x.ColumnRef.GetFields())
		i := slices.IndexFunc(w.inner, func(c errorColumn) bool { return len(fields) > 0 && c.of == fields[len(fields)-1] })
		if i >= 0 {
			return w.inner[i].bars
		}
	case *pg.Node_FuncCall:
		if pgtree.IsAggregate(n) && !pgtree.IsReport(x.FuncCall) && w.inner == nil {
			return w.ofAggregate(n)
		}
		if _, name := pgtree.Callee(x.FuncCall); name == "round" && len(x.FuncCall.Args) > 0 {
			return w.rounded(n, x.FuncCall.Args[0], x.FuncCall.Args[1:])
		}
	case *pg.Node_TypeCast:
		return w.cast(n, x.TypeCast)
	case *pg.Node_CoalesceExpr:
		args := x.CoalesceExpr.Args
		if !slices.ContainsFunc(args[1:], func(n *pg.Node) bool { return n.GetAConst() == nil }) {
			return w.barsOf(args[0])
		}
	}
	return bars{}
}

// ofAggregate are those that dpproxy states.
func (w *errorColumns) ofAggregate(n *pg.Node) (b bars) {
	s, ok := w.l.span(n)
	if !ok {
		return b
	}
	call := w.l.text[s.Start:s.End]
	_, name := pgtree.Callee(pgtree.Unweighed(n).GetFuncCall())
	b.half, b.whole = "dp.error("+call+")", whole(n)
	if whole(n) || name == "sum" || slices.Contains(averaging, name) { // others may be of dates, and have no ends then
		b.low, b.high, b.deviation = "dp.lower("+call+")", "dp.upper("+call+")", "dp.stderr("+call+")"
	}
	return b
}

// cast are those of a number that is cast to another type of numbers.
func (w *errorColumns) cast(n *pg.Node, c *pg.TypeCast) bars {
	names, _ := pgtree.Strings(c.TypeName.GetNames())
	if len(names) == 0 || len(c.TypeName.ArrayBounds) > 0 {
		return bars{}
	}
	switch names[len(names)-1] {
	case "float8":
		return w.barsOf(c.Arg)
	case "numeric":
		if mods := c.TypeName.Typmods; len(mods) > 0 {
			return w.rounded(n, c.Arg, mods[1:])
		}
		return w.barsOf(c.Arg)
	case "int2", "int4", "int8":
		return w.rounded(n, c.Arg, nil)
	}
	return bars{}
}

// maxDigits bounds the digits that a value is rounded to.
const maxDigits = 30

// rounded are those of an expression that rounds a number to so many digits, none for a whole number: they are about the rounded value, and
// wider by half of the last digit. Deviations of noise stay.
func (w *errorColumns) rounded(n, number *pg.Node, digits []*pg.Node) bars {
	places := 0
	if len(digits) > 0 {
		var ok bool
		if places, ok = pgtree.Position(digits[0]); !ok || max(places, -places) > maxDigits || len(digits) > 1 {
			return bars{}
		}
	}
	b := w.barsOf(number)
	if b.unknown() || b.whole && places >= 0 {
		return b
	}
	half := "0.5e" + strconv.Itoa(-places)
	after, ok := w.l.span(n)
	before, found := w.l.span(number)
	moved := "CAST(" + w.l.text[after.Start:after.End] + " AS float8) - CAST(" + w.l.text[before.Start:before.End] + " AS float8)"
	for _, end := range []struct {
		of   *string
		sign string
	}{{&b.low, " - "}, {&b.high, " + "}} {
		if *end.of != "" && ok && found {
			*end.of += " + " + moved + end.sign + half
		}
	}
	b.half += " + " + half
	return b
}
