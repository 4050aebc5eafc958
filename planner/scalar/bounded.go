package scalar

import (
	"math/big"
	"slices"
)

// A Bounded is an expression over the columns of a row of a table, for which the policy declares bounds, as it does for a column. As with
// a column, its values are moved into the bounds before anything is computed from them and before they are summed. Comparisons, counts and
// groups use the values unchanged. The bounds imply nothing about how the expression itself is computed.
type Bounded struct {
	// Name is the policy's name of the expression, and Text its text in the policy, empty if constraints imply the bounds.
	Name, Text string
	Bounds     *Bounds

	x     Expr // over columns with the names of the table's columns
	folds []Fold
}

// Expr returns the expression, over the columns with which it was made.
func (d *Bounded) Expr() Expr { return d.x }

// Plain reports whether the expression has no constants that the mirror would have to evaluate.
func (d *Bounded) Plain() bool { return len(d.folds) == 0 }

// BoundedIn returns the bounded expressions in an expression, including derived tables, whose columns analysts may see.
func BoundedIn(e Expr) []*Bounded {
	var all []*Bounded
	seen := map[*Column]bool{}
	var visit func(Expr)
	visit = func(e Expr) {
		switch e := e.(type) { //nolint:gochecksumtype // the others consist of their operands
		case *Ref:
			if c := e.Column.Base(); !seen[c] {
				seen[c] = true
				for _, x := range c.Of {
					visit(x)
				}
			}
		case *bounded:
			untold := slices.ContainsFunc(e.Columns(), func(c *Column) bool { return c.Base().Untold })
			if !untold && !slices.Contains(all, e.by) {
				all = append(all, e.by)
			}
		}
		for _, o := range operands(e) {
			visit(o)
		}
	}
	visit(e)
	return all
}

// PlainBounded returns the bounds of an expression as a whole; nil if it has none, or none that analysts may see.
func PlainBounded(e Expr) *Bounded {
	if b := boundedOf(e); b != nil && slices.Contains(BoundedIn(b), b.by) {
		return b.by
	}
	return nil
}

// boundedOf returns the bounded expression that e is, or for which a column of a derived table stands; nil if there is none.
func boundedOf(e Expr) *bounded {
	if ref, ok := e.(*Ref); ok {
		if of := ref.Column.Base().Of; len(of) == 1 {
			e = of[0]
		}
	}
	b, _ := e.(*bounded)
	return b
}

// A Row is a row of a table in FROM, shared by all of its columns, and its bounded expressions.
type Row struct{ Bounded []*Bounded }

// boundedInterval is the interval of a bounded expression after its values are moved into the bounds.
func boundedInterval(env *Env, e *bounded) Interval {
	i := env.interval(e.x)
	if i.empty {
		return i
	}
	low, high := declaredEnds(&Column{Type: e.typ, Bounds: e.by.Bounds})
	if low == nil {
		return i
	}
	if e.typ.Decimal() && i.Least != nil {
		digits := min(decimals(i.Least), keptDigits)
		low, high = scaled(low, digits, floor), scaled(high, digits, ceil)
	}
	out := Interval{Low: low, High: high, Null: i.Null, Least: i.Least}
	if i.Low != nil {
		out.Low = smaller(larger(i.Low, low), high)
	}
	if i.High != nil {
		out.High = smaller(larger(i.High, low), high)
	}
	for _, end := range []*big.Rat{low, high} {
		if out.Least != nil && end.Sign() != 0 {
			out.Least = smaller(out.Least, new(big.Rat).Abs(end))
		}
	}
	return out
}

// writeBounded writes a bounded expression. If rows are grouped by it, it refers to the key.
func writeBounded(w *Writer, e *bounded, m mode) (fragment, error) {
	f, key := w.grouped(e, asIs)
	if !key {
		var err error
		if f, err = w.write(e.x, m); err != nil {
			return fragment{}, err
		}
	}
	if m == asIs {
		return f, nil
	}
	return brought(w, f, e)
}

// brought moves the written value of e, a bounded expression, into its bounds.
func brought(w *Writer, f fragment, e Expr) (fragment, error) {
	i := w.Env.interval(e)
	if i.empty {
		return f, nil
	}
	if b := boundedOf(e); w.brought != nil && b != nil {
		w.brought(nil, b.by)
	}
	f = w.instant(f)
	low, high, ok := literals(i, f.typ)
	if !ok {
		return fragment{}, w.noBounds(e)
	}
	x := clampSQL(f.sql, low, high)
	if i.Null { // LEAST and GREATEST ignore NULL
		x = "CASE WHEN " + f.sql + " IS NOT NULL THEN " + x + " END"
	}
	f.sql = x
	return f, nil
}
