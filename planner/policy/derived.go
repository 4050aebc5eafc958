package policy

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/constraint"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// derive gives a table the bounds of an expression over its columns. They are what the values are brought into, as into the bounds of a
// column, and no fact about them: nothing has to hold of the data.
func derive(c *checker, t *Table, p DerivedPolicy) {
	where := "derived." + p.Name
	if _, clash := t.Source.Column(p.Name); clash {
		c.problem(t.Name, where, "the table has a column of this name: give the expression another")
		return
	}
	d, err := bound(t, p)
	if err != nil {
		c.problem(t.Name, where+".is", "%s", told(err))
		return
	}
	if wrong := wrongBounds(d.Expr().Type(), p.Bounds); wrong != "" {
		c.problem(t.Name, where+".bounds", "%s", wrong)
		return
	}
	for _, other := range t.Bounded {
		if d.Is(other) {
			c.problem(t.Name, where+".is", "%s is the same expression", other.Name)
			return
		}
	}
	t.Bounded = append(t.Bounded, d)
}

// wrongBounds says why an expression of a type cannot have these bounds, "" if it can.
func wrongBounds(t pgtype.Type, b *Bounds) string {
	_, span := Span(b.LowText)
	is, want := "dates", "dates"
	switch {
	case b.Low != nil:
		is = "numbers"
	case span:
		is = "intervals"
	}
	switch {
	case t.Number():
		want = "numbers"
	case t.OID == pgtype.Interval:
		want = "intervals"
	}
	switch {
	case is != want && want == "intervals":
		return is + ` as bounds of an expression of type interval: write them as ["0 days", "60 days"]`
	case is != want:
		return fmt.Sprintf("%s as bounds of an expression of type %s", is, t)
	case b.Low != nil && b.Low.Cmp(b.High) > 0:
		return "the lower bound is above the upper one"
	}
	return ""
}

// Span reads a bound of an interval, as microseconds.
func Span(s string) (micros int64, ok bool) { return pgtype.Span(s) }

// bound resolves the expression, of columns that have what it needs.
func bound(t *Table, p DerivedPolicy) (*scalar.Bounded, error) {
	tree, refusal := parser.ParseDerived(p.Is)
	if refusal != nil {
		return nil, refusal
	}
	d, err := scalar.NewBounded(p.Name, p.Is, tree, visible(t))
	if err != nil {
		return nil, err
	}
	scalar.NewBoundsSearch(func(col *scalar.Column, _ int) {
		err = pgerr.New(pgerr.NoBounds, "the column %q has no bounds, without which nothing is computed of it", col.Name)
	}).Of(d.Expr(), false)
	d.Bounds = scalarBounds(p.Bounds)
	return d, err
}

// visible returns the columns that an expression may name: those of the table that analysts see.
func visible(t *Table) func(*ast.Column) (*scalar.Column, error) {
	known := map[string]*scalar.Column{}
	return func(ref *ast.Column) (*scalar.Column, error) {
		i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == ref.Name })
		switch {
		case ref.Qualifier != "":
			return nil, pgerr.New(pgerr.UndefinedObject, "the columns are those of the table: write %q without %q", ref.Name,
				ref.Qualifier)
		case i < 0:
			return nil, pgerr.New(pgerr.UndefinedObject, "there is no column %q", ref.Name)
		case t.Columns[i].Hidden:
			return nil, pgerr.New(pgerr.UndefinedObject, "the column %q is hidden: no statement can compute the expression", ref.Name)
		case known[ref.Name] == nil:
			known[ref.Name] = t.Columns[i].Scalar(ref.Name)
		}
		return known[ref.Name], nil
	}
}

// told writes a refusal with its hint.
func told(err error) string {
	refusal, ok := errors.AsType[*pgerr.Error](err)
	switch {
	case !ok:
		return err.Error()
	case refusal.Hint == "":
		return refusal.Message
	}
	return fmt.Sprintf("%s (%s)", refusal.Message, strings.TrimSuffix(refusal.Hint, "."))
}

// scalarBounds returns bounds as expressions know them.
func scalarBounds(b *Bounds) *scalar.Bounds {
	return &scalar.Bounds{Low: b.Low, High: b.High, LowText: b.LowText, HighText: b.HighText}
}

// ordered gives a table the bounds that CHECK constraints imply of differences: CHECK (gone >= day) says that gone - day is not below zero,
// though the bounds of both columns alone would have it as far below as above. Values are brought into them as into declared bounds, which
// come first.
func ordered(t *Table) {
	for _, o := range constraint.Orders(t.Source) {
		d := difference(t, o)
		is := func(other *scalar.Bounded) bool { return d.Is(other) }
		if d != nil && !slices.ContainsFunc(t.Bounded, is) && !slices.ContainsFunc(t.Implied, is) {
			t.Implied = append(t.Implied, d)
		}
	}
}

// difference returns the difference of two columns, of which one is never below the other; nil unless the bounds of the columns say less.
func difference(t *Table, o constraint.Order) *scalar.Bounded {
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
