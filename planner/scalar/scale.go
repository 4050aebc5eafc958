package scalar

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
)

// Scale returns the largest number of decimals of the values of a number; ok is false if it is unknown.
func (env *Env) Scale(e Expr) (digits int, ok bool) {
	switch e.Type().Family() { //nolint:exhaustive // only numbers have decimals
	case pgtype.IntFamily:
		return 0, true
	case pgtype.NumericFamily:
	default:
		return 0, false
	}
	switch e := e.(type) { //nolint:gochecksumtype // nothing is known of the others
	case *Ref:
		return env.columnScale(e.Column)
	case *constant:
		return env.scale(e)
	case *call:
		return env.callScale(e)
	case *cast:
		if d := e.typ.Scale(); d >= 0 {
			return d, true
		}
		return env.Scale(e.x)
	case *choice:
		return env.largestScale(e.results)
	case *bounded:
		return env.Scale(e.x)
	case *aggregate:
		if e.x != nil && e.name != "avg" {
			return env.Scale(e.x)
		}
	}
	return 0, false
}

func (env *Env) largestScale(list []Expr) (digits int, ok bool) {
	for _, e := range list {
		d, known := env.Scale(e)
		if !known {
			return 0, false
		}
		digits = max(digits, d)
	}
	return digits, true
}

func (env *Env) columnScale(c *Column) (digits int, ok bool) {
	c = c.Base()
	if len(c.Of) > 0 {
		return env.largestScale(c.Of)
	}
	digits = c.Type.Scale()
	return max(digits, 0), digits >= 0
}

// Step returns the declared step of a column; nil if it has none, or if e is not a plain column.
func Step(e Expr) *big.Rat {
	if ref, ok := e.(*Ref); ok {
		return ref.Column.Base().Step
	}
	return nil
}

// Magnitude returns the largest number of digits before the decimal point for values of a column of a table, by its type alone; ok is false
// if the type does not bound it. The values can include NaN, but not infinities.
func Magnitude(e Expr) (digits int, ok bool) {
	ref, ok := e.(*Ref)
	if !ok || e.Type().Family() != pgtype.NumericFamily {
		return 0, false
	}
	c := ref.Column.Base()
	if c.derived() || c.Type.Scale() < 0 || c.Type.RoundsWhole() {
		return 0, false
	}
	return max(c.Type.Precision()-c.Type.Scale(), 0), true
}

// callScale derives the scale of a result as Postgres does.
func (env *Env) callScale(c *call) (digits int, ok bool) {
	switch c.fn.name {
	case "+", "-", "%", "mod", "abs":
		return env.largestScale(c.args)
	case "*":
		left, known := env.Scale(c.args[0])
		right, also := env.Scale(c.args[1])
		return left + right, known && also
	case "floor", "ceil", "ceiling", "div", "sign":
		return 0, true
	case "round", "trunc":
		if len(c.args) == 1 {
			return 0, true
		}
		in := env.Bounds(c.args[1])
		if in.Constant() && in.Low.IsInt() && in.Low.Num().IsInt64() {
			return int(max(in.Low.Num().Int64(), 0)), true
		}
	case "extract":
		field, err := env.text(c.args[0])
		switch {
		case err != nil:
			return 0, false
		case field == nil || slices.Contains(wholeFields, strings.ToLower(*field)):
			return 0, true
		}
		return 6, true
	}
	return 0, false
}

// wholeFields are the fields of extract whose values are whole numbers.
var wholeFields = []string{
	"century", "day", "decade", "dow", "doy", "hour", "isodow", "isoyear", "millennium", "minute", "month", "quarter", "week", "year",
}
