package fold

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// numericOf returns a numeric in its binary form.
func numericOf(weight int, sign uint16, digits ...uint16) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(digits)))
	b = binary.BigEndian.AppendUint16(b, uint16(weight))
	b = binary.BigEndian.AppendUint16(b, sign)
	b = binary.BigEndian.AppendUint16(b, 3) // decimals that are shown
	for _, d := range digits {
		b = binary.BigEndian.AppendUint16(b, d)
	}
	return b
}

// TestDecimals compares steps of numerics with steps of fractions, rounded half away from zero.
func TestDecimals(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		digits := rapid.SliceOfN(rapid.OneOf(
			rapid.Uint16Range(0, 9999), rapid.SampledFrom([]uint16{0, 1, 5000, 4999, 5, 50, 500, 9999}),
		), 0, 8).Draw(rt, "digits")
		weight := rapid.IntRange(-6, 9).Draw(rt, "weight")
		sign := rapid.SampledFrom([]uint16{positive, negative}).Draw(rt, "sign")
		n := Number{Kind: DecimalNumber, Decimals: rapid.IntRange(0, 12).Draw(rt, "decimals")}
		n.Low = rapid.Int64Range(-1<<59, 1<<59).Draw(rt, "low")
		n.High = rapid.Int64Range(n.Low, 1<<59).Draw(rt, "high")
		got, err := n.steps(numericOf(weight, sign, digits...))
		if err != nil {
			rt.Fatal(err)
		}
		value := new(big.Rat)
		for i, d := range digits {
			power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10_000), big.NewInt(int64(max(weight-i, i-weight))), nil))
			if weight < i {
				power.Inv(power)
			}
			value.Add(value, power.Mul(power, new(big.Rat).SetInt64(int64(d))))
		}
		value.Mul(value, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n.Decimals)), nil)))
		value.Add(value, big.NewRat(1, 2))
		want := new(big.Int).Quo(value.Num(), value.Denom())
		if sign == negative {
			want.Neg(want)
		}
		if low, high := big.NewInt(n.Low), big.NewInt(n.High); want.Cmp(low) < 0 {
			want = low
		} else if want.Cmp(high) > 0 {
			want = high
		}
		if want.Int64() != got {
			rt.Fatalf("%v steps, not %v", got, want)
		}
	})
}

// TestNumbersBeyond holds to which steps NaN, infinities and long numbers go.
func TestNumbersBeyond(t *testing.T) {
	n := Number{Kind: DecimalNumber, Low: -700, High: 900, Decimals: 2}
	f := Number{Kind: FloatNumber, Low: -700, High: 900, Bits: 3}
	long := slices.Repeat([]uint16{9999}, 300)
	for name, c := range map[string]struct {
		of    Number
		value []byte
		want  int64
	}{
		"NaN":                  {n, numericOf(0, notANumber), 900},
		"infinity":             {n, numericOf(0, infinite), 900},
		"-infinity":            {n, numericOf(0, minusEndles), -700},
		"1,200 digits":         {n, numericOf(299, positive, long...), 900},
		"-1,200 digits":        {n, numericOf(299, negative, long...), -700},
		"1,200 decimals":       {n, numericOf(-200, positive, long...), 0},
		"0.005":                {n, numericOf(-1, positive, 50), 1},
		"-0.005":               {n, numericOf(-1, negative, 50), -1},
		"0.0049":               {n, numericOf(-1, positive, 49), 0},
		"float NaN":            {f, floatOf(math.NaN()), 900},
		"float infinity":       {f, floatOf(math.Inf(1)), 900},
		"float -infinity":      {f, floatOf(math.Inf(-1)), -700},
		"float half to even":   {f, floatOf(0.0625), 0},
		"float half to even 2": {f, floatOf(0.1875), 2},
		"float4":               {f, binary.BigEndian.AppendUint32(nil, math.Float32bits(-2.5)), -20},
	} {
		if got, err := c.of.steps(c.value); err != nil || got != c.want {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

func floatOf(f float64) []byte { return binary.BigEndian.AppendUint64(nil, math.Float64bits(f)) }

// TestGrid compares a grid with cuts with a grid that makes one cut after the other.
func TestGrid(t *testing.T) {
	g := Grid{Low: 10, Cuts: []int64{-16, -8, 8, 16, 32}, Below: 2, Each: 4, First: -12}
	for x := int64(-60); x < 200; x++ {
		k := -g.Below
		for _, c := range g.Cuts {
			if x-g.Low >= c {
				k++
			}
		}
		if got, want := g.number(x), g.Each*int64(k)+(x-g.Low)>>max(k, -k)-g.First; got != want {
			t.Errorf("%d is in %d, not %d", x, got, want)
		}
	}
}

// TestOneNumericOfSeveralForms holds that numerics are equal whatever zeros they have at either end, whatever decimals they show, and
// whatever sign zero has, even in forms that Postgres would not send.
func TestOneNumericOfSeveralForms(t *testing.T) {
	for name, forms := range map[string][2][]byte{
		"zeros in front": {numericOf(1, negative, 0, 5), numericOf(0, negative, 5)},
		"zeros behind":   {numericOf(0, positive, 5, 0, 0), numericOf(0, positive, 5)},
		"zero":           {numericOf(3, negative, 0, 0), numericOf(0, positive)},
	} {
		a, errA := Column{Kind: Numeric}.AppendIdentity(nil, forms[0])
		b, errB := Column{Kind: Numeric}.AppendIdentity(nil, forms[1])
		if errA != nil || errB != nil || !slices.Equal(a, b) {
			t.Errorf("%s: %x and %x, %v, %v", name, a, b, errA, errB)
		}
	}
}

// TestWide compares products with those of big integers, up to the largest number.
func TestWide(t *testing.T) {
	word := rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 3), rapid.Just(uint64(math.MaxUint64)))
	rapid.Check(t, func(rt *rapid.T) {
		a, b := wide{word.Draw(rt, "high"), word.Draw(rt, "low")}, word.Draw(rt, "times")
		value := new(big.Int).SetUint64(a.high)
		value.Lsh(value, 64).Add(value, new(big.Int).SetUint64(a.low)).Mul(value, new(big.Int).SetUint64(b))
		if got, want := a.times(b), wideOf(value); got != want {
			rt.Fatalf("%v times %d is %v, not %v", a, b, got, want)
		}
	})
}
