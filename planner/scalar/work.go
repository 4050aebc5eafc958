package scalar

import (
	"math"
	"strings"
)

// What a call or a comparison adds to the weight of its operands.

func (env *Env) callWeight(e *call) int64 {
	n := added(env.readWeight(e.args...), env.digitsWeight(e))
	switch rule := e.fn.over; rule {
	case nil:
		return n
	case find, replace, splitPart, trimOf:
		n = added(n, env.searchWeight(e.args[0], e.args[1]))
		fallthrough
	default:
		if rule.length != nil {
			n = added(n, int64(rule.length(env, e))/charsPerStep)
		}
	}
	return n
}

// readWeight is that of reading texts from end to end, which functions, LIKE and an order by a
// collation do, whatever they make of them.
func (env *Env) readWeight(list ...Expr) (n int64) {
	for _, e := range list {
		if _, constant := e.(*constant); !constant && e.Type().Family() == TextFamily {
			n = added(n, int64(env.textLength(e))/charsPerStep)
		}
	}
	return n
}

// searchWeight is that of looking for a constant in a text that the statement has made so
// that it nearly occurs at every place.
func (env *Env) searchWeight(x, sought Expr) int64 {
	s, err := env.text(sought)
	if err != nil || s == nil {
		return 0
	}
	return int64(env.madeLength(x)) * int64(len(*s)) / charsPerStep
}

// likeWeight is that of reading a text for LIKE. Wildcards of one character can make a
// pattern nearly match at many places of any text.
func (env *Env) likeWeight(e *like) int64 {
	n := added(env.readWeight(e.x), env.searchWeight(e.x, e.pattern))
	if s, err := env.text(e.pattern); err == nil && s != nil {
		n = added(n, int64(env.textLength(e.x))*int64(strings.Count(*s, "_"))/charsPerStep)
	}
	return n
}

// madeLength bounds the characters of a text that are not a column's own: a statement can
// make them all alike.
func (env *Env) madeLength(e Expr) (n int) {
	list := operands(e)
	switch e := e.(type) { //nolint:gochecksumtype // of the others, the longest operand
	case *Ref:
		list = e.Column.Of
	case *constant:
		return env.textLength(e)
	case *call:
		switch e.fn.over {
		case replace:
			return env.textLength(e)
		case concatenate:
			for _, a := range e.args {
				n += env.madeLength(a)
			}
			return n
		}
		if len(list) > 0 {
			return min(env.madeLength(list[0]), env.textLength(e))
		}
	case *cast:
		if e.x.Type().Family() != TextFamily {
			return 0 // no text of a number or a date is long and even
		}
	}
	for _, o := range list {
		if o.Type().Family() == TextFamily {
			n = max(n, env.madeLength(o))
		}
	}
	return n
}

// comparisonWeight is that of comparing texts.
func (env *Env) comparisonWeight(e Expr) int64 {
	switch e := e.(type) { //nolint:gochecksumtype // those that compare
	case *comparison:
		if e.op == "=" || e.op == "<>" {
			return env.equalityWeight(e.left, e.right)
		}
		return env.orderWeight(e.left, e.right)
	case *distinct:
		return env.equalityWeight(e.left, e.right)
	case *between:
		return added(env.orderWeight(e.x, e.low), env.orderWeight(e.x, e.high))
	case *choice:
		if !strings.EqualFold(e.kind, "coalesce") {
			return env.orderWeight(e.args...)
		}
	case *anyOf:
		if array, constant := e.array.(*constant); constant && e.op != "=" && e.op != "<>" {
			return product(env.orderWeight(e.x), env.elements(array))
		}
	}
	return 0
}

// equalityWeight is that of reading both texts: unless one is a constant, whose length the
// other must have.
func (env *Env) equalityWeight(list ...Expr) int64 {
	if variable(list) < 2 {
		return 0
	}
	return env.readWeight(list...)
}

// orderWeight is that of reading texts as far as they are alike. Beside a constant that is
// no longer than the constant; but the whole text is copied.
func (env *Env) orderWeight(list ...Expr) int64 {
	const copies = 32 // characters that are copied while one is compared
	n := env.readWeight(list...)
	if variable(list) < 2 {
		n /= copies
	}
	return n
}

// variable counts what is no constant.
func variable(list []Expr) (n int) {
	for _, e := range list {
		if _, constant := e.(*constant); !constant {
			n++
		}
	}
	return n
}

// digitsWeight is that of arithmetic on long numerics: it takes the square of their digits.
func (env *Env) digitsWeight(e *call) int64 {
	const digitsPerStep = 32
	longest := 0
	for _, o := range append([]Expr{e}, e.args...) {
		if !o.Type().number() || o.Type().float() {
			continue
		}
		if i := env.interval(o); i.finite() {
			longest = max(longest, len(i.magnitude().FloatString(0))+decimals(i.Least))
		}
	}
	return int64(longest/digitsPerStep) * int64(longest/digitsPerStep)
}

// product is that of numbers that are not negative, or the largest number.
func product(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
