package scalar

import "dpproxy/planner/pgtype"

// unestimated writes an operand such that Postgres has no statistics of it. When it plans a read it would compare values of the table,
// among them a person's value, with constants, or match a pattern against them: before the charge, and for a time that depends on these
// values. Postgres has statistics of columns, and of expressions with an index or extended statistics. Constant conditions and NULL
// disappear before it consults them.
func unestimated(e Expr, f fragment) fragment {
	switch ref := relabelled(e); {
	case ref != nil && (ref.Column.long() || ref.Column.Reach != Whole): // written as a CASE on its length
	case variable([]Expr{e}) == 0, !unwieldy(e.Type()):
	default:
		f.sql = "GREATEST(" + f.sql + ")"
	}
	return f
}

// unwieldy reports whether values of the type can take long to compare for order.
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
