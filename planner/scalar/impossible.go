package scalar

import (
	"slices"
)

// Impossible reports whether no row can meet all conditions, whatever its values are. It trusts types, NOT NULL, CHECK constraints and
// constants. Unless constraints prove it, a value may be beyond its bounds, and among none of its values.
func Impossible(env *Env, where []Expr) bool {
	if slices.ContainsFunc(where, env.Never) {
		return true
	}
	var parts []Expr
	var columns []*Column
	for _, e := range where {
		for _, part := range Conjuncts(e) {
			if OfOneRow(part) && !env.Unsettled(part) && len(part.Columns()) > 0 && len(BoundedIn(part)) == 0 {
				parts, columns = append(parts, part), append(columns, Bases(part)...)
			}
		}
	}
	proved := func(c *Column) bool {
		return (c.Values == nil || c.Only) && (c.Bounds == nil || c.Within) && c.Extent == nil
	}
	free := undeclared(env, slices.DeleteFunc(columns, proved)...)
	arrays := map[int]map[string]bool{}
	alone, together := &trial{env: free, arrays: arrays}, &trial{env: free.inner(free.narrowing(parts, false)), arrays: arrays}
	return slices.ContainsFunc(parts, func(part Expr) bool {
		return !alone.could(part, true) || !together.could(part, true) || denies(free, part, parts)
	})
}

// denies reports whether a condition gives an expression one of some constants, and each of these contradicts another condition.
func denies(env *Env, e Expr, where []Expr) bool {
	c, ok := e.(*call)
	if !ok || !c.equatesOne() || !allConstant(c.args[1:]) {
		return false
	}
	x := samePlainText(c.args[0])
	if t := x.Type(); !plainText(t) && !t.Whole() {
		return false
	}
	texts := named(env, x.Type(), e)
	return len(texts) > 0 && len(possible(env, x, texts, where)) == 0
}

// equatesOne reports whether a test is true only if its first operand is one of the others.
func (c *call) equatesOne() bool {
	switch c.fn.over {
	case comparison:
		return c.fn.name == "="
	case inList:
		return c.fn.name == wordIn
	case ofArray:
		return c.fn.name == "= ANY"
	}
	return false
}
