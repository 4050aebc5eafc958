package scalar

import (
	"math/big"

	"dpproxy/pgerr"
)

// maxBuckets bounds the count of width_bucket, far from where count + 1 overflows.
const maxBuckets = 1_000_000

// buckets is width_bucket(x, low, high, count): 0 below the first bucket, count + 1 above
// the last one.
var buckets = &rule{
	constants: []int{1, 2, 3},
	bounds: func(env *Env, c *call) Interval {
		out := span(0, maxBuckets+1)
		for _, a := range c.args {
			i := env.interval(a)
			if i.empty {
				return Interval{Null: true, empty: true}
			}
			out.Null = out.Null || i.Null
		}
		if n, ok, err := env.integer(c.args[3]); ok && err == nil && n >= 1 && n <= maxBuckets {
			out.High = rat(n + 1)
		}
		return out
	},
	write: widthBucket,
}

// widthBucket writes width_bucket, which raises where an argument is NaN, where a limit is
// infinite, where the limits are equal, and where there is no bucket.
func widthBucket(w *Writer, c *call) (fragment, error) {
	if err := w.checkBuckets(c); err != nil {
		return fragment{}, err
	}
	x := make([]string, len(c.args))
	for i, a := range c.args {
		f, err := w.operand(a)
		if err != nil {
			return fragment{}, err
		}
		if i == len(c.args)-1 {
			x[i] = f.sql
			continue
		}
		if x[i], err = w.as(f, typ(c.fn.args[i]), c.at); err != nil {
			return fragment{}, err
		}
	}
	return fragment{sql: castSQL(c.fn.sql(x...), typ(oidInt8)), typ: typ(oidInt8)}, nil
}

func (w *Writer) checkBuckets(c *call) error {
	limits := [2]*big.Rat{}
	for i, a := range c.args[:3] {
		in := w.Env.interval(a)
		switch {
		case in.empty: // NULL, and so is the result
			return nil
		case !in.Bounded():
			return w.noBounds(a)
		case in.magnitude().Cmp(largestExact) > 0:
			return w.badBuckets(c, i, "Use smaller numbers.", "an argument of %s can be too large on protected data", c.fn.title())
		case i > 0:
			limits[i-1] = in.Low
		}
	}
	if limits[0].Cmp(limits[1]) == 0 {
		return w.badBuckets(c, 2, "", "lower bound cannot equal upper bound")
	}
	n, ok, err := w.Env.integer(c.args[3])
	switch {
	case err != nil:
		return err
	case ok && (n < 1 || n > maxBuckets):
		return w.badBuckets(c, 3, "", "%s on protected data takes 1 to %d buckets, not %d", c.fn.title(), maxBuckets, n)
	}
	return nil
}

func (w *Writer) badBuckets(c *call, argument int, hint, format string, args ...any) error {
	err := pgerr.New(pgerr.NotAllowed, format, args...).At(c.args[argument].Pos())
	if hint != "" {
		return err.WithHint("%s", hint)
	}
	return err
}
