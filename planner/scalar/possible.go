package scalar

import (
	"cmp"
	"math/big"
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// possible removes values of an expression that no row has for which all conditions are true: values for which some condition on the
// expression cannot be true, whatever else the row contains. Remaining values may be impossible too.
func possible(env *Env, e Expr, texts []string, where []Expr) []string {
	alike := standsFor(e)
	var about []Expr
	size := 0
	for _, cond := range where {
		for _, c := range Conjuncts(cond) {
			if mentions(c, alike) && !unsettledBeside(env, c, alike) {
				about = append(about, c)
				size += nodes(c)
			}
		}
	}
	if len(about) == 0 || size*len(texts) > maxTried {
		return texts
	}
	arrays := map[int]map[string]bool{}
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
		t, ok := newTrial(env, alike, text)
		if !ok {
			return false
		}
		t.arrays = arrays
		return slices.ContainsFunc(about, func(c Expr) bool { return !t.could(c, true) })
	})
}

// unsettledBeside reports whether a released result that is not known is in a condition, apart from expressions whose value is assumed.
func unsettledBeside(env *Env, e Expr, assumed []Expr) bool {
	if slices.ContainsFunc(assumed, func(x Expr) bool { return Equal(x, e) }) {
		return false
	}
	if len(operands(e)) == 0 {
		return env.Unsettled(e)
	}
	return slices.ContainsFunc(operands(e), func(o Expr) bool { return unsettledBeside(env, o, assumed) })
}

// maxTried bounds the number of nodes of conditions that are evaluated, over all values. If there would be more, no value is removed.
const maxTried = 1 << 20

// nodes returns the number of nodes of an expression.
func nodes(e Expr) int {
	n := 1
	for _, o := range operands(e) {
		n += nodes(o)
	}
	return n
}

// standsFor returns an expression and the expressions below derived tables that have the same value.
func standsFor(e Expr) []Expr {
	alike := []Expr{e}
	for {
		ref, ok := e.(*Ref)
		if !ok || ref.Column.Outer || len(ref.Column.Of) != 1 {
			return alike
		}
		e = ref.Column.Of[0]
		alike = append(alike, e)
	}
}

func mentions(e Expr, alike []Expr) bool {
	among := func(x Expr) bool { return mentions(x, alike) }
	return slices.ContainsFunc(alike, func(x Expr) bool { return Equal(x, e) }) || slices.ContainsFunc(operands(e), among)
}

// A trial asks whether conditions can be true of a row in which some expressions have a given value.
type trial struct {
	env    *Env // in which the expressions have the value
	alike  []Expr
	text   *string                 // the value, if it is a text
	arrays map[int]map[string]bool // the elements of constant arrays, by fold
}

// newTrial assumes a value, given by its canonical text.
func newTrial(env *Env, alike []Expr, text string) (t *trial, ok bool) {
	typ := alike[0].Type()
	t = &trial{alike: alike}
	var i Interval
	switch {
	case typ.Family() == pgtype.BoolFamily:
		i = span(0, 0)
		if text == "true" {
			i = span(1, 1)
		}
	case typ.Whole() || typ.Decimal():
		x, read := new(big.Rat).SetString(text)
		i, ok = Interval{Low: x, High: x}, read
	case typ.Dated() && !typ.Zoned():
		x, read := Instant(text)
		if read && typ.OID == pgtype.Date {
			x = x.Quo(x, rat(pgtype.MicrosPerDay))
		}
		i, ok = Interval{Low: x, High: x}, read
	case plainText(typ):
		t.text, ok = &text, true
	}
	t.env = env.inner(&narrowing{constants: env})
	for _, e := range alike {
		t.env.given = append(t.env.given, given{e, i})
	}
	return t, ok || typ.Family() == pgtype.BoolFamily
}

// plainText reports whether two texts of the type are equal if and only if their bytes are.
func plainText(t pgtype.Type) bool {
	return !t.Array && (t.OID == pgtype.Text || t.OID == pgtype.Varchar) && t.Deterministic
}

// samePlainText strips casts between text types that do not change the text.
func samePlainText(e Expr) Expr {
	for {
		c, cast := e.(*cast)
		if !cast || c.typ.Mod >= 0 || !plainText(c.typ) || !plainText(c.x.Type()) {
			return e
		}
		e = c.x
	}
}

// could reports whether a condition can have the truth value want.
func (t *trial) could(e Expr, want bool) bool {
	if i := t.env.interval(e); i.Constant() {
		return (i.Low.Sign() != 0) == want
	}
	switch e := e.(type) { //nolint:gochecksumtype // nothing is known of the others
	case *logic:
		can := func(x Expr) bool { return t.could(x, want) }
		switch {
		case e.kind == ast.Not:
			return t.could(e.args[0], !want)
		case (e.kind == ast.And) == want:
			return !slices.ContainsFunc(e.args, func(x Expr) bool { return !can(x) })
		}
		return slices.ContainsFunc(e.args, can)
	case *call:
		return t.test(e, want)
	}
	return true
}

// test is could for a test.
func (t *trial) test(c *call, want bool) bool {
	switch c.fn.over {
	case comparison:
		return t.compared(c.fn.name, c.args[0], c.args[1], want)
	case inList:
		return t.among(c, (c.fn.name == wordIn) == want)
	case inRange:
		return t.between(c, want)
	case ofArray:
		return t.element(c, want)
	case nullTest:
		return (c.fn.name == isNotNull) == want || t.env.interval(c.args[0]).Null
	}
	return true
}

// among reports whether a value can be in a list, or different from all of it.
func (t *trial) among(c *call, in bool) bool {
	equal := func(x Expr) bool { return t.compared("=", c.args[0], x, in) }
	if in {
		return slices.ContainsFunc(c.args[1:], equal)
	}
	return !slices.ContainsFunc(c.args[1:], func(x Expr) bool { return !equal(x) })
}

func (t *trial) between(c *call, want bool) bool {
	x, low, high := c.args[0], c.args[1], c.args[2]
	switch {
	case c.fn.name == negated(true, wordBetween):
		want = !want
	case c.fn.name != wordBetween:
		return true
	}
	above, below := t.compared(">=", x, low, want), t.compared("<=", x, high, want)
	if want {
		return above && below
	}
	return above || below
}

// denied maps a comparison to its negation.
var denied = map[string]string{"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// compared is could for a comparison.
func (t *trial) compared(op string, a, b Expr, want bool) bool {
	if !want {
		op = denied[op]
	}
	i, j := t.env.interval(a), t.env.interval(b)
	if i.empty || j.empty { // NULL
		return false
	}
	x, y := a.Type(), b.Type()
	switch {
	case x.Number() && y.Number(), x.Dated() && y.Dated() && x.Zoned() == y.Zoned():
		if order, infinite := beyondAll(t.env, i, b); infinite {
			return decides(op, order)
		}
		if order, infinite := beyondAll(t.env, j, a); infinite {
			return decides(op, -order)
		}
		return i.could(op, inUnits(j, y, x))
	case op != "=" && op != "<>":
		return true
	}
	v, ok := t.textOf(a)
	w, also := t.textOf(b)
	return !ok || !also || (v == w) == (op == "=")
}

// beyondAll compares the values of an interval with a constant that is beyond all finite values: infinity, or NaN, which is the largest.
func beyondAll(env *Env, i Interval, e Expr) (order int, infinite bool) {
	c, ok := e.(*constant)
	if !ok || !i.Bounded() {
		return 0, false
	}
	p, null, ok := pointOf(env, c)
	return cmp.Compare(finite, p.class), ok && !null && p.class != finite
}

// decides reports whether a comparison is true of values in an order.
func decides(op string, order int) bool {
	switch op {
	case "<", "<=":
		return order < 0
	case ">", ">=":
		return order > 0
	}
	return (order == 0) == (op == "=")
}

// could reports whether some values of two intervals satisfy a comparison.
func (i Interval) could(op string, j Interval) bool {
	reaches := func(low, high *big.Rat, most int) bool { return low == nil || high == nil || low.Cmp(high) <= most }
	switch op {
	case "<":
		return reaches(i.Low, j.High, -1)
	case "<=":
		return reaches(i.Low, j.High, 0)
	case ">":
		return reaches(j.Low, i.High, -1)
	case ">=":
		return reaches(j.Low, i.High, 0)
	case "=":
		return reaches(i.Low, j.High, 0) && reaches(j.Low, i.High, 0)
	}
	return !i.Constant() || !j.Constant() || i.Low.Cmp(j.Low) != 0
}

// textOf returns the value of a text if it is known.
func (t *trial) textOf(e Expr) (text string, ok bool) {
	e = samePlainText(e)
	if !plainText(e.Type()) {
		return "", false
	}
	if c, constant := e.(*constant); constant {
		d, err := t.env.datum(c)
		return d.text, err == nil && !d.null
	}
	if t.text == nil || !slices.ContainsFunc(t.alike, func(x Expr) bool { return Equal(x, e) }) {
		return "", false
	}
	return *t.text, true
}

// element is could for a test against the elements of an array of numbers or texts.
func (t *trial) element(c *call, want bool) bool {
	array, constant := c.args[1].(*constant)
	value, ok := t.known(c.args[0])
	if !constant || !ok || c.fn.name != "= ANY" && c.fn.name != "<> ALL" {
		return true
	}
	set, known := t.arrays[array.fold]
	if !known {
		set = elementsOf(t.env, array)
		t.arrays[array.fold] = set
	}
	return set == nil || set[value] == ((c.fn.name == "= ANY") == want)
}

// known returns the value of a number or a text if it is unique, written as in elementsOf.
func (t *trial) known(e Expr) (value string, ok bool) {
	if plainText(e.Type()) {
		return t.textOf(e)
	}
	i := t.env.interval(e)
	if !i.Constant() || !e.Type().Number() {
		return "", false
	}
	return i.Low.RatString(), true
}

// elementsOf returns the numbers or texts in a constant array, NULL aside; nil if an element cannot be read.
func elementsOf(env *Env, array *constant) map[string]bool {
	element := array.typ.Element()
	items, ok := env.items(array)
	if !ok || !element.Number() && !plainText(element) {
		return nil
	}
	set := map[string]bool{}
	for _, b := range items {
		if b == nil {
			continue
		}
		if err := (Value{Binary: true, Bytes: b}).tooLong(&constant{node: node{typ: element, at: array.at}}); err != nil {
			return nil
		}
		d, known := decodeBinary(element.OID, b)
		switch {
		case known && plainText(element):
			set[d.text] = true
		case known && d.number != nil:
			set[d.number.RatString()] = true
		default:
			return nil
		}
	}
	return set
}
