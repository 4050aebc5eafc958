package scalar

import (
	"math/big"
	"slices"
)

// A Bounded is an expression over the columns of one row of a table whose values the policy bounds, as it bounds those of a column. A
// statement that computes it has the same values as without: they are brought into the bounds where those of a column are, before
// anything is computed of them and before they are summed. Where they are compared, counted and grouped they stay as they are. The
// bounds prove nothing of how the expression itself is computed.
type Bounded struct {
	// Name is what the policy calls it, and Text how it is written there.
	Name, Text string
	Bounds     *Bounds

	x     Expr // over columns of these names
	folds []Fold
}

// Expr is the expression, over the columns that it was made of.
func (d *Bounded) Expr() Expr { return d.x }

// Plain reports whether the expression has no constants, whose values the mirror would have to tell.
func (d *Bounded) Plain() bool { return len(d.folds) == 0 }

// BoundedIn returns what the policy bounds in an expression, also below derived tables, of columns that analysts may see.
func BoundedIn(e Expr) []*Bounded {
	var all []*Bounded
	seen := map[*Column]bool{}
	var visit func(Expr)
	visit = func(e Expr) {
		switch e := e.(type) { //nolint:gochecksumtype // the others are made of their operands
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

// PlainBounded returns what bounds an expression as a whole, nil if nothing does, or nothing that analysts may see.
func PlainBounded(e Expr) *Bounded {
	if b := boundedOf(e); b != nil && slices.Contains(BoundedIn(b), b.by) {
		return b.by
	}
	return nil
}

// boundedOf returns the bounded expression that e is, or that a column of a derived table stands for; else nil.
func boundedOf(e Expr) *bounded {
	if ref, ok := e.(*Ref); ok {
		if of := ref.Column.Base().Of; len(of) == 1 {
			e = of[0]
		}
	}
	b, _ := e.(*bounded)
	return b
}

// A Row is a row of a table in FROM, the same for all of its columns, with what the policy bounds of it.
type Row struct{ Bounded []*Bounded }

// boundedInterval is where the values of an expression that the policy bounds lie once they are brought into their bounds.
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

// writeBounded writes an expression that the policy bounds, one that rows are grouped by as it is written there.
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

// brought brings into its bounds the value of e, which is one that the policy bounds, as it is written.
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
	if i.Null { // which LEAST and GREATEST pass over
		x = "CASE WHEN " + f.sql + " IS NOT NULL THEN " + x + " END"
	}
	f.sql = x
	return f, nil
}
