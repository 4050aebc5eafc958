package scalar

import (
	"slices"

	"dpproxy/planner/pgtype"
)

// A released result that is not known yet is a constant whose value will be another one. Conditions over it decide nothing: none of them is
// constant, bounds a column, or leaves a group out. Arithmetic needs bounds: there the constant stands for any value. When the result is
// known, the statement is planned anew, before it is charged.

// holdsUnknown reports whether such a result is in an expression for the mirror.
func holdsUnknown(e Expr) bool {
	t, ok := e.(*term)
	return ok && t.unknown || slices.ContainsFunc(operands(e), holdsUnknown)
}

// unsettled reports whether such a result is in an expression, or in what its columns are computed of.
func (values Values) unsettled(e Expr) bool {
	switch e := e.(type) { //nolint:gochecksumtype // the others have them in their operands
	case *constant:
		return e.fold < len(values) && values[e.fold].Unknown
	case *Ref:
		return e.Column.List != nil && values.unsettled(e.Column.List) || slices.ContainsFunc(e.Column.Of, values.unsettled)
	}
	return slices.ContainsFunc(operands(e), values.unsettled)
}

// standIn is the value that stands for any: NULL of types whose values are only compared.
func standIn(t pgtype.Type) datum {
	switch {
	case t.Array:
	case t.Number(), t.OID == pgtype.Bool:
		return whole(1)
	case t.Dated():
		return whole(0)
	case t.Family() == pgtype.TextFamily:
		return datum{text: "x"}
	}
	return datum{null: true}
}
