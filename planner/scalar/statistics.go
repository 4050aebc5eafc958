package scalar

import "dpproxy/planner/pgtype"

// unestimated writes an operand so that Postgres knows no statistics of it. Where it plans a read,
// it would compare values of the table, one person's among them, with constants, or try a pattern
// on them: before the charge, and for as long as those values are. It knows statistics of columns,
// and of expressions that have an index or statistics of their own; and constant conditions and
// NULLs fall away before it looks.
func unestimated(e Expr, f fragment) fragment {
	switch ref := relabelled(e); {
	case ref != nil && (ref.Column.long() || ref.Column.Reach != Whole): // written as a CASE on its length
	case variable([]Expr{e}) == 0, !unwieldy(e.Type()):
	default:
		f.sql = "GREATEST(" + f.sql + ")"
	}
	return f
}

// unwieldy reports whether values of the type can take long to compare by order.
func unwieldy(t pgtype.Type) bool {
	const brief = 64 // digits
	switch {
	case t.Family() == pgtype.TextFamily:
		return true
	case t.Decimal():
		return t.Precision() < 0 || t.Precision() > brief || t.Scale() > brief
	}
	return false
}
