package planner

import (
	"dpproxy/fold"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// columnOf says how package fold distinguishes values of a type. It returns the zero Column for types whose values cannot be distinguished
// by their bytes, neither as units nor as values.
func columnOf(t pgtype.Type) fold.Column {
	if !t.Deterministic {
		return fold.Column{}
	}
	switch t.Family() {
	case pgtype.BoolFamily, pgtype.IntFamily, pgtype.UUIDFamily, pgtype.DateFamily, pgtype.InstantFamily, pgtype.TimeFamily:
		return fold.Column{Kind: fold.Plain}
	case pgtype.NumericFamily:
		return fold.Column{Kind: fold.Numeric}
	case pgtype.FloatFamily:
		return fold.Column{Kind: fold.Float}
	case pgtype.EnumFamily:
		return fold.Column{Kind: fold.Text}
	case pgtype.TextFamily:
		kind := fold.Text
		if t.OID == pgtype.Bpchar {
			kind = fold.Padded
		}
		return fold.Column{Kind: kind, Hashed: scalar.Hashed(t)}
	case pgtype.IntervalFamily:
		return fold.Column{Kind: fold.Interval}
	case pgtype.NoFamily:
	}
	return fold.Column{}
}
