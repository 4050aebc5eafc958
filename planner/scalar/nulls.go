package scalar

import (
	"slices"

	"dpproxy/planner/pgtype"
)

// mayBeNull reports whether an expression may be NULL. A test may only if something that it tests may.
func mayBeNull(env *Env, e Expr) bool {
	may := func(x Expr) bool { return mayBeNull(env, x) }
	switch e := e.(type) { //nolint:gochecksumtype // the intervals of the others decide
	case *Ref:
		return env.interval(e).Null && (e.Column.Outer || len(e.Column.Of) == 0 || slices.ContainsFunc(e.Column.Of, may))
	case *logic:
		return slices.ContainsFunc(e.args, may)
	case *call:
		if e.fn.tests() && e.fn.over != ofArray || e.fn.over == likeness {
			return env.interval(e).Null && slices.ContainsFunc(e.args, may)
		}
	case *aggregate:
		if e.filter == nil && e.over == nil && e.typ.OID == pgtype.Bool && e.x != nil {
			return may(e.x)
		}
	case *cast:
		if e.typ.Family() == pgtype.TextFamily || e.x.Type().Family() == pgtype.BoolFamily {
			return may(e.x)
		}
	case *choice:
		switch e.kind {
		case caseWhen:
			return slices.ContainsFunc(e.results, may)
		case coalesce, greatest, least:
			return !slices.ContainsFunc(e.results, func(x Expr) bool { return !may(x) })
		case nullIf:
		}
	}
	return env.interval(e).Null
}
