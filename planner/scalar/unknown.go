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

// unsettled reports whether such a result is in an expression, or in what its columns are computed of: its constants say so by their folds.
func unsettled(e Expr, unknown func(fold int) bool) bool {
	below := func(x Expr) bool { return unsettled(x, unknown) }
	switch e := e.(type) { //nolint:gochecksumtype // the others have it in their operands
	case *constant:
		return unknown(e.fold)
	case *Ref:
		return e.Column.List != nil && below(e.Column.List) || slices.ContainsFunc(e.Column.Of, below)
	}
	return slices.ContainsFunc(operands(e), below)
}

// Unsettled reports whether a released result that is not known is in an expression: its bounds are then those of another value.
func (values Values) Unsettled(e Expr) bool {
	return slices.ContainsFunc(values, func(v Value) bool { return v.Unknown }) &&
		unsettled(e, func(fold int) bool { return fold < len(values) && values[fold].Unknown })
}

// Unknown reports whether an expression is computed from a released result that is not known yet.
func (c *Constants) Unknown(e Expr) bool {
	return unsettled(e, func(fold int) bool { return c.folds[fold].Unknown })
}

func (in Inlined) unsettled(e Expr) bool {
	return slices.ContainsFunc(in.folds, func(f Fold) bool { return f.Unknown }) &&
		unsettled(e, func(fold int) bool { return in.folds[fold].Unknown })
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
