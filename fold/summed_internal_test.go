package fold

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// numericOfBig returns a whole number as a numeric, without zeros at its end.
func numericOfBig(n *big.Int) []byte {
	sign, rest := uint16(positive), new(big.Int).Abs(n)
	if n.Sign() < 0 {
		sign = negative
	}
	var digits []uint16
	for rest.Sign() > 0 {
		digit := new(big.Int)
		rest.QuoRem(rest, big.NewInt(10_000), digit)
		digits = append(digits, uint16(digit.Uint64()))
	}
	slices.Reverse(digits)
	weight := len(digits) - 1
	for len(digits) > 0 && digits[len(digits)-1] == 0 {
		digits = digits[:len(digits)-1]
	}
	return numericOf(weight, sign, digits...)
}

// TestSummedUnits holds that units count the same whether their sums come as they are or their rows are added up.
func TestSummedUnits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := drawSums(rt)
		spec.Groups = 0
		rows := drawSumRows(rt, spec)
		for i, row := range rows {
			rows[i] = append(row[:1:1], row[1+len(spec.Keys):]...)
		}
		spec.Keys, spec.Sums.Weights = nil, Weights{}
		spec.Sums.Additions = spec.Sums.Additions[:3]
		for i := range spec.Sums.Summands {
			spec.Sums.Summands[i].Addition %= 3
			spec.Sums.Summands[i].Count %= 3
		}
		for i := range spec.Sums.Norms {
			spec.Sums.Norms[i].Coarser = nil
		}
		want, _ := totalled(t, spec, rows, 1<<30)
		f := New(spec, secret, 1<<30)
		for _, row := range rows {
			if err := f.Take(row); err != nil {
				rt.Fatal(err)
			}
		}
		sums := *spec.Sums
		sums.Summed, sums.Columns, sums.Additions = []NumberKind{Whole, DecimalNumber, DecimalNumber}, nil, nil
		var units [][][]byte
		for i := range f.adds.had.parts {
			f.adds.had.finish(i, func(_ []byte, _ []uint32, all []amount) {
				var row [][]byte
				for i, x := range all {
					switch {
					case x == amount{} && rapid.Bool().Draw(rt, "NULL"):
						row = append(row, nil)
					case sums.Summed[i] == Whole:
						row = append(row, whole(int64(x.low)))
					default:
						row = append(row, numericOfBig(x.big()))
					}
				}
				units = append(units, row)
			})
		}
		if got, _ := totalled(t, &Spec{ByUnit: true, Sums: &sums}, units, 1); !slices.Equal(got, want) {
			rt.Fatalf("%q, not %q", got, want)
		}
	})
}

// TestReadAmount holds which numbers sums can be, up to the largest.
func TestReadAmount(t *testing.T) {
	most := beyondAll
	large := slices.Repeat([]uint16{9999}, 10)
	for name, c := range map[string]struct {
		value []byte
		want  amount
	}{
		"NULL": {nil, amount{}}, "zero": {numericOf(0, positive), amount{}},
		"NaN": {numericOf(0, notANumber), most}, "infinity": {numericOf(0, infinite), most},
		"too large": {numericOf(9, positive, large...), most},
		"-infinity": {numericOf(0, minusEndles), most.negated()}, "too small": {numericOf(9, negative, large...), most.negated()},
		"2^64 and decimals": {numericOf(4, positive, 1844, 6744, 737, 955, 1616, 5000), amount{1, 0}},
		"-10,000":           {numericOf(1, negative, 1), amountOf(-10_000)}, "0.5": {numericOf(-1, positive, 5000), amount{}},
	} {
		if got, ok := readAmount(DecimalNumber, c.value); !ok || got != c.want {
			t.Errorf("%s: %v, %v", name, got, ok)
		}
	}
	for _, kind := range []NumberKind{Whole, DecimalNumber} {
		if _, ok := readAmount(kind, []byte{1, 2, 3}); ok {
			t.Errorf("three bytes are a number of kind %d", kind)
		}
	}
	if got, ok := readAmount(Whole, whole(math.MinInt64)); !ok || got != amountOf(math.MinInt64) {
		t.Errorf("the least integer: %v, %v", got, ok)
	}
}

// TestSummedErrors holds that a row of a unit with other columns is refused.
func TestSummedErrors(t *testing.T) {
	spec := adding()
	spec.Keys, spec.Sums.Summed = nil, []NumberKind{Whole, DecimalNumber}
	for name, row := range map[string][][]byte{
		"nothing": {}, "one sum": {whole(1)}, "three sums": {whole(1), nil, nil},
		"no integer": {{1, 2, 3}, nil}, "no numeric": {nil, {1, 2, 3}},
	} {
		if err := New(spec, secret, 1<<30).Take(row); !errors.Is(err, errRow) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
