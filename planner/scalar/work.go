package scalar

import (
	"math"
	"slices"
	"strings"
)

// What a call or a comparison adds to the weight of its operands.

func (env *Env) callWeight(e *call) int64 {
	n := added(env.readWeight(besideLong(e.args...)...), env.digitsWeight(e))
	switch {
	case e.fn.over == atZone:
		n = added(n, env.zoneWeight(e.args[0]))
	case e.fn.over == truncate && len(e.args) == 3:
		n = added(n, env.zoneWeight(e.args[2]))
	}
	switch rule := e.fn.over; rule {
	case nil:
		return n
	case trimOf:
		n = added(n, env.trimWeight(e.args[0], e.args[1]))
	case find, replace, splitPart:
		n = added(n, env.searchWeight(e.args[0], e.args[1]))
		fallthrough
	default:
		if rule.length != nil {
			n = added(n, int64(rule.length(env, e))/charsPerStep)
		}
	}
	return n
}

// zoneWeight is that of the first use of a time zone in a session, which reads a file.
func (env *Env) zoneWeight(zone Expr) int64 {
	const load = 1 << 11
	s, err := env.text(zone)
	if err != nil || s == nil || env.zones[*s] {
		return 0
	}
	if env.zones == nil {
		env.zones = map[string]bool{}
	}
	env.zones[*s] = true
	return load
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

// besideLong leaves out the columns whose weight is that of reading them.
func besideLong(list ...Expr) []Expr {
	return slices.DeleteFunc(slices.Clone(list), func(e Expr) bool {
		ref, plain := e.(*Ref)
		return plain && ref.Column.long()
	})
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

// trimWeight is that of comparing each character of a text with each of a set: any text can
// consist of those that stand last in it.
func (env *Env) trimWeight(x, set Expr) int64 {
	const compared = 16 // characters of the set in a step
	s, err := env.text(set)
	if err != nil || s == nil {
		return 0
	}
	return int64(env.textLength(x)) * int64(len(*s)) / compared
}

// likeWeight is that of reading a text for LIKE. Wildcards of one character can make a
// pattern nearly match at many places of any text.
func (env *Env) likeWeight(e *like) int64 {
	n := added(env.readWeight(besideLong(e.x)...), env.searchWeight(e.x, e.pattern))
	if strings.Contains(e.op, "*") { // lower() of both
		n = product(n, 6)
	}
	if s, err := env.text(e.pattern); err == nil && s != nil {
		n = added(n, int64(env.textLength(e.x))*int64(strings.Count(*s, "_"))/charsPerStep)
	}
	return n
}

// madeColumn is madeLength of a column of a derived table.
func (env *Env) madeColumn(c *Column) (n int) {
	if n, known := env.made[c]; known {
		return n
	}
	for _, e := range c.Of {
		if e.Type().Family() == TextFamily {
			n = max(n, env.madeLength(e))
		}
	}
	if env.made == nil {
		env.made = map[*Column]int{}
	}
	env.made[c] = n
	return n
}

// madeLength bounds the characters of a text that are not a column's own: a statement can
// make them all alike.
func (env *Env) madeLength(e Expr) (n int) {
	list := operands(e)
	switch e := e.(type) { //nolint:gochecksumtype // of the others, the longest operand
	case *Ref:
		if e.Column.Type.OID == oidBpchar && len(e.Column.Of) == 0 { // padded with blanks
			return env.textLength(e)
		}
		return env.madeColumn(e.Column)
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
		switch {
		case e.typ.OID == oidBpchar && e.typ.Mod >= 4: // padded with blanks
			return env.textLength(e)
		case e.x.Type().Family() != TextFamily:
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

// HashWeight is that of hashing a column that the statement has made, where rows of a unit
// are chosen, beside that of reading it.
func (env *Env) HashWeight(c *Column) int64 {
	const hashed = 8 // characters in a step
	if len(c.Of) == 0 || c.Type.Family() != TextFamily {
		return 0
	}
	return int64(env.madeLength(&Ref{Column: c})) / hashed
}

// comparisonWeight is that of comparing texts.
func (env *Env) comparisonWeight(e Expr) (n int64) {
	switch e := e.(type) { //nolint:gochecksumtype // those that compare
	case *comparison:
		if e.op == "=" || e.op == "<>" {
			return env.equalityWeight(e.left, e.right)
		}
		return env.orderWeight(e.left, e.right)
	case *distinct:
		return env.equalityWeight(e.left, e.right)
	case *nullIf:
		return env.equalityWeight(e.left, e.right)
	case *among:
		for _, x := range e.list {
			n = added(n, env.equalityWeight(e.x, x))
		}
	case *branches:
		for _, w := range e.whens {
			if e.x != nil {
				n = added(n, env.equalityWeight(e.x, w.cond))
			}
		}
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
	return n
}

// equalityWeight is that of reading both texts: unless one is a constant, whose length the
// other must have.
func (env *Env) equalityWeight(list ...Expr) int64 {
	if variable(list) < 2 {
		return 0
	}
	return env.readWeight(besideLong(list...)...)
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
