package mechanisms_test

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// FuzzSelection gives any parameters and private values to the mechanisms that
// answer with an index, a category or a bit: an error is a typed one, and an answer
// is one that can be.
func FuzzSelection(f *testing.F) {
	f.Add(int64(1), int64(picoUnit), int64(5), false, []byte("any private scores, in words of eight"))
	f.Add(int64(math.MaxInt64), int64(1), int64(math.MaxInt64), true, []byte{})
	f.Add(int64(1), int64(dp.MaxPico), int64(2), true, make([]byte, 64))
	f.Add(int64(0), int64(-1), int64(math.MinInt64), false, []byte{255, 255, 255, 255, 255, 255, 255, 127, 1})
	f.Fuzz(func(t *testing.T, delta, epsilonPico, bound int64, monotone bool, data []byte) {
		src := rand.NewChaCha8([32]byte{byte(delta), byte(epsilonPico), byte(bound)})
		values := privateWords(data)
		typed := func(err error) bool {
			if err != nil && !errors.Is(err, mechanisms.ErrParameter) {
				t.Fatal(err)
			}
			return err == nil
		}
		if m, err := mechanisms.NewExponential(delta, monotone, epsilonPico); typed(err) {
			i, err := m.Select(src, nil, values)
			if typed(err) && (i < 0 || i >= len(values)) {
				t.Fatalf("%v chose %d of %d", m, i, len(values))
			}
			if len(values) > 0 {
				r, err := m.SelectPoint(src, -3, bound, values[1:], values)
				if typed(err) && (r.Int().Cmp(big.NewInt(-3)) < 0 || r.Int().Cmp(big.NewInt(bound)) >= 0) {
					t.Fatalf("%v chose the point %v below %d", m, r.Int(), bound)
				}
			}
		}
		if m, err := mechanisms.NewNoisyMax(delta, monotone, epsilonPico); typed(err) {
			if i, err := m.Select(src, values); typed(err) && (i < 0 || i >= len(values)) {
				t.Fatalf("%v chose %d of %d", m, i, len(values))
			}
		}
		if m, err := mechanisms.NewAboveThreshold(delta, monotone, epsilonPico); typed(err) {
			s, err := m.Begin(src, big.NewInt(bound))
			if typed(err) {
				_, _ = search(s, values)
			}
		}
		fuzzResponses(t, src, bound, epsilonPico, values, typed)
	})
}

// fuzzResponses answers all values by the two local mechanisms.
func fuzzResponses(t *testing.T, src mechanisms.Source, bound, epsilonPico int64, values []mechanisms.Private, typed func(error) bool) {
	t.Helper()
	if m, err := mechanisms.NewRandomizedResponse(bound, epsilonPico); typed(err) {
		for _, v := range values {
			if y := m.Respond(src, v).Int(); y.Sign() < 0 || y.Cmp(big.NewInt(bound)) >= 0 {
				t.Fatalf("%v responds %v", m, y)
			}
		}
	}
	if m, err := mechanisms.NewBoundedMean(-3, bound, epsilonPico); typed(err) {
		for _, v := range values {
			if y := m.Respond(src, v).Int(); y.Sign() < 0 || y.Cmp(big.NewInt(1)) > 0 {
				t.Fatalf("%v responds %v", m, y)
			}
		}
	}
}

// privateWords reads words of eight bytes; the rest of the data is one number.
func privateWords(data []byte) []mechanisms.Private {
	var values []mechanisms.Private
	for ; len(data) >= 8 && len(values) < 50; data = data[8:] {
		values = append(values, protected(int64(binary.LittleEndian.Uint64(data)))...)
	}
	if len(data) > 0 {
		values = append(values, mechanisms.Protect(new(big.Int).SetBytes(data)))
	}
	return values
}
