package scalar

import (
	"slices"

	"dpproxy/planner/pgtype"
)

// Unclamped reports whether an expression has no value beyond its bounds that would be clamped: it is computed by arithmetic from
// constants, and from choices among them. Examples are the 1 or 0 of a share, and the difference of two of these.
func Unclamped(e Expr) bool {
	switch e := e.(type) { //nolint:gochecksumtype // nothing is known of the others
	case *constant:
		return true
	case *Ref:
		return len(e.Column.Of) > 0 && !slices.ContainsFunc(e.Column.Of, broughtIn)
	case *cast:
		return e.x.Type().Family() == pgtype.BoolFamily || Unclamped(e.x)
	case *choice:
		return !slices.ContainsFunc(e.results, broughtIn)
	case *call:
		return slices.Contains([]string{"+", "-", "*", "abs", "sign"}, e.fn.name) && !slices.ContainsFunc(e.args, broughtIn)
	case *aggregate:
		return (e.picks() || slices.Contains([]string{"min", "max"}, e.name)) && e.x != nil && Unclamped(e.x)
	}
	return false
}

func broughtIn(e Expr) bool { return !Unclamped(e) }

// NullLimit reports whether an expression has LEAST or GREATEST of a constant that is NULL, which limits nothing.
func NullLimit(env *Env, e Expr) (has bool) {
	eachBelow(e, func(x Expr) {
		c, ok := x.(*choice)
		if ok && (c.kind == least || c.kind == greatest) {
			has = has || slices.ContainsFunc(c.results, env.null)
		}
	})
	return has
}
