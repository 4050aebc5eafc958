package mechanisms_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

const unlimited = dp.MaxPico

func chain(t testing.TB, s dp.Sensitivity, exact []mechanisms.Private, capPico int64) *mechanisms.Brownian {
	t.Helper()
	b, err := mechanisms.NewBrownian(s, exact, capPico)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// exactly wraps exact values.
func exactly(values ...int64) []mechanisms.Private {
	exact := make([]mechanisms.Private, len(values))
	for i, v := range values {
		exact[i] = mechanisms.Protect(big.NewInt(v))
	}
	return exact
}

func draw(coordinate int, variance int64) mechanisms.Draw {
	return mechanisms.Draw{Coordinate: coordinate, Variance: big.NewInt(variance)}
}

// measure plans and measures a step, and returns its measurements and its event.
func measure(t testing.TB, b *mechanisms.Brownian, src mechanisms.Source,
	draws ...mechanisms.Draw,
) ([]mechanisms.Measurement, dp.RefinementEvent) {
	t.Helper()
	step, err := b.Plan(draws)
	if err != nil {
		t.Fatal(err)
	}
	measurements, err := step.Measure(src)
	if err != nil {
		t.Fatal(err)
	}
	return measurements, step.Event().(dp.RefinementEvent)
}

// picos is the price of a refinement, as an accountant counts it.
func picos(e dp.RefinementEvent) int64 {
	price := new(big.Rat).SetFrac(new(big.Int).Mul(square(e.Sensitivity.LInf), big.NewInt(dp.PicoPerUnit)), big.NewInt(2))
	price.Mul(price, new(big.Rat).Sub(e.After, e.Before))
	up := new(big.Int).Add(price.Num(), price.Denom())
	return up.Sub(up, big.NewInt(1)).Quo(up, price.Denom()).Int64()
}

func square(x int64) *big.Int { return new(big.Int).Mul(big.NewInt(x), big.NewInt(x)) }

func value(e mechanisms.Estimate) float64 {
	f, _ := e.Value.Float64()
	return f
}

// TestChainPrices holds the steps of a chain to prices computed elsewhere. The
// lattice is fine, so that the variances are whole numbers.
func TestChainPrices(t *testing.T) {
	tests := []struct {
		name     string
		variance []int64 // for LInf = 60
		want     []int64 // picos of each step
	}{
		// 1/v = 1/t − 1/t′ for t = 100, 50, 20, 5, 1.
		{
			"precision schedule",
			[]int64{360_000, 360_000, 120_000, 24_000, 4500},
			[]int64{5_000_000_000, 5_000_000_000, 15_000_000_000, 75_000_000_000, 400_000_000_000},
		},
		// ρ = 0.0005, 0.001, 0.002, 0.004, 0.008.
		{
			"doubling levels",
			[]int64{3_600_000, 3_600_000, 1_800_000, 900_000, 450_000},
			[]int64{500_000_000, 500_000_000, 1_000_000_000, 2_000_000_000, 4_000_000_000},
		},
	}
	for _, tt := range tests {
		b := chain(t, dp.Sensitivity{L0: 1, LInf: 60}, exactly(7), unlimited)
		total := int64(0)
		for k, v := range tt.variance {
			_, e := measure(t, b, seeded(t), draw(0, v))
			// A variance above 100 has its precision rounded up in the 128th bit.
			if got := picos(e); got < tt.want[k] || got > tt.want[k]+1 {
				t.Errorf("%s: step %d costs %d, want %d", tt.name, k+1, got, tt.want[k])
			}
			total += picos(e)
		}
		if b.Paid() != total {
			t.Errorf("%s: paid %d, charged %d", tt.name, b.Paid(), total)
		}
	}
}

// TestPriceIsOfTheLargest is the debit of partitions of which a unit touches two:
// ρ of 0.004, 0.001, 0.003 and 0.0005 is 0.007, and 0.008 with the second at 0.004.
func TestPriceIsOfTheLargest(t *testing.T) {
	b := chain(t, dp.Sensitivity{L0: 2, LInf: 600}, exactly(1, 2, 3, 4), unlimited)
	_, first := measure(t, b, seeded(t),
		draw(0, 45_000_000), draw(1, 180_000_000), draw(2, 60_000_000), draw(3, 360_000_000))
	_, second := measure(t, b, seeded(t), draw(1, 60_000_000))
	if got := picos(first); got < 7_000_000_000 || got > 7_000_000_001 {
		t.Errorf("all partitions cost %d, want 0.007", got)
	}
	if got := picos(second); got < 1_000_000_000 || got > 1_000_000_001 {
		t.Errorf("raising the second partition to 0.004 costs %d, want 0.001", got)
	}
	if first.Before.Sign() != 0 || first.After.Cmp(second.Before) != 0 {
		t.Errorf("%v and %v do not telescope", first, second)
	}
	// A partition that stays below the two largest is free.
	if _, free := measure(t, b, seeded(t), draw(3, 180_000_000)); picos(free) != 0 {
		t.Errorf("a small partition costs %d", picos(free))
	}
}

func TestPriceOfAllCoordinates(t *testing.T) {
	for _, tt := range []struct {
		l0   int64
		n    int
		want int64 // of variance 50 at LInf = 3: min(L0, n)·9/100
	}{{1, 5, 90_000_000_000}, {4, 5, 360_000_000_000}, {9, 5, 450_000_000_000}} {
		b := chain(t, dp.Sensitivity{L0: tt.l0, LInf: 3}, exactly(make([]int64, tt.n)...), unlimited)
		if _, e := measure(t, b, seeded(t), drawAll(tt.n, 50)...); picos(e) != tt.want {
			t.Errorf("%d of %d coordinates: %d, want %d", tt.l0, tt.n, picos(e), tt.want)
		}
	}
}

// TestCapIsExact spends a cap to its last pico, and not one more.
func TestCapIsExact(t *testing.T) {
	for _, v := range []int64{1, 2, 5, 7, 25, 64, 100} {
		price := (dp.PicoPerUnit + 2*v - 1) / (2 * v)
		if _, err := chain(t, one, exactly(1), price).Plan([]mechanisms.Draw{draw(0, v)}); err != nil {
			t.Errorf("variance %d at its own price: %v", v, err)
		}
		if _, err := chain(t, one, exactly(1), price-1).Plan([]mechanisms.Draw{draw(0, v)}); !errors.Is(err, mechanisms.ErrCap) {
			t.Errorf("variance %d below its price: %v", v, err)
		}
	}
	b := chain(t, one, exactly(1), dp.PicoPerUnit/10)
	for range 10 {
		measure(t, b, seeded(t), draw(0, 50))
	}
	if _, err := b.Plan([]mechanisms.Draw{{Variance: new(big.Int).Lsh(big.NewInt(1), 126)}}); !errors.Is(err, mechanisms.ErrCap) {
		t.Errorf("a step after the cap: %v", err)
	}
}

func TestStepIsMeasuredOnce(t *testing.T) {
	b := chain(t, one, exactly(5, 6), unlimited)
	first, _ := b.Plan([]mechanisms.Draw{draw(0, 4)})
	second, _ := b.Plan([]mechanisms.Draw{draw(1, 4)})
	if _, err := first.Measure(seeded(t)); err != nil {
		t.Fatal(err)
	}
	for name, step := range map[string]*mechanisms.Step{"twice": first, "planned before another": second} {
		if _, err := step.Measure(seeded(t)); !errors.Is(err, mechanisms.ErrStep) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if e := b.Estimates(); !math.IsInf(e[1].Sigma, 1) || e[1].Value.Sign() != 0 {
		t.Errorf("a coordinate without a measurement has %v", e[1])
	}
}

// TestRememberedMeasurementsAreFreeAndNew takes the measurements of one read up in the
// next: the estimate keeps them, the price begins at zero.
func TestRememberedMeasurementsAreFreeAndNew(t *testing.T) {
	s := dp.Sensitivity{L0: 1, LInf: 1}
	old := chain(t, s, exactly(100, 200), unlimited)
	src := seeded(t)
	kept, _ := measure(t, old, src, draw(0, 10), draw(1, 10))
	b := chain(t, s, exactly(100, 200), unlimited)
	for i, m := range kept {
		if err := b.Remember(i, m); err != nil {
			t.Fatal(err)
		}
	}
	if b.Paid() != 0 || !slices.EqualFunc(b.Estimates(), old.Estimates(), same) {
		t.Errorf("remembered as %v, want %v, having paid %d", b.Estimates(), old.Estimates(), b.Paid())
	}
	// With the remembered precision in the price, the smaller coordinate would be free.
	if _, e := measure(t, b, src, draw(0, 10)); e.Before.Sign() != 0 || picos(e) != dp.PicoPerUnit/20 {
		t.Errorf("a first step after remembering: %v", e)
	}
	if got, want := b.Estimates()[0].Sigma, math.Sqrt(5); math.Abs(got-want) > 1e-9 {
		t.Errorf("sigma %v after two measurements of variance 10, want %v", got, want)
	}
}

func same(a, b mechanisms.Estimate) bool { return a.Sigma == b.Sigma && a.Value.Cmp(b.Value) == 0 }

// TestEstimateIsExact combines measurements beyond the integers of a double.
func TestEstimateIsExact(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 100)
	b := chain(t, one, exactly(0), unlimited)
	sum := new(big.Rat)
	for _, v := range []int64{4, 6} {
		value := new(big.Int).Add(huge, big.NewInt(v))
		if err := b.Remember(0, mechanisms.Measurement{Variance: big.NewInt(v), Value: value}); err != nil {
			t.Fatal(err)
		}
		sum.Add(sum, new(big.Rat).SetFrac(value, big.NewInt(v)))
	}
	want := sum.Quo(sum, big.NewRat(5, 12))
	if got := b.Estimates()[0]; got.Value.Cmp(want) != 0 || math.Abs(got.Sigma-math.Sqrt(2.4)) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
}

// lawOfSum returns the law of the sum of a·X and Y.
func lawOfSum(x, y map[int64]float64, a int64) map[int64]float64 {
	sum := map[int64]float64{}
	for i, p := range x {
		for j, q := range y {
			sum[a*i+j] += p * q
		}
	}
	return sum
}

// tabulate returns the law where it matters.
func tabulate(pmf func(int64) float64, radius int64) map[int64]float64 {
	table := map[int64]float64{}
	for x := -radius; x <= radius; x++ {
		table[x] = pmf(x)
	}
	return table
}

// meanLaw returns the law of Σ weight·noise over discrete Gaussians.
func meanLaw(variances []float64, weights []int64) map[int64]float64 {
	law := map[int64]float64{0: 1}
	for k, v := range variances {
		law = lawOfSum(tabulate(stattest.Gaussian(v), int64(8*math.Sqrt(v))+8), law, weights[k])
	}
	return law
}

// TestEstimateHasItsLaw holds a measurement, and means of several, to their exact
// laws: the estimate of variances 4, 6 and 12 is (3·Z₁ + 2·Z₂ + Z₃)/6.
func TestEstimateHasItsLaw(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		variances, weights []int64
	}{
		{[]int64{9}, []int64{1}},
		{[]int64{4, 6, 12}, []int64{3, 2, 1}},
	} {
		const many = 5000 // chains at a time, as coordinates of one
		src, exact := seeded(t), exactly(slices.Repeat([]int64{-50}, many)...)
		var exacts, twins []float64
		total := int64(0)
		for k, v := range tt.variances {
			exacts = append(exacts, float64(v))
			twins = append(twins, float64(v)*wrong*wrong)
			total += tt.weights[k]
		}
		law, twin := meanLaw(exacts, tt.weights), meanLaw(twins, tt.weights)
		var pending []mechanisms.Estimate
		check(t, func() int64 {
			if len(pending) == 0 {
				b := chain(t, one, exact, unlimited)
				for _, v := range tt.variances {
					measure(t, b, src, drawAll(many, v)...)
				}
				pending = b.Estimates()
			}
			scaled := new(big.Rat).Mul(pending[0].Value, new(big.Rat).SetInt64(total))
			pending = pending[1:]
			if !scaled.IsInt() {
				t.Fatalf("%v is no mean of weights %v", scaled, tt.weights)
			}
			return scaled.Num().Int64() + 50*total
		}, func(x int64) float64 { return law[x] }, func(x int64) float64 { return twin[x] })
	}
}

// drawAll draws n coordinates at one variance.
func drawAll(n int, variance int64) []mechanisms.Draw {
	draws := make([]mechanisms.Draw, n)
	for i := range draws {
		draws[i] = draw(i, variance)
	}
	return draws
}

// TestChainIsBrownian checks that the estimates of a chain have the covariances of
// a Brownian motion at times that decrease: Cov(Yₖ, Yₗ) is the variance of the later.
// A twin that forgets the earlier measurements has no covariance.
func TestChainIsBrownian(t *testing.T) {
	const runs = 20_000
	variances := []int64{100, 100, 33, 7}
	times := make([]float64, len(variances))
	precision := 0.0
	for k, v := range variances {
		precision += 1 / float64(v)
		times[k] = 1 / precision
	}
	src, exact := seeded(t), exactly(1000)
	errs, fresh := make([][]float64, runs), make([][]float64, runs)
	for run := range runs {
		b := chain(t, one, exact, unlimited)
		for _, v := range variances {
			m, _ := measure(t, b, src, draw(0, v))
			errs[run] = append(errs[run], value(b.Estimates()[0])-1000)
			fresh[run] = append(fresh[run], float64(m[0].Value.Int64()-1000))
		}
	}
	for k := range times {
		for l := range k + 1 {
			want := times[k]
			// For normal variables the product has the variance t_k·t_l + want².
			deviation := math.Sqrt((times[k]*times[l] + want*want) / runs)
			if z := (covariance(errs, k, l) - want) / deviation; math.Abs(z) > stattest.MaxZ {
				t.Errorf("covariance of looks %d and %d: %v, want %v (z = %.1f)", k, l, covariance(errs, k, l), want, z)
			}
			if z := (covariance(fresh, k, l) - want) / deviation; k != l && math.Abs(z) < stattest.MaxZ {
				t.Errorf("looks %d and %d of fresh noise pass, with z = %.1f", k, l, z)
			}
		}
	}
}

func covariance(rows [][]float64, k, l int) float64 {
	sum := 0.0
	for _, row := range rows {
		sum += row[k] * row[l]
	}
	return sum / float64(len(rows))
}

func TestBrownianRefuses(t *testing.T) {
	for _, bad := range []struct {
		s       dp.Sensitivity
		exact   []mechanisms.Private
		capPico int64
	}{
		{dp.Sensitivity{}, exactly(1), 1},
		{one, nil, 1},
		{one, make([]mechanisms.Private, 1), 1},
		{one, make([]mechanisms.Private, 1<<24+1), 1},
		{one, exactly(1), 0},
		{one, exactly(1), -1},
		{one, exactly(1), dp.MaxPico + 1},
	} {
		if _, err := mechanisms.NewBrownian(bad.s, bad.exact, bad.capPico); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%d values of %+v up to %d: %v", len(bad.exact), bad.s, bad.capPico, err)
		}
	}
	b := chain(t, one, exactly(1, 2), unlimited)
	wide := mechanisms.Draw{Variance: new(big.Int).Lsh(big.NewInt(1), 127)}
	for _, bad := range [][]mechanisms.Draw{
		nil, {draw(2, 1)}, {draw(-1, 1)}, {draw(0, 0)}, {draw(0, -1)}, {{}}, {wide}, {draw(0, 1), draw(0, 1)},
	} {
		if _, err := b.Plan(bad); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	for _, bad := range []mechanisms.Measurement{
		{},
		{Variance: big.NewInt(1)},
		{Value: big.NewInt(1)},
		{Variance: big.NewInt(0), Value: big.NewInt(1)},
	} {
		if err := b.Remember(0, bad); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("remembered %v: %v", bad, err)
		}
	}
	for _, bad := range []mechanisms.Target{{2, 1}, {-1, 1}, {0, -1}, {0, math.NaN()}, {0, math.Inf(1)}} {
		if _, err := b.Raise([]mechanisms.Target{bad}, 1); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("raised to %v: %v", bad, err)
		}
	}
	if _, err := b.Raise([]mechanisms.Target{{0, 1}, {0, 1}}, 1); !errors.Is(err, mechanisms.ErrParameter) {
		t.Errorf("raised twice: %v", err)
	}
	measure(t, b, seeded(t), draw(0, 1)) // a level below the one paid must not wrap around
	for _, level := range []int64{0, -1, math.MinInt64, math.MinInt64 + 1} {
		if step, err := b.Raise([]mechanisms.Target{{Coordinate: 1}}, level); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("raised to the level %d: %v, %v", level, step, err)
		}
	}
}

// FuzzChain makes arbitrary steps: the price of the chain is never below that of
// its largest precisions, nor above by more than the roundings, nor above the cap.
func FuzzChain(f *testing.F) {
	f.Add([]byte{1, 0, 4, 2, 1, 200, 0, 0, 3}, uint8(2), uint16(3), int64(dp.PicoPerUnit))
	f.Add([]byte{9, 3, 255, 7, 1, 1, 128, 2, 31}, uint8(1), uint16(1000), int64(5_000_000))
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 2, 0}, uint8(7), uint16(0), int64(-3))
	f.Fuzz(func(t *testing.T, bytes []byte, l0 uint8, linf uint16, capPico int64) {
		const coordinates = 4
		s := dp.Sensitivity{L0: int64(l0), LInf: int64(linf)}
		b, err := mechanisms.NewBrownian(s, exactly(1, -2, 3, 1<<60), capPico)
		if err != nil {
			if !errors.Is(err, mechanisms.ErrParameter) {
				t.Fatal(err)
			}
			return
		}
		src := seeded(t)
		truth := make([]*big.Rat, coordinates)
		for i := range truth {
			truth[i] = new(big.Rat)
		}
		steps := int64(0)
		for ; len(bytes) >= 3 && steps < 50; bytes = bytes[3:] {
			step, err := arbitrary(b, bytes[0], bytes[1], bytes[2], capPico)
			if errors.Is(err, mechanisms.ErrCap) || errors.Is(err, mechanisms.ErrParameter) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			measurements, err := step.Measure(src)
			if err != nil {
				t.Fatal(err)
			}
			steps++
			for k, i := range step.Coordinates() {
				truth[i].Add(truth[i], new(big.Rat).SetFrac(big.NewInt(1), measurements[k].Variance))
			}
			e := step.Event().(dp.RefinementEvent)
			if picos(e) != step.Price() {
				t.Fatalf("the price %d is not that of %v", step.Price(), e)
			}
			over := new(big.Rat).Sub(e.After, largest(truth, s.L0))
			if over.Sign() < 0 || over.Cmp(new(big.Rat).SetFrac(big.NewInt(steps*coordinates), new(big.Int).Lsh(big.NewInt(1), 128))) > 0 {
				t.Fatalf("precision %v charged for %v", e.After, largest(truth, s.L0))
			}
		}
		price := new(big.Rat).SetFrac(square(s.LInf), big.NewInt(2))
		price.Mul(price, largest(truth, s.L0))
		paid := big.NewRat(b.Paid(), dp.PicoPerUnit)
		if paid.Cmp(price) < 0 || b.Paid() > capPico || paid.Sub(paid, price).Cmp(big.NewRat(steps+1, dp.PicoPerUnit)) > 0 {
			t.Fatalf("paid %d of %d for a loss of %v", b.Paid(), capPico, price)
		}
	})
}

// arbitrary plans a step from three bytes: of two draws, or to a level.
func arbitrary(b *mechanisms.Brownian, kind, where, how byte, capPico int64) (*mechanisms.Step, error) {
	i, j := int(where%4), int(where/4%4)
	if kind%2 == 0 {
		return b.Plan([]mechanisms.Draw{draw(i, int64(how)<<(kind/8)), draw(j, int64(kind)+1)})
	}
	targets := []mechanisms.Target{{i, float64(how)}, {j, float64(kind) / 7}}
	return b.Raise(targets, capPico/256*(int64(how)+1))
}

// largest returns the sum of the k largest numbers.
func largest(numbers []*big.Rat, k int64) *big.Rat {
	sorted := slices.Clone(numbers)
	slices.SortFunc(sorted, func(x, y *big.Rat) int { return y.Cmp(x) })
	sum := new(big.Rat)
	for _, x := range sorted[:min(k, int64(len(sorted)))] {
		sum.Add(sum, x)
	}
	return sum
}
