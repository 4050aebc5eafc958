package estimate_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/estimate"
)

// number draws a rational number.
func number(t *rapid.T, label string) *big.Rat {
	return rat(rapid.Int64Range(-1000, 1000).Draw(t, label), rapid.Int64Range(1, 60).Draw(t, label+" denominator"))
}

// interval draws an interval and a point in it, often an end.
func interval(t *rapid.T, label string) (estimate.Interval, *big.Rat) {
	a, b := number(t, label), number(t, label)
	if a.Cmp(b) > 0 {
		a, b = b, a
	}
	share := rat(rapid.Int64Range(0, 4).Draw(t, label+" share"), 4)
	x := new(big.Rat).Sub(b, a)
	return estimate.Interval{Lower: a, Upper: b}, x.Add(x.Mul(x, share), a)
}

// TestIntervalArithmetic has the result of points in the operands within the
// result of the operands, and the ends attained by ends.
func TestIntervalArithmetic(t *testing.T) {
	type point func(z, x, y *big.Rat) *big.Rat
	rapid.Check(t, func(t *rapid.T) {
		i, x := interval(t, "x")
		j, y := interval(t, "y")
		check := func(name string, got estimate.Interval, f point) {
			if z := f(new(big.Rat), x, y); !got.Contains(z) {
				t.Fatalf("%v %s %v = %v lacks %v", i, name, j, got, z)
			}
			lower, upper := false, false
			for _, a := range []*big.Rat{i.Lower, i.Upper} {
				for _, b := range []*big.Rat{j.Lower, j.Upper} {
					z := f(new(big.Rat), a, b)
					lower = lower || z.Cmp(got.Lower) == 0
					upper = upper || z.Cmp(got.Upper) == 0
				}
			}
			if !lower || !upper {
				t.Fatalf("%v %s %v = %v is too wide", i, name, j, got)
			}
		}
		check("+", i.Plus(j), (*big.Rat).Add)
		check("-", i.Minus(j), (*big.Rat).Sub)
		check("*", i.Times(j), (*big.Rat).Mul)
		quotient, ok := i.Over(j)
		if ok == j.Contains(new(big.Rat)) {
			t.Fatalf("%v / %v: %v", i, j, ok)
		}
		if ok {
			check("/", quotient, (*big.Rat).Quo)
		}
	})
}

func TestIntervalRoundsOutwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i, x := interval(t, "x")
		lower, upper := i.Float64()
		if rat(0, 1).SetFloat64(lower).Cmp(i.Lower) > 0 || rat(0, 1).SetFloat64(upper).Cmp(i.Upper) < 0 {
			t.Fatalf("%v to %v, %v", i, lower, upper)
		}
		if exact, _ := i.Lower.Float64(); math.Abs(exact-lower) > math.Abs(exact)*1e-15 {
			t.Fatalf("%v to %v, %v", i, lower, upper)
		}
		r := rat(0, 1).SetFloat64(i.Radius(x))
		if rat(0, 1).Add(x, r).Cmp(i.Upper) < 0 || rat(0, 1).Sub(x, r).Cmp(i.Lower) > 0 {
			t.Fatalf("%v has radius %v around %v", i, r, x)
		}
	})
	huge := rat(0, 1).SetInt(new(big.Int).Lsh(big.NewInt(1), 2000))
	wide := estimate.Interval{Lower: new(big.Rat).Neg(huge), Upper: huge}
	if lower, upper := wide.Float64(); !math.IsInf(lower, -1) || !math.IsInf(upper, 1) {
		t.Errorf("beyond doubles: %v, %v", lower, upper)
	}
	if lower, upper := (estimate.Interval{Lower: huge, Upper: huge}).Float64(); lower != math.MaxFloat64 || !math.IsInf(upper, 1) {
		t.Errorf("beyond doubles: %v, %v", lower, upper)
	}
	low := estimate.Interval{Lower: wide.Lower, Upper: wide.Lower}
	if lower, upper := low.Float64(); !math.IsInf(lower, -1) || upper != -math.MaxFloat64 {
		t.Errorf("beyond doubles: %v, %v", lower, upper)
	}
}

func TestSqrt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := new(big.Rat).Abs(number(t, "x"))
		x.Mul(x, rat(0, 1).SetFloat64(math.Ldexp(1, rapid.IntRange(-300, 300).Draw(t, "exponent"))))
		i := estimate.Interval{Lower: x, Upper: x}.Sqrt()
		if rat(0, 1).Mul(i.Lower, i.Lower).Cmp(x) > 0 || rat(0, 1).Mul(i.Upper, i.Upper).Cmp(x) < 0 {
			t.Fatalf("√%v in %v", x, i)
		}
		width := rat(0, 1).Sub(i.Upper, i.Lower)
		if width.Cmp(rat(0, 1).Mul(i.Upper, rat(0, 1).SetFloat64(math.Ldexp(1, -62)))) > 0 {
			t.Fatalf("√%v in %v, too wide", x, i)
		}
		square := rat(0, 1).Mul(x, x)
		if got := estimate.Sqrt(square); got.Cmp(x) != 0 {
			t.Fatalf("√%v = %v, want %v", square, got, x)
		}
	})
	if got := estimate.Sqrt(rat(-1, 1)); got.Sign() != 0 {
		t.Errorf("√−1 = %v", got)
	}
}
