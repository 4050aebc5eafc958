package planner

import (
	"math"
	"math/big"
	"strconv"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A countOf is COUNT of rows, values, units or different values. A unit changes a count of units by one, and any other by at most the
// number of its rows.
type countOf struct {
	overRow
	units     bool  // COUNT(DISTINCT unit)
	whole     bool  // without FILTER
	different bool  // COUNT(DISTINCT anything else)
	most      int64 // of different values; 0 if that is not known
}

func newCount(c *call) (form, error) {
	f := countOf{overRow: overRow{filter: c.filter, at: c.At}, whole: c.filter == nil}
	if c.Star {
		return f, c.onNullRows(nil)
	}
	x, err := c.argument()
	if err != nil {
		return nil, err
	}
	switch {
	case !c.Distinct:
		f.arg = x
	case c.rows.IsUnit(x):
		f.units = true
	case c.rows.Identifies(x): // a row without a person counts no unit
		if f.filter, err = c.where(c.Args[0]); err != nil {
			return nil, err
		}
		f.units = true
	case len(x.Columns()) == 0:
		return nil, c.plain()
	default:
		if t := x.Type(); t.Family() == pgtype.NoFamily || !t.Deterministic {
			return nil, pgerr.New(pgerr.NotAllowed, "values of type %s cannot be counted once each on protected data", t).At(c.At).
				WithHint("Cast the value to text or numeric.")
		}
		f.arg, f.different = x, true
		if of, plain := scalar.PlainColumn(x); plain {
			f.most = c.rows.MostValues(of)
		}
	}
	return f, c.onNullRows(x)
}

func (countOf) resultType() (pgtype.Type, bool) { return pgtype.Of(pgtype.Int8), false }

func (countOf) reports() reports { return allReports }

func (f countOf) specialize(c *collector) (estimator, error) {
	var at int
	var err error
	switch {
	case f.units && c.bounds.unique: // each unit has one row
		at, err = c.add(rowCount{}, f.filter, f.at)
	case f.units:
		at, err = c.add(unitCount{}, f.filter, f.at)
	case f.different:
		at, err = c.add(differentCount{arg: f.arg}, f.filter, f.at)
	case f.arg == nil:
		at, err = c.add(rowCount{}, f.filter, f.at)
	default:
		if value, constant := c.env.ConstantText(f.arg); constant && value == nil {
			return nil, pgerr.New(pgerr.NotAllowed, "count of NULL is always zero").At(f.at).
				WithHint("Use count(*).")
		}
		at, err = c.valueCount(f.arg, f.filter, f.at)
	}
	if f.most > 0 {
		return countedTo{counted{at}, f.most}, err
	}
	return counted{at}, err
}

// A counted is the estimator of a count, which is the statistic itself.
type counted struct{ statistic int }

func (c counted) statistics() []int            { return []int{c.statistic} }
func (c counted) linear() (float64, bool)      { return 1, true }
func (c counted) clamped() []term              { return nil }
func (c counted) number(r observation) float64 { return float(c.value(r)) }
func (c counted) value(r observation) *big.Rat { return new(big.Rat).SetInt(r.integer(c.statistic)) }

func (c counted) radius(r observation) float64        { return r.noise(c.statistic).Quantile(r.alpha) }
func (c counted) standardError(r observation) float64 { return r.noise(c.statistic).StdDev() }

func (c counted) text(r observation) *string {
	s := clampInt64(r.integer(c.statistic)).String()
	return &s
}

// ends widens the interval of the noise by the part that limits leave out.
func (c counted) ends(r observation) (low, high float64) {
	below, above := c.beyond(r)
	return c.number(r) - c.radius(r) - below, c.number(r) + c.radius(r) + above
}

// beyond implements limited.
func (c counted) beyond(r observation) (below, above float64) { return r.beyond(c.statistic) }

func (counted) written(value *big.Rat) string { return numberText(value, pgtype.Int8, 0) }

// A countedTo is a count that cannot exceed a public number.
type countedTo struct {
	counted
	most int64
}

func (c countedTo) number(r observation) float64 { return min(c.counted.number(r), float64(c.most)) }

func (c countedTo) text(r observation) *string {
	n := clampInt64(r.integer(c.statistic)).Int64()
	s := strconv.FormatInt(min(n, c.most), 10)
	return &s
}

func (c countedTo) written(value *big.Rat) string {
	if most := new(big.Rat).SetInt64(c.most); value.Cmp(most) > 0 {
		value = most
	}
	return c.counted.written(value)
}

// ends has both ends below that number too.
func (c countedTo) ends(r observation) (low, high float64) {
	low, high = c.counted.ends(r)
	return min(low, float64(c.most)), min(high, float64(c.most))
}

// A sumOf is SUM of clamped values.
type sumOf struct{ overRow }

func newSum(c *call) (form, error) {
	x, err := c.number()
	return sumOf{overRow{x, c.filter, c.At}}, err
}

func (f sumOf) resultType() (pgtype.Type, bool) {
	return pgtype.Sum(f.arg.Type()), false
}

func (sumOf) reports() reports { return allReports }

// specialize reads a sum; for a constant it reads a count and multiplies it by the constant, without rounding to a lattice.
func (f sumOf) specialize(c *collector) (estimator, error) {
	t, _ := f.resultType()
	if in := c.env.Narrowed(f.arg, c.conjuncts); in.Low != nil && in.Constant() {
		at, err := c.valueCount(f.arg, f.filter, f.at)
		return summed{counted: counted{at}, result: t, factor: in.Low, digits: decimals(in.Low)}, err
	}
	x, err := c.summedTerm(f.arg, c.bounds.maxSum != nil)
	if err != nil {
		return nil, err
	}
	at, err := c.add(valueSum{summation{term: x}}, f.filter, f.at)
	return summed{counted: counted{at}, result: t, factor: x.values.step, digits: x.values.digits, of: []term{x}}, err
}

// decimals returns how many decimals a number has, at most maxDigits.
func decimals(x *big.Rat) int {
	digits := 0
	for f := new(big.Rat).Set(x); !f.IsInt() && digits < maxDigits; digits++ {
		f.Mul(f, big.NewRat(10, 1))
	}
	return digits
}

// A summed is the estimator of a sum: a statistic times a factor.
type summed struct {
	counted
	result pgtype.Type
	factor *big.Rat
	digits int
	of     []term // nil for a constant
}

func (s summed) linear() (float64, bool) { return math.Abs(float(s.factor)), true }

func (s summed) clamped() []term { return s.of }

func (s summed) value(r observation) *big.Rat {
	v := s.counted.value(r)
	return v.Mul(v, s.factor)
}

func (s summed) text(r observation) *string {
	text := s.written(s.value(r))
	return &text
}

func (s summed) written(value *big.Rat) string { return numberText(value, s.result.OID, s.digits) }

func (s summed) number(r observation) float64 { return float(s.value(r)) }

func (s summed) radius(r observation) float64 {
	factor, _ := s.linear()
	return s.counted.radius(r) * factor
}

func (s summed) standardError(r observation) float64 {
	factor, _ := s.linear()
	return s.counted.standardError(r) * factor
}

func (s summed) ends(r observation) (low, high float64) {
	below, above := s.beyond(r)
	return s.number(r) - s.radius(r) - below, s.number(r) + s.radius(r) + above
}

func (s summed) beyond(r observation) (below, above float64) {
	below, above = s.counted.beyond(r)
	if s.factor.Sign() < 0 {
		below, above = above, below
	}
	factor, _ := s.linear()
	return below * factor, above * factor
}
