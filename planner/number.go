package planner

import (
	"math"
	"math/big"
	"strconv"

	"dpproxy/planner/pgtype"
)

// Number writes a figure for people, with four significant digits.
func Number(f float64) string {
	if f >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}

// numberText writes a number as input for a type.
func numberText(v *big.Rat, oid uint32, digits int) string {
	switch oid {
	case pgtype.Int8:
		return clampInt64(pgtype.Floor(new(big.Rat).Add(v, big.NewRat(1, 2)))).String()
	case pgtype.Float4:
		f, _ := v.Float32()
		f = min(max(f, -math.MaxFloat32), math.MaxFloat32)
		return strconv.FormatFloat(float64(f), 'g', -1, 32)
	case pgtype.Float8:
		f, _ := v.Float64()
		f = min(max(f, -math.MaxFloat64), math.MaxFloat64)
		return strconv.FormatFloat(f, 'g', -1, 64)
	case pgtype.Interval:
		return pgtype.SpanText(v)
	}
	return v.FloatString(digits)
}

// float returns a number as a double, NaN for nil.
func float(v *big.Rat) float64 {
	if v == nil {
		return math.NaN()
	}
	f, _ := v.Float64()
	return f
}

func clampInt64(n *big.Int) *big.Int {
	if n.IsInt64() {
		return n
	}
	if n.Sign() < 0 {
		return big.NewInt(math.MinInt64)
	}
	return big.NewInt(math.MaxInt64)
}

// must returns a value whose error was excluded when the statement was planned.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err) //nolint:forbidigo // such a failure is found before the charge
	}
	return v
}
