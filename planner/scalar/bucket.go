package scalar

import (
	"math/big"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// bucket is width_bucket with constant limits: a number from 0 to the number of buckets + 1. Postgres raises if the limits are equal or not
// finite, or the number of buckets is not positive.
var bucket = &rule{
	constants: []int{1, 2, 3},
	bounds: func(env *Env, c *call) Interval {
		n, ok, err := env.integer(c.args[3])
		if !ok || err != nil {
			return Interval{Null: true, empty: err == nil}
		}
		i := span(0, 1)
		i.High = new(big.Rat).SetInt64(n + 1)
		x, first, last := env.interval(c.args[0]), env.interval(c.args[1]), env.interval(c.args[2])
		i.Null = x.Null || first.empty || last.empty
		if env.listing && n > 0 && x.Bounded() && first.Constant() && last.Constant() && first.Low.Cmp(last.Low) != 0 {
			i = i.intersect(bucketsOf(x, first.Low, last.Low, rat(n)))
		}
		return i
	},
	write: writeBucket,
}

// bucketsOf returns the buckets of the values in an interval. Comparisons decide whether values can be below or above all limits, and a
// quotient decides the bucket otherwise. Postgres rounds the quotient to at least 9 digits.
func bucketsOf(x Interval, first, last, n *big.Rat) Interval {
	const digits = 9
	if first.Cmp(last) > 0 { // buckets count downward
		negative := func(r *big.Rat) *big.Rat { return new(big.Rat).Neg(r) }
		x.Low, x.High, first, last = negative(x.High), negative(x.Low), negative(first), negative(last)
	}
	number := func(r, rounded *big.Rat) *big.Rat {
		share := new(big.Rat).Quo(new(big.Rat).Sub(r, first), new(big.Rat).Sub(last, first))
		buckets := share.Mul(share.Add(share, rounded), n)
		return smaller(larger(new(big.Rat).Add(floor(buckets), rat(1)), rat(1)), n)
	}
	i := Interval{Low: number(x.Low, new(big.Rat).Neg(power10(-digits))), High: number(x.High, power10(-digits))}
	if x.Low.Cmp(first) < 0 {
		i.Low = new(big.Rat)
	}
	if x.Low.Cmp(last) >= 0 {
		i.Low = new(big.Rat).Add(n, rat(1))
	}
	if x.High.Cmp(first) < 0 {
		i.High = new(big.Rat)
	}
	if x.High.Cmp(last) >= 0 {
		i.High = new(big.Rat).Add(n, rat(1))
	}
	return i
}

// maxWidthBuckets bounds the number of buckets of width_bucket.
const maxWidthBuckets = 1_000_000

func writeBucket(w *Writer, c *call) (fragment, error) {
	for _, limit := range c.args[1:3] {
		if _, err := w.write(limit, asIs); err != nil {
			return fragment{}, err
		}
	}
	low, high := w.Env.interval(c.args[1]), w.Env.interval(c.args[2])
	n, ok, err := w.Env.integer(c.args[3])
	switch {
	case err != nil:
		return fragment{}, err
	case ok && (n < 1 || n > maxWidthBuckets):
		return fragment{}, pgerr.New(pgerr.NotAllowed, "width_bucket() with %d buckets is not allowed on protected data", n).
			At(c.args[3].Pos()).
			WithHint("Use 1 to %d buckets.", maxWidthBuckets)
	case !low.empty && !high.empty && (!low.Bounded() || !high.Bounded() || low.Low.Cmp(high.Low) == 0):
		return fragment{}, pgerr.New(pgerr.NotAllowed, "the limits of width_bucket() must be finite and different").At(c.args[1].Pos()).
			WithHint("Write the lowest and the highest value of the buckets.")
	}
	if i := w.Env.interval(c.args[0]); !i.Bounded() && !i.empty {
		return fragment{}, w.noBounds(c.args[0])
	}
	x, err := w.operand(c.args[0])
	if err != nil {
		return fragment{}, err
	}
	args := []string{x.sql}
	for _, a := range c.args[1:] {
		f, err := w.write(a, asIs)
		if err != nil {
			return fragment{}, err
		}
		args = append(args, f.sql)
	}
	return fragment{sql: castSQL(c.fn.sql(args...), pgtype.Of(pgtype.Int8)), typ: pgtype.Of(pgtype.Int8)}, nil
}
