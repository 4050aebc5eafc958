package policy

import (
	"math/big"
	"slices"
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/planner/constraint"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// ordered gives a table the bounds that CHECK constraints imply of differences: CHECK (gone >= day) says that gone - day is not below zero,
// though the bounds of both columns alone would have it as far below as above. They are what values are brought into, as declared bounds
// are, which come first.
func ordered(t *Table) {
	for _, o := range constraint.Orders(t.Source) {
		d := t.difference(o)
		is := func(other *scalar.Bounded) bool { return d.Is(other) }
		if d != nil && !slices.ContainsFunc(t.Bounded, is) && !slices.ContainsFunc(t.Implied, is) {
			t.Implied = append(t.Implied, d)
		}
	}
}

// difference returns the difference of two columns, of which one is never below the other; nil if the columns have no bounds that say less.
func (t *Table) difference(o constraint.Order) *scalar.Bounded {
	is := ast.QuoteIdent(o.Greater) + " - " + ast.QuoteIdent(o.Less)
	d, err := bound(t, DerivedPolicy{Name: o.Greater + " - " + o.Less, Is: is, Bounds: &Bounds{}})
	if err != nil {
		return nil
	}
	d.Text = ""
	of, in := d.Expr().Type(), (&scalar.Env{}).Bounds(d.Expr())
	if !in.Bounded() || in.Low.Sign() >= 0 || in.High.Sign() <= 0 {
		return nil
	}
	switch {
	case of.OID == pgtype.Interval:
		d.Bounds = &scalar.Bounds{LowText: "0 days", HighText: days(in.High) + " days"}
	case of.Whole() || of.Decimal():
		digits, _ := in.High.FloatPrec()
		d.Bounds = &scalar.Bounds{Low: new(big.Rat), High: in.High, LowText: "0", HighText: in.High.FloatString(digits)}
	default:
		return nil
	}
	return d
}

// days rounds microseconds up.
func days(micros *big.Rat) string {
	day := big.NewRat(pgtype.MicrosPerDay, 1)
	n := new(big.Rat).Quo(micros, day)
	whole := new(big.Int).Quo(n.Num(), n.Denom())
	if !n.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	return strconv.FormatInt(whole.Int64(), 10)
}
