package planner

import (
	"fmt"
	"math/big"
	"regexp"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// arguments bounds the values of arguments of aggregates in the rows that count, for known constants.
type arguments struct {
	env       *scalar.Env
	conjuncts []scalar.Expr // true in all rows that count
}

// interval returns the bounds of an argument.
func (a arguments) interval(x scalar.Expr) (scalar.Interval, error) {
	in := a.env.Narrowed(x, a.conjuncts)
	if in.Low == nil {
		return in, noBounds(a.env, x)
	}
	return in, nil
}

// summedTerm is clampedTerm for values that are summed by unit and not used otherwise. Such values need no bounds if their type or the
// policy gives the step in which they are summed, and the limit of the sum is chosen or capped: a number of rows alone implies no limit.
func (c *collector) summedTerm(x scalar.Expr, capped bool) (term, error) {
	in := c.env.Narrowed(x, c.conjuncts)
	if in.Low != nil || c.bounds.unique {
		return c.clampedTerm(x)
	}
	l, ok := c.unboundedLattice(x)
	switch {
	case !ok:
		return term{}, noStep(c.env, x)
	case c.bounds.limit.fixed && !capped:
		return term{}, noFixedLimit(c.env, x)
	}
	return term{arg: x, values: l}, nil
}

// unboundedLattice returns the lattice of values without bounds: integers, numerics with a known scale, and columns with a declared step.
func (c *collector) unboundedLattice(x scalar.Expr) (lattice, bool) {
	step := scalar.Step(x)
	digits, known := c.env.Scale(x)
	switch {
	case known && digits <= maxDigits:
		step = new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))
	case step == nil:
		return lattice{}, false
	case x.Type().Family() == pgtype.FloatFamily:
		digits = floatDigits
	default:
		digits = decimals(step)
	}
	bits := unboundedBits
	if x.Type().Family() == pgtype.IntFamily {
		bits = min(bits, pgtype.Bits(x.Type().OID)-1)
	}
	return lattice{
		family: x.Type().Family(), step: step, scale: new(big.Rat).Inv(step).Num(), digits: digits,
		low: -1 << bits, high: 1 << bits, technical: true,
	}, true
}

// clampedTerm puts an argument with bounds on a lattice.
func (a arguments) clampedTerm(x scalar.Expr) (term, error) {
	in, err := a.interval(x)
	if err != nil {
		return term{}, err
	}
	digits, known := a.env.Scale(x)
	l, err := latticeOf(x, digits, known, in)
	if err != nil {
		return term{}, tooWide(x.Pos())
	}
	return term{arg: x, values: l, inside: a.inside(x), of: a.brought(x)}, nil
}

// brought returns the columns in an expression whose values can be beyond their bounds and are moved to them. In such a row the value of
// the expression can be anywhere within its bounds.
func (a arguments) brought(x scalar.Expr) (all []brought) {
	if c, plain := scalar.PlainColumn(x); plain && len(c.Base().Of) == 0 {
		return nil
	}
	for _, u := range scalar.Uses(a.env, x) {
		c := u.Column
		if c == nil || c.Untold || c.Bounds == nil || !u.Brought || proved(u) || scalar.Confined(a.env, u, a.conjuncts) {
			continue
		}
		all = append(all, brought{c.Shown(), "[" + c.Bounds.LowText + ", " + c.Bounds.HighText + "]"})
	}
	return all
}

// inside reports whether an argument is a column, and constraints of the database or conditions of the statement exclude values beyond its
// bounds.
func (a arguments) inside(x scalar.Expr) bool {
	c, plain := scalar.PlainColumn(x)
	if !plain {
		return false
	}
	u := scalar.Use{Column: c.Base(), Brought: true}
	return proved(u) || scalar.Confined(a.env, u, a.conjuncts)
}

// coarse removes decimals from a computed numeric off its lattice until it has at most maxOffset steps: for example, differences of
// timestamps, which are in microseconds. Neither a mean nor a moment needs such decimals.
func (a arguments) coarse(t term) (term, error) {
	l := &t.values
	if !scalar.Arithmetic(t.arg) || l.family != pgtype.NumericFamily || l.technical {
		return t, nil
	}
	in, err := a.interval(t.arg)
	for err == nil && l.digits > 0 && l.high-l.low > maxOffset {
		*l, err = latticeOf(t.arg, l.digits-1, true, in)
		l.rounds = true
	}
	return t, err
}

// nullable reports whether an argument can be NULL in a row that counts.
func (a arguments) nullable(x scalar.Expr) bool {
	return a.env.Narrowed(x, a.conjuncts).Null
}

// noFixedLimit refuses to sum values without bounds if the limit follows from a number of rows.
func noFixedLimit(env *scalar.Env, x scalar.Expr) error {
	if err := nullLimit(env, x); err != nil {
		return err
	}
	what, name := "the values have", "x"
	if c, ok := scalar.PlainColumn(x); ok {
		what, name = fmt.Sprintf("column %q has", c.Shown()), c.Shown()
	}
	return pgerr.New(pgerr.NoBounds, "%s no bounds", what).At(x.Pos()).
		WithHint("SET dp.contribution = auto, or write %s, or ask the administrator to declare bounds.", clampOf(name))
}

// clampOf writes an expression that bounds values, for hints.
func clampOf(name string) string { return ast.Clamp(name, "low", "high") }

// plainName matches names that need no quotes.
var plainName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// named is the column as a statement names it.
func named(c *scalar.Column) string {
	if c.Shown() == c.Name && !plainName.MatchString(c.Name) {
		return ast.QuoteIdent(c.Name)
	}
	return c.Shown()
}

// noStep refuses to sum values that have neither bounds nor a step.
func noStep(env *scalar.Env, x scalar.Expr) error {
	c, plain := scalar.PlainColumn(x)
	if family := x.Type().Family(); !plain || family != pgtype.NumericFamily && family != pgtype.FloatFamily {
		return noBounds(env, x)
	}
	return pgerr.New(pgerr.NoBounds, "column %q has neither bounds nor a step", c.Shown()).At(x.Pos()).
		WithHint("Write %s, or ask the administrator to declare bounds or a step in the policy.", clampOf(named(c)))
}

func noBounds(env *scalar.Env, x scalar.Expr) error {
	if err := nullLimit(env, x); err != nil {
		return err
	}
	e := pgerr.New(pgerr.NoBounds, "the values have no bounds").At(x.Pos())
	if c, ok := scalar.PlainColumn(x); ok {
		return pgerr.New(pgerr.NoBounds, "column %q has no bounds", c.Shown()).At(x.Pos()).
			WithHint("Write %s, or ask the administrator to declare bounds in the policy.", clampOf(named(c)))
	}
	return e.WithHint("Ask the administrator to declare bounds of the columns, or of the expression (derived in docs/policy.md), or "+
		"write %s with constants.", clampOf("x"))
}

// nullLimit refuses values that a statement bounds by NULL.
func nullLimit(env *scalar.Env, x scalar.Expr) error {
	if !scalar.NullLimit(env, x) {
		return nil
	}
	return pgerr.New(pgerr.NoBounds, "the values have no bounds: one in LEAST or GREATEST is NULL").At(x.Pos()).
		WithHint("Write a number. If the bound is that of dp.suggest_bounds, it found none in the noise: ask it with a larger epsilon, " +
			"make the temporary table anew, and ask again.")
}

func tooWide(at int) error {
	return pgerr.New(pgerr.Imprecise, "the bounds of the values are too wide to sum").At(at).
		WithHint("Narrow them: the administrator can declare narrower bounds, of columns or of an expression (derived in docs/policy.md), "+
			"or a lower max_rows_per_group; a statement has them by %s.", clampOf("x"))
}
