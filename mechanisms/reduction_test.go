package mechanisms_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// reveal plans and reveals the next level of a path.
func reveal(t testing.TB, p *mechanisms.Path) []mechanisms.Released {
	t.Helper()
	level, err := p.Next()
	if err != nil {
		t.Fatal(err)
	}
	released, err := level.Reveal()
	if err != nil {
		t.Fatal(err)
	}
	return released
}

func reduction(t testing.TB, s dp.Sensitivity, rates ...*big.Rat) mechanisms.LaplaceReduction {
	t.Helper()
	r, err := mechanisms.NewLaplaceReduction(s, rates)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stayProbability is the probability that a level keeps the noise of the next.
func stayProbability(low, high float64) float64 {
	ratio := math.Expm1(-low) / math.Expm1(-high)
	return math.Exp(low-high) * ratio * ratio
}

func TestStayProbability(t *testing.T) {
	for _, tt := range []struct{ low, high, want float64 }{
		{0.5, 1, 0.2350037122015945},
		{0.1, 0.2, 0.24937604019289197},
		{0.5e-6, 1e-6, 0.25}, // the limit of fine lattices: (low/high)²
	} {
		if got := stayProbability(tt.low, tt.high); math.Abs(got/tt.want-1) > 1e-9 {
			t.Errorf("rates %v and %v: %.16g, want %.16g", tt.low, tt.high, got, tt.want)
		}
	}
}

// TestStayCoinHasItsProbability tosses the coin itself: with high ≤ unit, above
// it, far above, and with numbers of more than 64 bits.
func TestStayCoinHasItsProbability(t *testing.T) {
	t.Parallel()
	wide := new(big.Int).Lsh(big.NewInt(1), 80)
	for _, tt := range [][2]*big.Rat{
		{big.NewRat(1, 10), big.NewRat(1, 5)},
		{big.NewRat(1, 2), big.NewRat(1, 1)},
		{big.NewRat(9, 10), big.NewRat(11, 10)},
		{big.NewRat(1, 3), big.NewRat(7, 2)},
		{big.NewRat(1, 1000), big.NewRat(1, 900)},
		{
			new(big.Rat).SetFrac(wide, new(big.Int).Mul(wide, big.NewInt(3))),
			new(big.Rat).SetFrac(new(big.Int).Add(wide, big.NewInt(1)), wide),
		},
	} {
		low, _ := tt[0].Float64()
		high, _ := tt[1].Float64()
		p := stayProbability(low, high)
		coin := mechanisms.Stay(tt[0], tt[1])
		z := coinZ(seeded(t), coin, p)
		if math.Abs(z) > stattest.MaxZ {
			t.Errorf("rates %v and %v: z = %.1f", tt[0], tt[1], z)
		}
		off := 0.95
		switch {
		case p < 0.05: // of few heads
			off = 0.5
		case p < 0.2:
			off = 0.9
		}
		if z := coinZ(seeded(t), coin, p*off); z < stattest.MaxZ {
			t.Errorf("rates %v and %v: a probability wrong by a factor of %v passes: z = %.1f", tt[0], tt[1], off, z)
		}
	}
}

// TestLevelsConvolve shows exactly that the noise of a level, plus the step to the
// level before, has that level's law.
func TestLevelsConvolve(t *testing.T) {
	for _, tt := range [][2]float64{{0.5, 1}, {0.1, 0.2}, {0.3, 2.5}, {1, 1.01}} {
		low, high := stattest.Laplace(1/tt[0]), stattest.Laplace(1/tt[1])
		stay := stayProbability(tt[0], tt[1])
		step := func(w int64) float64 {
			p := (1 - stay) * low(w)
			if w == 0 {
				p += stay
			}
			return p
		}
		const reach = 1200
		for n := int64(-40); n <= 40; n++ {
			sum := 0.0
			for x := int64(-reach); x <= reach; x++ {
				sum += high(x) * step(n-x)
			}
			if math.Abs(sum-low(n)) > 1e-12 {
				t.Fatalf("rates %v: P(%d) = %v, want %v", tt, n, sum, low(n))
			}
		}
	}
}

// jointLaw is the law of the noises of levels 1 to K, tabulated within a radius.
func jointLaw(rates []float64, radius int64) map[[3]int64]float64 {
	law := map[[3]int64]float64{}
	last := len(rates) - 1
	noise := make([]func(int64) float64, len(rates))
	for k, e := range rates {
		noise[k] = stattest.Laplace(1 / e)
	}
	var extend func(k int, v [3]int64, p float64)
	extend = func(k int, v [3]int64, p float64) {
		if k < 0 {
			law[v] += p
			return
		}
		stay := stayProbability(rates[k], rates[k+1])
		for x := -radius; x <= radius; x++ {
			v[k] = x
			q := (1 - stay) * noise[k](x-v[k+1])
			if x == v[k+1] {
				q += stay
			}
			extend(k-1, v, p*q)
		}
	}
	for x := -radius; x <= radius; x++ {
		var v [3]int64
		v[last] = x
		extend(last-1, v, noise[last](x))
	}
	return law
}

// TestLossOfAPath enumerates the joint laws of a path's first levels on two
// neighbours: the largest ratio is that of the last level that was revealed, and
// all that follows the other levels is free.
func TestLossOfAPath(t *testing.T) {
	rates := []float64{0.2, 0.5, 1.1}
	for revealed := 1; revealed <= 3; revealed++ {
		law := jointLaw(rates[:revealed], 25)
		for _, shift := range []int64{1, 3} {
			most := 0.0
			for v, p := range law {
				moved := v
				for k := range revealed {
					moved[k] -= shift
				}
				if q, ok := law[moved]; ok {
					most = max(most, math.Abs(math.Log(p/q)))
				}
			}
			if want := rates[revealed-1] * float64(shift); math.Abs(most-want) > 1e-9 {
				t.Errorf("loss of %d levels at distance %d: %v, want %v", revealed, shift, most, want)
			}
		}
	}
}

// TestReductionHasItsLaw holds each level to its law, and two levels to their joint
// law, in the cells 100·V₂ + (V₁ − V₂) that are common.
func TestReductionHasItsLaw(t *testing.T) {
	t.Parallel()
	const many = 1000
	rates := []*big.Rat{big.NewRat(1, 10), big.NewRat(3, 10), big.NewRat(3, 4)}
	r := reduction(t, one, rates...)
	exact := exactly(slices.Repeat([]int64{-77}, many)...)
	src := seeded(t)
	var pending [][3]int64
	paths := func() [3]int64 {
		if len(pending) == 0 {
			pending = make([][3]int64, many)
			p, err := r.Begin(src, exact)
			if err != nil {
				t.Fatal(err)
			}
			for k := range 3 {
				for i, v := range reveal(t, p) {
					pending[i][k] = v.Int().Int64() + 77
				}
			}
		}
		v := pending[0]
		pending = pending[1:]
		return v
	}
	for k, rate := range rates[:2] { // the third is the plain mechanism
		e, _ := rate.Float64()
		check(t, func() int64 { return paths()[k] }, stattest.Laplace(1/e), stattest.Laplace(wrong/e))
	}
	const step, reach = 100, 12
	joint := func(stay float64) func(int64) float64 {
		v2, w := stattest.Laplace(1/0.3), stattest.Laplace(1/0.1)
		return func(cell int64) float64 {
			x := int64(math.Round(float64(cell) / step))
			d := cell - step*x
			inside := func(d int64) float64 {
				p := (1 - stay) * w(d)
				if d == 0 {
					p += stay
				}
				return p
			}
			switch {
			case -reach <= d && d <= reach:
				return v2(x) * inside(d)
			case d == reach+1: // all that is further
				rest := 1.0
				for i := int64(-reach); i <= reach; i++ {
					rest -= inside(i)
				}
				return v2(x) * rest
			}
			return 0
		}
	}
	stay := stayProbability(0.1, 0.3)
	check(t, func() int64 {
		v := paths()
		d := v[0] - v[1]
		if d < -reach || d > reach {
			d = reach + 1
		}
		return step*v[1] + d
	}, joint(stay), joint(stay*0.8))
}

// TestReductionEvents follows a path of ε = 0.1, 0.2, 0.4, 0.8: stopped at the
// third level it has cost 0.4, and a budget of 1 has 0.6 left.
func TestReductionEvents(t *testing.T) {
	s := dp.Sensitivity{L0: 2, LInf: 5}
	r, err := mechanisms.LaplaceReductionFor(s, []int64{
		dp.PicoPerUnit / 10, dp.PicoPerUnit / 5, 2 * dp.PicoPerUnit / 5, 4 * dp.PicoPerUnit / 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Begin(seeded(t), exactly(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	spent := new(big.Rat)
	for range 3 {
		level, err := p.Next()
		if err != nil {
			t.Fatal(err)
		}
		e := level.Event().(dp.ReductionEvent)
		step := new(big.Rat).Sub(e.After, e.Before)
		spent.Add(spent, step.Mul(step, new(big.Rat).SetInt(s.L1())))
		if e.Sensitivity != s || e.Cap.Cmp(big.NewRat(8, 100)) != 0 {
			t.Errorf("%v", e)
		}
		if released, err := level.Reveal(); err != nil || len(released) != 2 {
			t.Fatal(released, err)
		}
	}
	if spent.Cmp(big.NewRat(4, 10)) != 0 {
		t.Errorf("three levels cost %v, want 0.4", spent)
	}
	reveal(t, p)
	if _, err := p.Next(); !errors.Is(err, mechanisms.ErrLevel) {
		t.Errorf("a fifth of four levels: %v", err)
	}
	level, err := r.Level(1)
	if e, ok := level.Event().(dp.LaplaceEvent); err != nil || !ok || e.Scale.Cmp(big.NewRat(50, 1)) != 0 {
		t.Errorf("the second level is %v, %v", level, err)
	}
}

// TestLevelIsRevealedOnce holds the charge and the revealed level together: a
// level that was charged twice is revealed once, and never as another one.
func TestLevelIsRevealedOnce(t *testing.T) {
	p, err := reduction(t, one, big.NewRat(80, 1), big.NewRat(90, 1), big.NewRat(100, 1)).Begin(seeded(t), exactly(secret))
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.Next()
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Next()
	if err != nil {
		t.Fatal(err)
	}
	before := again.Event()
	if released, err := first.Reveal(); err != nil || len(released) != 1 {
		t.Fatal(released, err)
	}
	for name, level := range map[string]*mechanisms.Level{"twice": first, "planned before another": again} {
		if released, err := level.Reveal(); !errors.Is(err, mechanisms.ErrStep) || released != nil {
			t.Errorf("%s: %v, %v", name, released, err)
		}
	}
	if after := again.Event(); after.(dp.ReductionEvent).After.Cmp(before.(dp.ReductionEvent).After) != 0 {
		t.Errorf("the event of a level was %v and is %v", before, after)
	}
	second, err := p.Next()
	if err != nil {
		t.Fatal(err)
	}
	if e := second.Event().(dp.ReductionEvent); e.Before.Cmp(big.NewRat(80, 1)) != 0 || e.After.Cmp(big.NewRat(90, 1)) != 0 {
		t.Errorf("after the first level: %v", e)
	}
}

// TestConcurrentReveals lets many reveal the same level; one of them does.
func TestConcurrentReveals(t *testing.T) {
	const many = 16
	p, err := reduction(t, one, big.NewRat(1, 10), big.NewRat(1, 5)).Begin(seeded(t), exactly(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	levels := make([]*mechanisms.Level, many)
	for i := range levels {
		if levels[i], err = p.Next(); err != nil {
			t.Fatal(err)
		}
	}
	var revealed atomic.Int64
	var group sync.WaitGroup
	for _, level := range levels {
		group.Go(func() {
			if _, err := level.Reveal(); err == nil {
				revealed.Add(1)
			} else if !errors.Is(err, mechanisms.ErrStep) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if revealed.Load() != 1 {
		t.Errorf("a level was revealed %d times", revealed.Load())
	}
}

// TestPathHidesItsValues prints, logs and encodes a path of which nothing was
// revealed; its noise is less than one in any realistic run.
func TestPathHidesItsValues(t *testing.T) {
	r := reduction(t, one, big.NewRat(80, 1), big.NewRat(90, 1))
	p, err := r.Begin(seeded(t), exactly(secret))
	if err != nil {
		t.Fatal(err)
	}
	level, err := p.Next()
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range verbs {
		for _, v := range []any{p, []*mechanisms.Path{p}, level, *level, struct{ p *mechanisms.Path }{p}} {
			if text := fmt.Sprintf("%+"+string(verb), v); leaks(text) {
				t.Errorf("%%%c: %q", verb, text)
			}
		}
	}
	var text bytes.Buffer
	slog.New(slog.NewJSONHandler(&text, nil)).Info("path", "path", p, "level", level)
	slog.New(slog.NewTextHandler(&text, nil)).Info("path", "path", p, "level", level)
	if leaks(text.String()) {
		t.Errorf("logged %q", text.String())
	}
	if encoded, err := json.Marshal(p); !errors.Is(err, mechanisms.ErrPrivate) {
		t.Errorf("encoded as %s, %v", encoded, err)
	}
	if released, err := level.Reveal(); err != nil || released[0].Int().Int64() != secret {
		t.Errorf("revealed %v, %v", released, err)
	}
}

func TestReductionRefuses(t *testing.T) {
	tiny := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 300))
	for name, rates := range map[string][]*big.Rat{
		"no level": nil, "nil": {nil}, "zero": {new(big.Rat)}, "negative": {big.NewRat(-1, 1)},
		"equal": {big.NewRat(1, 2), big.NewRat(2, 4)}, "falling": {big.NewRat(1, 1), big.NewRat(1, 2)},
		"too fine": {tiny, big.NewRat(1, 1)}, "too many": slices.Repeat([]*big.Rat{big.NewRat(1, 1)}, 1000),
	} {
		if _, err := mechanisms.NewLaplaceReduction(one, rates); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := mechanisms.NewLaplaceReduction(dp.Sensitivity{}, []*big.Rat{big.NewRat(1, 1)}); !errors.Is(err, mechanisms.ErrParameter) {
		t.Errorf("no sensitivity: %v", err)
	}
	if _, err := mechanisms.LaplaceReductionFor(one, []int64{0}); !errors.Is(err, mechanisms.ErrParameter) {
		t.Errorf("no price: %v", err)
	}
	r := reduction(t, one, big.NewRat(1, 1))
	if _, err := r.Level(1); !errors.Is(err, mechanisms.ErrParameter) {
		t.Errorf("level 1 of 1: %v", err)
	}
	if _, err := r.Begin(seeded(t), make([]mechanisms.Private, 1)); !errors.Is(err, mechanisms.ErrParameter) {
		t.Errorf("an empty value: %v", err)
	}
	if _, err := (mechanisms.LaplaceReduction{}).Begin(seeded(t), exactly(1)); !errors.Is(err, mechanisms.ErrParameter) {
		t.Errorf("the zero reduction: %v", err)
	}
}

// FuzzReduction draws paths of arbitrary rates to their end.
func FuzzReduction(f *testing.F) {
	f.Add(int64(1), int64(10), int64(1), int64(2), int64(dp.PicoPerUnit))
	f.Add(int64(math.MaxInt64), int64(1), int64(1), int64(math.MaxInt64), int64(1))
	f.Add(int64(1), int64(math.MaxInt64), int64(math.MaxInt64), int64(1), int64(-5))
	f.Fuzz(func(t *testing.T, a, b, c, d, pico int64) {
		if b == 0 || d == 0 {
			return
		}
		rated, err := mechanisms.NewLaplaceReduction(one, []*big.Rat{big.NewRat(a, b), big.NewRat(c, d)})
		priced, errPriced := mechanisms.LaplaceReductionFor(one, []int64{pico / 3, pico})
		for r, err := range map[*mechanisms.LaplaceReduction]error{&rated: err, &priced: errPriced} {
			if err != nil {
				if !errors.Is(err, mechanisms.ErrParameter) {
					t.Fatal(err)
				}
				continue
			}
			p, err := r.Begin(seeded(t), exactly(1, -1))
			if err != nil {
				t.Fatal(err)
			}
			for range r.Levels() {
				reveal(t, p)
			}
		}
	})
}
