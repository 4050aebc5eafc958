package accountant_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/mechanisms"
)

const pico = 1e-12

func laplaceEvent(l0, linf int64, scale *big.Rat) dp.LaplaceEvent {
	return dp.LaplaceEvent{Sensitivity: dp.Sensitivity{L0: l0, LInf: linf}, Scale: scale}
}

func staircaseEvent(l0, linf, step int64) dp.StaircaseEvent {
	return dp.StaircaseEvent{Sensitivity: dp.Sensitivity{L0: l0, LInf: linf}, Epsilon: big.NewRat(1, 1), Step: step}
}

func gaussianEvent(l0, linf, variance int64) dp.GaussianEvent {
	return dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: l0, LInf: linf}, Variance: big.NewInt(variance)}
}

func imageEvent(square, variance int64) dp.ImageEvent {
	return dp.ImageEvent{Coordinates: 5, L2Squared: big.NewInt(square), Variance: big.NewInt(variance)}
}

func TestPriceExamples(t *testing.T) {
	third := big.NewRat(10, 3)
	tests := []struct {
		e    dp.Event
		m    dp.Measure
		want int64
	}{
		{laplaceEvent(1, 1, big.NewRat(1, 1)), dp.PureDP, dp.PicoPerUnit},
		{laplaceEvent(3, 5, big.NewRat(30, 1)), dp.PureDP, dp.PicoPerUnit / 2},
		{laplaceEvent(1, 1, third), dp.PureDP, 3 * dp.PicoPerUnit / 10},
		{laplaceEvent(1, 1, big.NewRat(3, 1)), dp.PureDP, 333_333_333_334},
		// tanh(1/2) = 0.462117157260009758..., tanh(1/4)/2 = 0.122459331201854557...
		{laplaceEvent(1, 1, big.NewRat(1, 1)), dp.ZCDP, 462_117_157_261},
		{laplaceEvent(1, 1, big.NewRat(2, 1)), dp.ZCDP, 122_459_331_202},
		{laplaceEvent(2, 1, big.NewRat(2, 1)), dp.ZCDP, 244_918_662_404},
		{gaussianEvent(1, 1, 1), dp.ZCDP, dp.PicoPerUnit / 2},
		{gaussianEvent(2, 3, 9), dp.ZCDP, dp.PicoPerUnit},
		{gaussianEvent(1, 1, 3), dp.ZCDP, 166_666_666_667},
		{gaussianEvent(1, 1, math.MaxInt64), dp.ZCDP, 1},
		{imageEvent(9, 9), dp.ZCDP, dp.PicoPerUnit / 2},
		{imageEvent(1, 3), dp.ZCDP, 166_666_666_667},
		{dp.PureEvent{Epsilon: big.NewRat(1, 3)}, dp.PureDP, 333_333_333_334},
		{dp.PureEvent{Epsilon: big.NewRat(1, 1)}, dp.ZCDP, 462_117_157_261},
		{dp.PureEvent{Epsilon: big.NewRat(3, 1)}, dp.ZCDP, 2_715_444_760_935},
		{dp.PureEvent{Epsilon: big.NewRat(100, 1)}, dp.ZCDP, 100 * dp.PicoPerUnit},
		{dp.BoundedRangeEvent{Epsilon: big.NewRat(1, 1)}, dp.PureDP, dp.PicoPerUnit},
		{dp.BoundedRangeEvent{Epsilon: big.NewRat(1, 1)}, dp.ZCDP, dp.PicoPerUnit / 8},
		{dp.BoundedRangeEvent{Epsilon: big.NewRat(100, 1)}, dp.ZCDP, 100 * dp.PicoPerUnit},
		{refinement(4, 3, big.NewRat(1, 10), big.NewRat(1, 2)), dp.ZCDP, 9 * dp.PicoPerUnit / 5},
		{refinement(4, 3, new(big.Rat), new(big.Rat)), dp.ZCDP, 0},
		{reduction(2, new(big.Rat), big.NewRat(1, 4), big.NewRat(1, 2)), dp.PureDP, dp.PicoPerUnit / 2},
		{reduction(2, big.NewRat(1, 4), big.NewRat(1, 2), big.NewRat(1, 2)), dp.PureDP, dp.PicoPerUnit / 2},
		{reduction(2, new(big.Rat), big.NewRat(1, 4), big.NewRat(1, 2)), dp.ZCDP, 244_918_662_404},
		{reduction(2, big.NewRat(1, 4), big.NewRat(1, 2), big.NewRat(1, 2)), dp.ZCDP, 0},
		{staircaseEvent(1, 5, 2), dp.PureDP, dp.PicoPerUnit},
		{staircaseEvent(3, 5, 5), dp.PureDP, 3 * dp.PicoPerUnit},
		{staircaseEvent(2, 5, 2), dp.ZCDP, 924_234_314_521}, // tanh(1/2), twice
		{dp.ComposedEvent{}, dp.PureDP, 0},
		{
			dp.ComposedEvent{gaussianEvent(1, 1, 3), dp.ComposedEvent{laplaceEvent(1, 1, big.NewRat(2, 1))}},
			dp.ZCDP, 166_666_666_667 + 122_459_331_202,
		},
	}
	for _, tt := range tests {
		loss, err := accountant.Price(tt.e, tt.m)
		if err != nil || loss.Pico() != tt.want || loss.Measure() != tt.m || loss.Atto() != 0 {
			t.Errorf("%v under %v: %v, %v; want %d", tt.e, tt.m, loss, err, tt.want)
		}
	}
}

func refinement(l0, linf int64, before, after *big.Rat) dp.RefinementEvent {
	return dp.RefinementEvent{Sensitivity: dp.Sensitivity{L0: l0, LInf: linf}, Before: before, After: after}
}

func reduction(l0 int64, before, after, limit *big.Rat) dp.ReductionEvent {
	return dp.ReductionEvent{Sensitivity: dp.Sensitivity{L0: l0, LInf: 1}, Before: before, After: after, Cap: limit}
}

// TestApproximatePrice rounds the delta up, and adds those of its parts.
func TestApproximatePrice(t *testing.T) {
	third := dp.ApproximateEvent{Of: dp.PureEvent{Epsilon: big.NewRat(1, 1)}, Delta: big.NewRat(1, 3*dp.AttoPerUnit)}
	for _, tt := range []struct {
		e          dp.Event
		pico, atto int64
	}{
		{third, 462_117_157_261, 1},
		{dp.ApproximateEvent{Of: third, Delta: big.NewRat(1, 1_000_000)}, 462_117_157_261, dp.AttoPerUnit/1_000_000 + 1},
		{dp.ComposedEvent{third, third}, 2 * 462_117_157_261, 2},
	} {
		loss, err := accountant.Price(tt.e, dp.ZCDP)
		if err != nil || loss.Pico() != tt.pico || loss.Atto() != tt.atto {
			t.Errorf("%v: %v, %v", tt.e, loss, err)
		}
	}
}

// TestPurePriceIsTight holds the price of an ε-DP release to ε·tanh(ε/2) in
// doubles.
func TestPurePriceIsTight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := big.NewRat(rapid.Int64Range(1, 1<<40).Draw(t, "numerator"), rapid.Int64Range(1, 1<<40).Draw(t, "denominator"))
		x, _ := epsilon.Float64()
		loss, err := accountant.Price(dp.PureEvent{Epsilon: epsilon}, dp.ZCDP)
		if x > 9000 {
			return // beyond the amounts of a ledger, or nearly
		}
		want := x * math.Tanh(x/2)
		if got := float64(loss.Pico()) * pico; err != nil || got < want*(1-1e-14) || got > want*(1+1e-14)+1.001*pico {
			t.Fatalf("ε = %v: %v, want %v (%v)", x, got, want, err)
		}
	})
}

func TestPriceRefuses(t *testing.T) {
	laplace, gaussian := laplaceEvent(1, 1, big.NewRat(1, 1)), gaussianEvent(1, 1, 1)
	certain := dp.ApproximateEvent{Of: laplace, Delta: big.NewRat(1, 1)}
	tests := []struct {
		name string
		e    dp.Event
		m    dp.Measure
		want error
	}{
		{"gaussian under pure", gaussian, dp.PureDP, accountant.ErrNoFinitePrice},
		{"one part gaussian under pure", dp.ComposedEvent{laplace, gaussian}, dp.PureDP, accountant.ErrNoFinitePrice},
		{"no measure", laplace, 0, dp.ErrMeasure},
		{"nothing under no measure", dp.ComposedEvent{}, 0, dp.ErrMeasure},
		{"no event", nil, dp.ZCDP, accountant.ErrEvent},
		{"unknown event", &laplace, dp.ZCDP, accountant.ErrEvent},
		{"unknown part", dp.ComposedEvent{laplace, nil}, dp.PureDP, accountant.ErrEvent},
		{"no scale", laplaceEvent(1, 1, nil), dp.PureDP, accountant.ErrEvent},
		{"scale zero", laplaceEvent(1, 1, new(big.Rat)), dp.ZCDP, accountant.ErrEvent},
		{"scale negative", laplaceEvent(1, 1, big.NewRat(-1, 1)), dp.PureDP, accountant.ErrEvent},
		{"laplace without sensitivity", laplaceEvent(0, 1, big.NewRat(1, 1)), dp.PureDP, accountant.ErrEvent},
		{"gaussian without sensitivity", gaussianEvent(1, 0, 1), dp.ZCDP, accountant.ErrEvent},
		{"variance zero", gaussianEvent(1, 1, 0), dp.ZCDP, accountant.ErrEvent},
		{"no variance", dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: 1}}, dp.ZCDP, accountant.ErrEvent},
		{"image under pure", imageEvent(1, 1), dp.PureDP, accountant.ErrNoFinitePrice},
		{"image without variance", imageEvent(1, 0), dp.ZCDP, accountant.ErrEvent},
		{"image without sensitivity", imageEvent(0, 1), dp.ZCDP, accountant.ErrEvent},
		{"image of nothing", dp.ImageEvent{Coordinates: 1}, dp.ZCDP, accountant.ErrEvent},
		{"no epsilon", dp.PureEvent{}, dp.PureDP, accountant.ErrEvent},
		{"staircase without sensitivity", staircaseEvent(0, 1, 1), dp.PureDP, accountant.ErrEvent},
		{"staircase without a step", staircaseEvent(1, 5, 0), dp.PureDP, accountant.ErrEvent},
		{"staircase of too wide a step", staircaseEvent(1, 5, 6), dp.ZCDP, accountant.ErrEvent},
		{"staircase without epsilon", dp.StaircaseEvent{Sensitivity: laplace.Sensitivity, Step: 1}, dp.PureDP, accountant.ErrEvent},
		{"epsilon zero", dp.PureEvent{Epsilon: new(big.Rat)}, dp.ZCDP, accountant.ErrEvent},
		{"no range", dp.BoundedRangeEvent{}, dp.ZCDP, accountant.ErrEvent},
		{"range zero", dp.BoundedRangeEvent{Epsilon: new(big.Rat)}, dp.PureDP, accountant.ErrEvent},
		{"approximately nothing", dp.ApproximateEvent{Delta: big.NewRat(1, 2)}, dp.ZCDP, accountant.ErrEvent},
		{"no delta", dp.ApproximateEvent{Of: laplace}, dp.ZCDP, accountant.ErrEvent},
		{"delta zero", dp.ApproximateEvent{Of: laplace, Delta: new(big.Rat)}, dp.ZCDP, accountant.ErrEvent},
		{"delta above one", dp.ApproximateEvent{Of: laplace, Delta: big.NewRat(3, 2)}, dp.ZCDP, accountant.ErrEvent},
		{"delta under pure", dp.ApproximateEvent{Of: laplace, Delta: big.NewRat(1, 2)}, dp.PureDP, accountant.ErrNoFinitePrice},
		{"approximately unknown", dp.ApproximateEvent{Of: &laplace, Delta: big.NewRat(1, 2)}, dp.ZCDP, accountant.ErrEvent},
		{"deltas above one", slices.Repeat(dp.ComposedEvent{certain}, 10), dp.ZCDP, dp.ErrOverflow},
		{"refinement backwards", refinement(1, 1, big.NewRat(2, 1), big.NewRat(1, 1)), dp.ZCDP, accountant.ErrEvent},
		{"refinement from below", refinement(1, 1, big.NewRat(-1, 1), big.NewRat(1, 1)), dp.ZCDP, accountant.ErrEvent},
		{"refinement of nothing", refinement(1, 1, nil, big.NewRat(1, 1)), dp.ZCDP, accountant.ErrEvent},
		{"refinement without sensitivity", refinement(0, 1, new(big.Rat), big.NewRat(1, 1)), dp.ZCDP, accountant.ErrEvent},
		{"refinement under pure", refinement(1, 1, new(big.Rat), big.NewRat(1, 1)), dp.PureDP, accountant.ErrNoFinitePrice},
		{"reduction beyond its cap", reduction(1, new(big.Rat), big.NewRat(2, 1), big.NewRat(1, 1)), dp.PureDP, accountant.ErrEvent},
		{"reduction backwards", reduction(1, big.NewRat(2, 1), big.NewRat(1, 1), big.NewRat(3, 1)), dp.PureDP, accountant.ErrEvent},
		{"reduction to nothing", reduction(1, new(big.Rat), new(big.Rat), big.NewRat(3, 1)), dp.ZCDP, accountant.ErrEvent},
		{"reduction that stays", reduction(1, big.NewRat(1, 1), big.NewRat(1, 1), big.NewRat(3, 1)), dp.ZCDP, accountant.ErrEvent},
		{"reduction without a cap", reduction(1, new(big.Rat), big.NewRat(1, 1), nil), dp.ZCDP, accountant.ErrEvent},
		{"no noise to speak of", laplaceEvent(1, math.MaxInt64, big.NewRat(1, math.MaxInt64)), dp.PureDP, dp.ErrOverflow},
		{"nor under zCDP", laplaceEvent(math.MaxInt64, math.MaxInt64, big.NewRat(1, math.MaxInt64)), dp.ZCDP, dp.ErrOverflow},
		{"nor gaussian", gaussianEvent(math.MaxInt64, math.MaxInt64, 1), dp.ZCDP, dp.ErrOverflow},
		{"a sum too large", dp.ComposedEvent{gaussianEvent(1, 100, 1), gaussianEvent(1, 100, 1)}, dp.ZCDP, dp.ErrOverflow},
	}
	for _, tt := range tests {
		if loss, err := accountant.Price(tt.e, tt.m); !errors.Is(err, tt.want) || loss != (dp.Loss{}) {
			t.Errorf("%s: %v, %v", tt.name, loss, err)
		}
	}
}

// renyiRate returns D_α/α of discrete Laplace noise and the same noise moved by
// shift, α = 1 + a, by summing the law over the values of the privacy loss. It
// is E[exp(aL)] less one that is summed, so that small a lose no digits.
func renyiRate(scale float64, shift int64, a float64) float64 {
	rate := 1 / scale
	p := math.Exp(-rate)
	full := rate * float64(shift)
	sum := math.Expm1(a*full)/(1+p) + math.Expm1(-a*full)*math.Exp(-full)/(1+p)
	for n := int64(1); n < shift; n++ {
		mass := math.Tanh(rate/2) * math.Exp(-rate*float64(n))
		sum += mass * math.Expm1(a*rate*float64(shift-2*n))
	}
	return math.Log1p(sum) / a / (1 + a)
}

// TestLaplacePriceCoversEveryOrder compares the price with the supremum over α
// that it has to cover, and checks that it gives nothing away either.
func TestLaplacePriceCoversEveryOrder(t *testing.T) {
	for _, scale := range [][2]int64{{1, 50}, {1, 3}, {1, 1}, {7, 5}, {5, 1}, {100, 3}, {1000, 1}} {
		for _, shift := range []int64{1, 2, 3, 10, 100} {
			s := float64(scale[0]) / float64(scale[1])
			sup := 0.0
			for a := 1e-7; a < 1e5; a *= 1.1 {
				if rate := renyiRate(s, shift, a); !math.IsInf(rate, 0) { // beyond doubles
					sup = max(sup, rate)
				}
			}
			loss, err := accountant.Price(laplaceEvent(1, shift, big.NewRat(scale[0], scale[1])), dp.ZCDP)
			got, epsilon := float64(loss.Pico())*pico, float64(shift)/s
			if err != nil || got < sup*(1-1e-12) || got > sup*(1+1e-4)+pico {
				t.Errorf("scale %v, shift %d: price %v (%v), supremum %v", scale, shift, got, err, sup)
			}
			if got > epsilon*epsilon/2+pico {
				t.Errorf("scale %v, shift %d: price %v is above ½ε² = %v", scale, shift, got, epsilon*epsilon/2)
			}
		}
	}
}

// TestLaplacePriceAtItsLimits uses the limits of the constant: ½ε² for noise far
// above the sensitivity, ε + exp(−ε) − 1 for a fine lattice, ε for hardly any noise.
func TestLaplacePriceAtItsLimits(t *testing.T) {
	power := func(n uint) *big.Rat { return new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), n)) }
	tests := []struct {
		name  string
		e     dp.LaplaceEvent
		want  float64
		slack float64
	}{
		{"tiny ε", laplaceEvent(1, 1, power(120)), 0, pico},
		{"many of tiny ε", laplaceEvent(1<<62, 1, big.NewRat(1<<34, 1)), math.Exp2(62) / 2 / math.Exp2(68), pico},
		{"fine lattice", laplaceEvent(1, 1<<60, big.NewRat(1<<60, 1)), math.Exp(-1), pico},
		{"finest lattice", laplaceEvent(1, math.MaxInt64, power(64)), 0.5 + math.Exp(-0.5) - 1, pico},
		{"ε just near", laplaceEvent(1, 64, big.NewRat(1, 1)), 64 - 1/math.Sinh(1), pico},
		{"ε just far", laplaceEvent(1, 65, big.NewRat(1, 1)), 65 - 1/math.Sinh(1), pico},
		{"hardly any noise", laplaceEvent(2, 1, big.NewRat(1, 1000)), 2000, pico},
	}
	for _, tt := range tests {
		loss, err := accountant.Price(tt.e, dp.ZCDP)
		got := float64(loss.Pico()) * pico
		if err != nil || got < tt.want*(1-1e-15) || got > tt.want*(1+1e-15)+1.001*tt.slack {
			t.Errorf("%s: %.17g, %v; want %.17g", tt.name, got, err, tt.want)
		}
	}
}

// TestPriceIsMonotone checks for any event that more sensitivity never costs
// less, that more noise never costs more, and that zCDP stays below ½ε² a coordinate.
func TestPriceIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := func(name string) int64 {
			return rapid.Int64Range(1, 1<<rapid.IntRange(0, 30).Draw(t, name+" bits")).Draw(t, name)
		}
		s := dp.Sensitivity{L0: size("l0"), LInf: size("linf")}
		num, den := size("num"), size("den")
		more := s
		if rapid.Bool().Draw(t, "partitions") {
			more.L0 += size("more")
		} else {
			more.LInf += size("more")
		}
		scale, quieter := big.NewRat(num, den), big.NewRat(num+size("noise"), den)
		for _, m := range []dp.Measure{dp.PureDP, dp.ZCDP} {
			base := picos(t, dp.LaplaceEvent{Sensitivity: s, Scale: scale}, m)
			if picos(t, dp.LaplaceEvent{Sensitivity: more, Scale: scale}, m) < base {
				t.Fatalf("%v: sensitivity %v costs less than %v", m, more, s)
			}
			if picos(t, dp.LaplaceEvent{Sensitivity: s, Scale: quieter}, m) > base {
				t.Fatalf("%v: scale %v costs more than %v", m, quieter, scale)
			}
		}
		variance := big.NewInt(num)
		base := picos(t, dp.GaussianEvent{Sensitivity: s, Variance: variance}, dp.ZCDP)
		if picos(t, dp.GaussianEvent{Sensitivity: more, Variance: variance}, dp.ZCDP) < base {
			t.Fatalf("sensitivity %v costs less than %v", more, s)
		}
		bound := new(big.Rat).Quo(new(big.Rat).SetInt64(s.LInf), scale)
		bound.Mul(bound, bound).Mul(bound, big.NewRat(s.L0, 2)).Mul(bound, big.NewRat(dp.PicoPerUnit, 1))
		bound.Add(bound, big.NewRat(1, 1))
		zcdp := picos(t, dp.LaplaceEvent{Sensitivity: s, Scale: scale}, dp.ZCDP)
		if zcdp != tooDear && bound.Cmp(big.NewRat(zcdp, 1)) <= 0 {
			t.Fatalf("price %d is above ½ε² = %v", zcdp, bound)
		}
	})
}

// tooDear stands for a price that overflows.
const tooDear = math.MaxInt64

func picos(t *rapid.T, e dp.Event, m dp.Measure) int64 {
	loss, err := accountant.Price(e, m)
	switch {
	case errors.Is(err, dp.ErrOverflow):
		return tooDear
	case err != nil:
		t.Fatal(err)
	case loss.Pico() == 0:
		t.Fatalf("%v is free", e)
	}
	return loss.Pico()
}

// TestBudgetedMechanismsStayInBudget prices mechanisms that were made for a
// budget.
func TestBudgetedMechanismsStayInBudget(t *testing.T) {
	for _, s := range []dp.Sensitivity{{L0: 1, LInf: 1}, {L0: 3, LInf: 7}, {L0: 1000, LInf: 1 << 40}} {
		for _, budget := range []int64{1, 12345, 333_333_333_333, dp.PicoPerUnit, 20 * dp.PicoPerUnit} {
			l, errL := mechanisms.LaplaceFor(s, budget)
			g, errG := mechanisms.GaussianFor(s, budget)
			if errL != nil || errors.Is(errG, mechanisms.ErrParameter) && s.LInf == 1 {
				t.Fatal(errL, errG)
			}
			if loss, err := accountant.Price(l.Event(), dp.PureDP); err != nil || loss.Pico() > budget {
				t.Errorf("%v: ε of %v is %v, %v", s, l, loss, err)
			}
			if errG != nil {
				continue // more than 127 bits of variance
			}
			if loss, err := accountant.Price(g.Event(), dp.ZCDP); err != nil || loss.Pico() > budget {
				t.Errorf("%v: ρ of %v is %v, %v", s, g, loss, err)
			}
		}
	}
}

func ExamplePrice() {
	counts, _ := mechanisms.GaussianFor(dp.Sensitivity{L0: 3, LInf: 1}, dp.PicoPerUnit/200)
	loss, _ := accountant.Price(counts.Event(), dp.ZCDP)
	fmt.Println(counts, loss)
	_, err := accountant.Price(counts.Event(), dp.PureDP)
	fmt.Println(errors.Is(err, accountant.ErrNoFinitePrice))
	// Output:
	// gaussian variance=300 ρ=0.005
	// true
}

func BenchmarkPrice(b *testing.B) {
	for _, e := range []dp.Event{laplaceEvent(3, 5, big.NewRat(30, 1)), laplaceEvent(1, 100, big.NewRat(7, 3)), gaussianEvent(3, 5, 100)} {
		b.Run(fmt.Sprint(e), func(b *testing.B) {
			for b.Loop() {
				if _, err := accountant.Price(e, dp.ZCDP); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestPriceOfAnyReduction holds that the reveals of a reduction of no sensitivity in particular cost what was asked of
// each level, and at least what the noise of every sensitivity does, in either measure.
func TestPriceOfAnyReduction(t *testing.T) {
	picos := []int64{1_234_567, 90_000_000_001, 700_000_000_000, 2_999_999_999_999}
	price := func(e dp.Event, m dp.Measure) int64 {
		loss, err := accountant.Price(e, m)
		if err != nil {
			t.Fatal(err)
		}
		return loss.Pico()
	}
	for _, linf := range []int64{1, 2, 3, 1000, 1<<20 + 7, 1 << 40} {
		of, err := mechanisms.LaplaceReductionFor(dp.Sensitivity{L0: 1, LInf: linf}, picos)
		if err != nil {
			t.Fatal(err)
		}
		before := int64(0)
		most := new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(linf), big.NewInt(dp.PicoPerUnit)))
		for k := range picos {
			before += price(mechanisms.ReductionOf(picos, k), dp.PureDP)
			e := of.Event(k).(dp.ReductionEvent)
			exact, _ := new(big.Rat).Mul(e.After, most).Float64()
			if before != picos[k] || exact > float64(picos[k])*(1+1e-15) {
				t.Errorf("a sensitivity of %d: level %d costs %g, %d was paid of %d", linf, k, exact, before, picos[k])
			}
			if all, one := price(mechanisms.ReductionOf(picos, k), dp.ZCDP), price(of.Event(k), dp.ZCDP); all < one {
				t.Errorf("a sensitivity of %d: level %d costs %d under zCDP, %d was paid", linf, k, one, all)
			}
		}
	}
}
