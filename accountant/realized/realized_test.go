package realized_test

import (
	"errors"
	"math"
	"testing"

	"dpproxy/accountant/realized"
)

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Max(math.Abs(want), 1)
}

func responses(t *testing.T, k int) *realized.Responses {
	t.Helper()
	r, err := realized.NewResponses(k)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func observe(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestResponses(t *testing.T) {
	tests := []struct {
		k       int
		outputs []int
		epsilon []int64 // in halves
		want    int64
	}{
		{2, []int{1, 1, 1, 0, 0, 0}, []int64{1, 1, 1, 1, 1, 1}, 0},
		{2, []int{1, 1, 1, 1, 0}, []int64{1, 1, 1, 1, 1}, 3},
		{4, []int{0, 0, 3}, []int64{2, 1, 4}, 4},
	}
	for _, tt := range tests {
		r := responses(t, tt.k)
		domain, err := realized.NewFinite(tt.k)
		observe(t, err)
		for i, y := range tt.outputs {
			observe(t, r.Observe(y, tt.epsilon[i]))
			observe(t, domain.Observe(answer(tt.k, y, float64(tt.epsilon[i])/2)))
			if got := domain.Loss(); !near(got, float64(r.Loss())/2, 1e-9) {
				t.Errorf("after %v: %g by likelihoods, %d halves by counting", tt.outputs[:i+1], got, r.Loss())
			}
		}
		if r.Loss() != tt.want {
			t.Errorf("k = %d, %v: %d halves, want %d", tt.k, tt.outputs, r.Loss(), tt.want)
		}
	}
}

// answer returns the probability of the output y of randomised response.
func answer(k, y int, epsilon float64) func(x int) float64 {
	return func(x int) float64 {
		p := 1 / (math.Exp(epsilon) + float64(k) - 1)
		if x == y {
			p *= math.Exp(epsilon)
		}
		return p
	}
}

// A rule decides whether a question is accepted.
type rule func(loss, epsilon, limit int64) bool

// TestFilterTree walks all outputs that the filter allows with ε_g = 4 units and
// responses of 1 or 2 units: no object ever loses more than ε_g. With a twin of
// the rule that does not count the question itself, some do.
func TestFilterTree(t *testing.T) {
	const limit = 4
	twin := func(loss, _, limit int64) bool { return loss < limit }
	for k, depth := range map[int]int{2: 14, 3: 9} {
		losses := map[int64]int{}
		leaves := walk(t, responses(t, k), depth, limit, realized.Admits[int64], losses)
		if leaves < 1000 || losses[limit] == 0 {
			t.Errorf("k = %d: %d leaves with the losses %v", k, leaves, losses)
		}
		for loss := range losses {
			if loss > limit {
				t.Errorf("k = %d: an object loses %d of %d", k, loss, limit)
			}
		}
		wrong := map[int64]int{}
		walk(t, responses(t, k), depth, limit, twin, wrong)
		if wrong[limit+1] == 0 {
			t.Errorf("k = %d: the twin's losses are %v", k, wrong)
		}
	}
}

// walk returns the number of transcripts, and counts their losses. The analyst asks
// the larger question where it is accepted, and else the smaller, and changes the
// order with the depth.
func walk(t *testing.T, r *realized.Responses, depth int, limit int64, admits rule, losses map[int64]int) int {
	t.Helper()
	epsilon := int64(1 + depth%2)
	if !admits(r.Loss(), epsilon, limit) {
		epsilon = 1
	}
	if depth == 0 || !admits(r.Loss(), epsilon, limit) {
		losses[r.Loss()]++
		return 1
	}
	leaves := 0
	for y := range r.Sums() {
		next := restored(t, r.Sums())
		observe(t, next.Observe(y, epsilon))
		leaves += walk(t, next, depth-1, limit, admits, losses)
	}
	return leaves
}

// restored returns the state with the given sums.
func restored(t *testing.T, sums []int64) *realized.Responses {
	t.Helper()
	r := responses(t, len(sums))
	for x, n := range sums {
		if n > 0 {
			observe(t, r.Observe(x, n))
		}
	}
	return r
}

// TestExpectedQueries follows the law of the state of an object with each value,
// until almost surely nothing is accepted any more.
func TestExpectedQueries(t *testing.T) {
	for _, tt := range []struct{ limit, k, want float64 }{
		{1, 10, 92.50043814467982}, {0.1, 10, 99.91758255395484}, {4, 8, 31.488905602032794}, {1, 2, 3.77364},
	} {
		got, err := realized.ExpectedQueries(tt.limit, int64(tt.k))
		if err != nil || !near(got, tt.want, 1e-6) {
			t.Errorf("limit %g, k = %g: %.15g, want %.15g (%v)", tt.limit, tt.k, got, tt.want, err)
		}
	}
	const units = 4
	for _, limit := range []float64{0.5, 2, 6} {
		want, err := realized.ExpectedQueries(limit, units)
		if err != nil {
			t.Fatal(err)
		}
		if got := meanAccepted(t, 2, limit/units, units); !near(got, want, 1e-9) {
			t.Errorf("limit %g: %.12g queries, by the formula %.12g", limit, got, want)
		}
		if got := meanAccepted(t, 3, limit/units, units); got <= units {
			t.Errorf("limit %g: three categories accept %g queries, no more than by composition", limit, got)
		}
	}
	if got, err := realized.ExpectedQueries(1e-12, 7); err != nil || got != 49 {
		t.Errorf("%g, %v at a limit near 0", got, err)
	}
}

// meanAccepted returns the mean number of responses of one unit that are accepted.
func meanAccepted(t *testing.T, k int, unit float64, limit int64) float64 {
	t.Helper()
	type state [3]int64
	law := map[state]float64{{}: 1}
	mean := 0.0
	for left := 1.0; left > 1e-14; {
		next := map[state]float64{}
		left = 0
		for s, p := range law {
			r := restored(t, s[:k])
			if !realized.Admits(r.Loss(), 1, limit) {
				continue
			}
			mean += p
			left += p
			for y := range k {
				after := restored(t, s[:k])
				observe(t, after.Observe(y, 1))
				var to state
				copy(to[:], after.Sums())
				next[to] += p * answer(k, y, unit)(0)
			}
		}
		law = next
	}
	return mean
}

func TestBits(t *testing.T) {
	for _, tt := range []struct {
		ones, zeros int64
		epsilon     float64
		want        float64
	}{{8, 2, 0.2, 1.2}, {30, 20, 0.1, 1}, {1, 0, 3, 3}, {0, 7, 0.5, 3.5}} {
		var b realized.Bits
		observe(t, b.Observe(tt.epsilon, tt.ones, tt.zeros))
		if got := b.Loss(); !near(got, tt.want, 1e-10) || got < tt.want {
			t.Errorf("%d ones, %d zeros, ε = %g: %.15g, want %.15g", tt.ones, tt.zeros, tt.epsilon, got, tt.want)
		}
	}
}

// TestBitsAgainstGrid has mixed levels, whose maximum is inside the interval.
func TestBitsAgainstGrid(t *testing.T) {
	var b realized.Bits
	for _, l := range []struct {
		epsilon     float64
		ones, zeros int64
	}{{2, 5, 4}, {0.5, 1, 8}, {3, 2, 2}, {2, 1, 0}} {
		observe(t, b.Observe(l.epsilon, l.ones, l.zeros))
	}
	most, least := math.Inf(-1), math.Inf(1)
	const points = 200_000
	for i := range points + 1 {
		x := b.LogLikelihood(float64(i) / points)
		most, least = math.Max(most, x), math.Min(least, x)
	}
	if got := b.Loss(); got < most-least || got > most-least+1e-8 {
		t.Errorf("ℒ = %.12g, on a grid %.12g", got, most-least)
	}
	if ends := math.Abs(b.LogLikelihood(0) - b.LogLikelihood(1)); ends > b.Loss()-0.1 {
		t.Errorf("the ends alone have %g of %g: this test is too easy", ends, b.Loss())
	}
}

func TestFinite(t *testing.T) {
	f, err := realized.NewFinite(11)
	observe(t, err)
	want := []float64{1.5, 1.1458333333333333, 1.5, 2.25}
	for i, bit := range []int{1, 0, 1, 1} {
		observe(t, f.Observe(func(x int) float64 {
			p := 0.4 + 0.2*math.Pow(float64(x)/10, float64(i+1))
			if bit == 0 {
				return 1 - p
			}
			return p
		}))
		if got := math.Exp(f.Loss()); !near(got, want[i], 1e-10) {
			t.Errorf("after %d outputs: a ratio of %.12g, want %.12g", i+1, got, want[i])
		}
	}
}

func TestMoments(t *testing.T) {
	for _, tt := range []struct {
		mean, square int64 // the one bit of each kind
		want, within float64
	}{{1, 1, 1.4137899611994187, 1e-8}, {0, 1, 1.4137899611994187, 1e-8}, {1, 0, 1.691376, 1e-6}, {0, 0, 1.691376, 1e-6}} {
		var m realized.Moments
		observe(t, m.ObserveMean(1, tt.mean, 1-tt.mean))
		observe(t, m.ObserveSquare(1, tt.square, 1-tt.square))
		if got := m.Loss(); !near(got, tt.want, tt.within) {
			t.Errorf("bits %d and %d: %.12g, want %.12g", tt.mean, tt.square, got, tt.want)
		}
	}
}

// TestMomentsAgainstGrid has bits of several levels, up to many of them.
func TestMomentsAgainstGrid(t *testing.T) {
	for _, counts := range [][8]int64{
		{1, 0, 0, 0, 0, 0, 0, 0}, {3, 1, 2, 5, 0, 4, 1, 1}, {40, 60, 100, 20, 30, 30, 5, 50}, {0, 0, 9, 1, 0, 0, 2, 2},
	} {
		var m realized.Moments
		for i, epsilon := range []float64{0.5, 4} {
			c := counts[4*i:]
			observe(t, m.ObserveMean(epsilon, c[0], c[1]))
			observe(t, m.ObserveSquare(epsilon, c[2], c[3]))
		}
		most, least := math.Inf(-1), math.Inf(1)
		const points = 400_000
		for i := range points + 1 {
			x := m.LogLikelihood(2*float64(i)/points - 1)
			most, least = math.Max(most, x), math.Min(least, x)
		}
		if got := m.Loss(); got < most-least || got > most-least+1e-7 {
			t.Errorf("%v: ℒ = %.12g, on a grid %.12g", counts, got, most-least)
		}
	}
}

// TestMomentsWithLargeEpsilon has bits that as good as tell the value.
func TestMomentsWithLargeEpsilon(t *testing.T) {
	for _, epsilon := range []float64{30, 700} {
		var m realized.Moments
		observe(t, m.ObserveMean(epsilon, 1, 0))
		observe(t, m.ObserveSquare(epsilon, 1, 1))
		if got := m.Loss(); !(got >= epsilon) || got > 2.1*epsilon {
			t.Errorf("ε = %g: ℒ = %g", epsilon, got)
		}
	}
}

func TestAdmits(t *testing.T) {
	for _, tt := range []struct {
		loss, epsilon, limit int64
		want                 bool
	}{
		{3, 1, 4, true},
		{4, 1, 4, false},
		{0, 5, 4, false},
		{0, 0, 4, false},
		{0, -1, 4, false},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64, false},
		{0, math.MaxInt64, math.MaxInt64, true},
		{-1, 1, 4, false},
	} {
		if got := realized.Admits(tt.loss, tt.epsilon, tt.limit); got != tt.want {
			t.Errorf("Admits(%d, %d, %d) = %v", tt.loss, tt.epsilon, tt.limit, got)
		}
	}
	if realized.Admits(math.NaN(), 1, 4) || realized.Admits(0, math.NaN(), 4) || realized.Admits(0, 1, math.NaN()) {
		t.Error("admits what is no number")
	}
}

func TestRefuses(t *testing.T) {
	var b realized.Bits
	finite, _ := realized.NewFinite(2)
	full := responses(t, 2)
	for name, err := range map[string]error{
		"one category":    second(realized.NewResponses(1)),
		"one value":       second(realized.NewFinite(1)),
		"category":        full.Observe(2, 1),
		"no loss":         full.Observe(0, 0),
		"huge loss":       full.Observe(0, math.MaxInt64),
		"bits without ε":  b.Observe(0, 1, 1),
		"bits with NaN":   b.Observe(math.NaN(), 1, 1),
		"negative bits":   b.Observe(1, -1, 1),
		"too many bits":   b.Observe(1, math.MaxInt64, 1),
		"impossible":      finite.Observe(func(x int) float64 { return float64(x) }),
		"no queries":      second(realized.ExpectedQueries(1, 0)),
		"queries for NaN": second(realized.ExpectedQueries(math.NaN(), 2)),
	} {
		if !errors.Is(err, realized.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := finite.Loss(); got != 0 {
		t.Errorf("a refused output left a loss of %g", got)
	}
	if got := finite.LogLikelihood(); len(got) != 2 || got[0] != 0 {
		t.Errorf("likelihoods %v", got)
	}
}

func second[T any](_ T, err error) error { return err }

// FuzzBits looks for bits whose loss is negative, not a number, or above the sum
// of their ε.
func FuzzBits(f *testing.F) {
	f.Add(0.5, int64(3), int64(1), 2.0, int64(0), int64(7))
	f.Add(700.0, int64(1<<40), int64(1), 1e-300, int64(9), int64(1<<40))
	f.Fuzz(func(t *testing.T, e1 float64, a, b int64, e2 float64, c, d int64) {
		var bits realized.Bits
		var moments realized.Moments
		sum := 0.0
		for _, l := range []struct {
			epsilon     float64
			ones, zeros int64
		}{{e1, a, b}, {e2, c, d}} {
			err := bits.Observe(l.epsilon, l.ones, l.zeros)
			if err != nil {
				if !errors.Is(err, realized.ErrParameter) {
					t.Fatal(err)
				}
				continue
			}
			sum += l.epsilon * float64(l.ones+l.zeros)
			observe(t, moments.ObserveMean(l.epsilon, l.zeros, l.ones))
			observe(t, moments.ObserveSquare(l.epsilon, l.ones, l.zeros))
		}
		if got := bits.Loss(); !(got >= 0) || got > sum*(1+1e-9)+1e-3 {
			t.Errorf("ℒ = %g where the sum of ε is %g", got, sum)
		}
		if got := moments.Loss(); !(got >= 0) {
			t.Errorf("ℒ = %g", got)
		}
	})
}
