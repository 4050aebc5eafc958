package planner

import (
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// arguments tell which values the arguments of aggregates can have in rows that count, for known
// constants.
type arguments struct {
	env       *scalar.Env
	conjuncts []scalar.Expr // conditions that hold in all rows that count
}

// interval returns the bounds of an argument.
func (a arguments) interval(x scalar.Expr) (scalar.Interval, error) {
	in := a.env.Narrowed(x, a.conjuncts)
	if in.Low == nil {
		return in, noBounds(x)
	}
	return in, nil
}

// latticeTerm puts an argument on a lattice, of whose values a unit adds up some rows.
func (a arguments) latticeTerm(x scalar.Expr, in scalar.Interval, rows int64) (term, error) {
	digits, known := a.env.Scale(x)
	l, err := latticeOf(x, digits, known, in, rows)
	if err != nil {
		return term{}, tooWide(x.Pos())
	}
	return term{arg: x, values: l}, nil
}

// clampedTerm is term with the bounds of the argument.
func (a arguments) clampedTerm(x scalar.Expr, rows int64) (term, error) {
	in, err := a.interval(x)
	if err != nil {
		return term{}, err
	}
	return a.latticeTerm(x, in, rows)
}

// nullable reports whether an argument can be NULL in a row that counts.
func (a arguments) nullable(x scalar.Expr) bool {
	return a.env.Narrowed(x, a.conjuncts).Null
}

func noBounds(x scalar.Expr) error {
	e := pgerr.New(pgerr.NoBounds, "the values have no bounds").At(x.Pos())
	if c, ok := scalar.PlainColumn(x); ok {
		return pgerr.New(pgerr.NoBounds, "column %q has no bounds", c.Shown()).At(x.Pos()).
			WithHint("Write least(greatest(%s, low), high), or ask the administrator to declare bounds in the policy.", c.Shown())
	}
	return e.WithHint("Write least(greatest(x, low), high) with constants, or ask the administrator to declare bounds of the columns.")
}

func tooWide(at int) error {
	return pgerr.New(pgerr.Imprecise, "the bounds of the values are too wide to sum").At(at).
		WithHint("Narrow them: least(greatest(x, low), high). The administrator can declare narrower bounds or a lower max_rows_per_group.")
}
