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
		n = added(n, env.searchWeight(e.args[0], env.octets(e.args[1])))
		fallthrough
	default:
		if rule.length != nil {
			n = added(n, int64(rule.length(env, e, octets))/octetsPerStep)
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
			n = added(n, int64(env.textLength(e, octets))/octetsPerStep)
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

// searchWeight is that of looking for so many octets in a text. Any text can be like itself, so
// that they nearly occur at every place of it. Postgres 15 takes 5 ns for a place and 1.2 ns for
// each octet of LIKE that it compares there, 3 and 0.5 of strpos: measured with repeat('a', 65536)
// and one letter a, or 1 to 250 of them, before a b that is nowhere.
func (env *Env) searchWeight(x Expr, sought int) int64 {
	const (
		place    = 4   // octets that take as long to compare
		compared = 240 // octets in a step
	)
	if sought == 0 {
		return 0
	}
	return int64(env.textLength(x, characters)) * int64(sought+place) / compared
}

// octets counts those of a constant text.
func (env *Env) octets(e Expr) int {
	s, err := env.text(e)
	if err != nil || s == nil {
		return 0
	}
	return len(*s)
}

// trimWeight is that of comparing each character of a text with each of a set: any text can
// consist of those that stand last in it.
func (env *Env) trimWeight(x, set Expr) int64 {
	const compared = 16 // characters of the set in a step
	return int64(env.textLength(x, characters)) * int64(env.octets(set)) / compared
}

// likeWeight is that of reading a text for LIKE, and of looking in it for what stands behind
// the first wildcard for any text. Those for one character take longest.
func (env *Env) likeWeight(e *like) int64 {
	const lowered = 6 // reads that lower() takes as long as, of a text that is not long
	n := env.readWeight(besideLong(e.x)...)
	if strings.Contains(e.op, "*") {
		n = added(product(n, lowered-1), env.readWeight(e.x))
	}
	s, err := env.text(e.pattern)
	if err != nil || s == nil {
		return n
	}
	if i := strings.Index(*s, "%"); i >= 0 && i < len(*s)-1 {
		n = added(n, env.searchWeight(e.x, len(strings.ReplaceAll(*s, "%", ""))))
	}
	return added(n, int64(env.textLength(e.x, characters))*int64(strings.Count(*s, "_"))/octetsPerStep)
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

// madeLength bounds the octets of a text that are not a column's own.
func (env *Env) madeLength(e Expr) (n int) {
	list := operands(e)
	switch e := e.(type) { //nolint:gochecksumtype // of the others, the longest operand
	case *Ref:
		if e.Column.Type.OID == oidBpchar && len(e.Column.Of) == 0 { // padded with blanks
			return env.textLength(e, octets)
		}
		return env.madeColumn(e.Column)
	case *constant:
		return env.textLength(e, octets)
	case *call:
		switch e.fn.over {
		case replace:
			return env.textLength(e, octets)
		case concatenate:
			for _, a := range e.args {
				n += env.madeLength(a)
			}
			return n
		}
		if len(list) > 0 {
			return min(env.madeLength(list[0]), env.textLength(e, octets))
		}
	case *cast:
		switch {
		case e.typ.OID == oidBpchar && e.typ.Mod >= 4: // padded with blanks
			return env.textLength(e, octets)
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
	const hashed = 8 // octets in a step
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
