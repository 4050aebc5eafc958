package mechanisms_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// TestRefinementHasItsLaw holds the estimates of several rounds of two chains to their exact law:
// those of variances 12, 6 and 4 are (Z₁ + 2·Z₂ + 3·Z₃)/6.
func TestRefinementHasItsLaw(t *testing.T) {
	t.Parallel()
	const many = 2500 // partitions at a time
	src, exact := seeded(t), exactly(slices.Repeat([]int64{-50}, many)...)
	exacts, twins := []float64{12, 6, 4}, []float64{12 * wrong * wrong, 6 * wrong * wrong, 4 * wrong * wrong}
	weights := []int64{1, 2, 3}
	law, twin := meanLaw(exacts, weights), meanLaw(twins, weights)
	pool := mechanisms.Pool{Pico: unlimited, PilotPico: dp.PicoPerUnit/(2*12) + 1}
	var pending []mechanisms.Estimate
	check(t, func() int64 {
		if len(pending) == 0 {
			r := refinement(t, variances(4, 2), pool, nil, one, one)
			if charged := finish(t, r, src, exact, exact); len(charged) != 3 {
				t.Fatalf("%d rounds", len(charged))
			}
			pending = slices.Concat(r.Estimates()...)
		}
		sum := new(big.Rat).Mul(pending[0].Value, big.NewRat(6, 1))
		pending = pending[1:]
		if !sum.IsInt() {
			t.Fatalf("%v is no mean of weights %v", sum, weights)
		}
		return sum.Num().Int64() + 6*50
	}, func(x int64) float64 { return law[x] }, func(x int64) float64 { return twin[x] })
}

// TestAdversarialStop ends a refinement of two chains when either estimate falls below a guess of
// the truth, which sees as much as a stop can. The leak, the total variation between the
// transcripts on two neighbours, stays below the charge's; and exceeds it
// where the sensitivity of one chain was declared too small by a factor of 2.
func TestAdversarialStop(t *testing.T) {
	const (
		runs     = 20_000
		variance = 20
		declared = 2
	)
	src := seeded(t)
	s := dp.Sensitivity{L0: 1, LInf: declared}
	const look = declared * declared * dp.PicoPerUnit / (2 * variance) // of one chain
	stop := goal(func(estimates [][]mechanisms.Estimate) [][]mechanisms.Target {
		if value(estimates[0][0]) < 1000 || value(estimates[1][0]) < 500 {
			return nil
		}
		to := []mechanisms.Target{{Coordinate: 0, Variance: variance / 2}}
		return [][]mechanisms.Target{to, to}
	})
	// distance estimates the total variation by the best test, of the likelihoods.
	distance := func(first, second int64) float64 {
		guilty := [2]float64{}
		for world := range 2 {
			shifts := [2]int64{first, second}
			exact := [2]int64{1000 - int64(world)*first, 500 - int64(world)*second}
			for range runs {
				r := refinement(t, stop, mechanisms.Pool{Pico: 4 * look, PilotPico: look}, nil, s, s)
				charged := finish(t, r, src, exactly(exact[0]), exactly(exact[1]))
				if want := int64(len(charged)) * 2 * look; total(charged) != want || len(charged) > 2 {
					t.Fatalf("stopped after %d rounds having paid %d, want %d", len(charged), total(charged), want)
				}
				likelihood := 0.0
				for m, list := range r.Measurements()[0] {
					for _, z := range list {
						off, shift := float64(z.Value.Int64()-[2]int64{1000, 500}[m]), float64(shifts[m])
						likelihood += ((off+shift)*(off+shift) - off*off) / (2 * variance)
					}
				}
				if likelihood > 0 {
					guilty[world]++
				}
			}
		}
		return (guilty[0] - guilty[1]) / runs
	}
	// Two measurements of each of two values have the total variation of one with a quarter of the variance.
	claimed := math.Erf(declared / (2 * math.Sqrt(variance/4) * math.Sqrt2))
	slack := 3 * math.Sqrt(0.5/runs) // what stops early leaks less than is claimed, by many more
	right, wrongly := distance(declared, declared), distance(declared, 2*declared)
	if right > claimed+slack || right < claimed/2 {
		t.Errorf("the transcripts are %.4f apart, claimed %.4f", right, claimed)
	}
	if wrongly < claimed+slack {
		t.Errorf("a sensitivity too small by 2 passes: %.4f apart, claimed %.4f", wrongly, claimed)
	}
	t.Logf("apart: %.4f, with a sensitivity too small by 2 %.4f; claimed %.4f, slack %.4f", right, wrongly, claimed, slack)
}

// TestOnlyOpenCoordinatesAreRefined refines partitions of which a unit touches one,
// so that the price is that of the most precise. The boundary is one that no run
// of the test leaves.
func TestOnlyOpenCoordinatesAreRefined(t *testing.T) {
	within, err := mechanisms.NewScales(1e-9, 30)
	if err != nil {
		t.Fatal(err)
	}
	const most = dp.PicoPerUnit / 10
	pool := mechanisms.Pool{Pico: most, PilotPico: most / 500}
	for name, g := range map[string]mechanisms.Goal{
		"climb": climb(t, pool.PilotPico, most, 1.19, within, within10), "leap": leap(within, within10),
	} {
		r := refinement(t, g, pool, nil, one)
		charged := finish(t, r, seeded(t), exactly(100_000, 600, 3))
		e := r.Estimates()[0]
		if !met(within, within10, e[0]) || !met(within, within10, e[1]) || met(within, within10, e[2]) {
			t.Errorf("%s: %v; want all but the last to be met", name, e)
		}
		if e[0].Sigma < 4*e[1].Sigma || e[1].Sigma < 2*e[2].Sigma {
			t.Errorf("%s: sigmas %v, %v, %v for 100000, 600 and 3", name, e[0].Sigma, e[1].Sigma, e[2].Sigma)
		}
		if paid := total(charged); paid > most || paid < most/11*10 {
			t.Errorf("%s: paid %d of %d for what cannot be met", name, paid, most)
		}
		for i, f := range []float64{100_000, 600, 3} {
			if half := within.HalfWidth(e[i].Sigma); math.Abs(value(e[i])-f) > half {
				t.Errorf("%s: %v ± %v for %v", name, value(e[i]), half, f)
			}
		}
	}
}

// TestRoomOfOthers has units that touch eight of eight partitions. One
// of them is small: it may be known more precisely than an eighth of the pool.
func TestRoomOfOthers(t *testing.T) {
	const most, large = 8 * dp.PicoPerUnit / 1000, 1_000_000
	within := anytime(t, 20)
	r := refinement(t, leap(within, within10), mechanisms.Pool{Pico: most, PilotPico: most / 1000}, nil, dp.Sensitivity{L0: 8, LInf: 1})
	charged := finish(t, r, seeded(t), exactly(large, large, large, large, large, large, large, 500))
	small := r.Estimates()[0][7]
	if alone := math.Sqrt(1000.0 / 2); !met(within, within10, small) || small.Sigma > alone*0.9 {
		t.Errorf("the small partition: %v ± %v; an eighth of the pool gives %v", value(small), small.Sigma, alone)
	}
	if paid := total(charged); paid > most {
		t.Errorf("paid %d of %d", paid, most)
	}
}

// TestAbsoluteErrorStopsWhereItShould needs no more than its sigma says.
func TestAbsoluteErrorStopsWhereItShould(t *testing.T) {
	within := anytime(t, 30)
	r := refinement(t, leap(within, absolute(40)), mechanisms.Pool{Pico: dp.PicoPerUnit, PilotPico: coverageFirst}, nil, one)
	finish(t, r, seeded(t), exactly(7, -1_000_000))
	for _, e := range r.Estimates()[0] {
		if half := within.HalfWidth(e.Sigma); half > 40 || half < 35 {
			t.Errorf("an error of 40 was asked for: %v", half)
		}
	}
}

// TestChainsShareThePool asks for more than there is: each chain has its part of the rest, in
// proportion to its need, and the goal of one may follow from the estimates of another.
func TestChainsShareThePool(t *testing.T) {
	const most = dp.PicoPerUnit / 100
	fine := dp.Sensitivity{L0: 1, LInf: 1000} // whose variances are large integers
	asked := false
	g := goal(func(estimates [][]mechanisms.Estimate) [][]mechanisms.Target {
		if asked {
			return nil
		}
		asked = true
		sum := value(estimates[0][0]) + value(estimates[1][0])
		return [][]mechanisms.Target{{{Variance: 60e6}}, {{Variance: 180e6 + 0*sum}}, nil}
	})
	r := refinement(t, g, mechanisms.Pool{Pico: most, PilotPico: most / 1000}, nil, fine, fine, fine)
	charged := finish(t, r, seeded(t), exactly(5), exactly(6), exactly(7))
	if paid := total(charged); paid > most || paid < most-most/1000 || len(charged) != 2 {
		t.Errorf("paid %d of %d in %d rounds", paid, most, len(charged))
	}
	e := r.Estimates()
	first, second, third := 1/(e[0][0].Sigma*e[0][0].Sigma), 1/(e[1][0].Sigma*e[1][0].Sigma), 1/(e[2][0].Sigma*e[2][0].Sigma)
	if math.Abs(first/second-3) > 0.01 || third > first/500 {
		t.Errorf("precisions %v, %v and %v, for variances of 60, 180 and none", first, second, third)
	}
}

// TestNoPartitions ends at once where no partition is shown: First was charged.
func TestNoPartitions(t *testing.T) {
	r := refinement(t, variances(1), mechanisms.Pool{Pico: 1000, PilotPico: 10}, nil, one, one)
	charged := finish(t, r, seeded(t), nil, nil)
	if total(charged) != 20 || len(charged) != 1 || len(r.Measurements()) != 0 || len(r.Estimates()) != 0 {
		t.Errorf("charged %v, measured %v", charged, r.Measurements())
	}
}

// TestRememberedRefinement goes on from measurements of another read: First is the first round,
// and costs its own precision, from zero on.
func TestRememberedRefinement(t *testing.T) {
	src := seeded(t)
	s := dp.Sensitivity{L0: 2, LInf: 3}
	pool := mechanisms.Pool{Pico: dp.PicoPerUnit, PilotPico: dp.PicoPerUnit / 100}
	before := refinement(t, variances(), pool, nil, s, one)
	finish(t, before, src, exactly(100, 200), exactly(1, 2))
	known := before.Measurements()
	again := refinement(t, variances(90, 80), pool, known, s, one)
	first := again.First()
	for m, want := range before.Estimates() {
		if got := again.Estimates()[m]; !slices.EqualFunc(got, want, same) {
			t.Errorf("remembered as %v, want %v", got, want)
		}
	}
	for _, e := range first {
		if e := e.(dp.RefinementEvent); e.Before.Sign() != 0 {
			t.Errorf("the first round of a remembered chain begins at %v", e.Before)
		}
	}
	// The second chain has the variance 50 already.
	if want := new(big.Rat).SetFrac64(2, 90); len(first) != 1 || first[0].(dp.RefinementEvent).After.Cmp(want) > 0 {
		t.Errorf("the first round is %v", first)
	}
	charged := finish(t, again, src, exactly(100, 200), exactly(1, 2))
	all := again.Measurements()
	for i, lists := range all {
		for m, list := range lists {
			for k, z := range known[i][m] {
				if z.Value.Cmp(list[k].Value) != 0 {
					t.Errorf("measurement %d of chain %d of partition %d was %v and is %v", k, m, i, z, list[k])
				}
			}
		}
	}
	fresh := 0.0 // of the first chain, whose units touch both partitions
	for i := range all {
		for _, z := range all[i][0][len(known[i][0]):] {
			v, _ := new(big.Float).SetInt(z.Variance).Float64()
			fresh += 9 * dp.PicoPerUnit / (2 * v)
		}
	}
	if paid := float64(total(charged)); paid < fresh {
		t.Errorf("paid %v for %v", paid, fresh)
	}
}

// TestRoundIsMeasuredOnce holds charges and measurements together.
func TestRoundIsMeasuredOnce(t *testing.T) {
	src := seeded(t)
	r := refinement(t, variances(9, 9, 4), mechanisms.Pool{Pico: unlimited, PilotPico: 1000}, nil, one)
	first, err := r.Begin([][]mechanisms.Private{exactly(5)})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Measure(src); err != nil {
		t.Fatal(err)
	}
	round, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	stale, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := round.Measure(src); err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]*mechanisms.Round{"the first": first, "twice": round, "planned before another": stale} {
		if err := d.Measure(src); !errors.Is(err, mechanisms.ErrStep) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Begin([][]mechanisms.Private{exactly(5)}); !errors.Is(err, mechanisms.ErrStep) {
		t.Errorf("begun twice: %v", err)
	}
	if n := len(r.Measurements()[0][0]); n != 2 {
		t.Errorf("%d measurements", n)
	}
}

func TestRefinementRefuses(t *testing.T) {
	g, pool := variances(1), mechanisms.Pool{Pico: 1000, PilotPico: 10}
	two := goal(func([][]mechanisms.Estimate) [][]mechanisms.Target { return make([][]mechanisms.Target, 2) })
	four := mechanisms.Measurement{Variance: big.NewInt(4), Value: big.NewInt(4)}
	for name, bad := range map[string]struct {
		goal   mechanisms.Goal
		chains []dp.Sensitivity
		pool   mechanisms.Pool
		known  [][][]mechanisms.Measurement
	}{
		"no goal":               {nil, []dp.Sensitivity{one}, pool, nil},
		"no chain":              {g, nil, pool, nil},
		"no pilot":              {g, []dp.Sensitivity{one}, mechanisms.Pool{Pico: 1000}, nil},
		"no pool":               {g, []dp.Sensitivity{one}, mechanisms.Pool{PilotPico: 1}, nil},
		"pilots beyond it":      {g, []dp.Sensitivity{one, one}, mechanisms.Pool{Pico: 19, PilotPico: 10}, nil},
		"a pool too large":      {g, []dp.Sensitivity{one}, mechanisms.Pool{Pico: dp.MaxPico + 1, PilotPico: 10}, nil},
		"nothing of a read":     {g, []dp.Sensitivity{one}, pool, [][][]mechanisms.Measurement{}},
		"of another chain":      {g, []dp.Sensitivity{one}, pool, [][][]mechanisms.Measurement{{{four}, {four}}}},
		"no value":              {g, []dp.Sensitivity{one}, pool, [][][]mechanisms.Measurement{{{{Variance: big.NewInt(4)}}}}},
		"no sensitivity":        {g, []dp.Sensitivity{{}}, pool, [][][]mechanisms.Measurement{{{four}}}},
		"targets of two chains": {two, []dp.Sensitivity{one}, pool, [][][]mechanisms.Measurement{{{four}}}},
	} {
		r, err := mechanisms.NewRefinement(bad.goal, bad.chains, bad.pool, bad.known)
		if !errors.Is(err, mechanisms.ErrParameter) || r != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	for name, exact := range map[string][][]mechanisms.Private{
		"of another chain": {exactly(1), exactly(1)}, "one too many": {exactly(1, 2)}, "one too few": {nil},
		"an empty one": {make([]mechanisms.Private, 1)},
	} {
		r := refinement(t, variances(1), pool, [][][]mechanisms.Measurement{{{four}}}, one)
		if _, err := r.Begin(exact); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzRefinement has arbitrary goals: the charges are never below the price of the chains'
// precisions, nor above it but for the first round and the roundings, nor above the pool.
func FuzzRefinement(f *testing.F) {
	f.Add([]byte{1, 0, 4, 2, 1, 200, 0, 0, 3}, uint8(2), uint16(3), int64(dp.PicoPerUnit), int64(1000))
	f.Add([]byte{9, 3, 255, 7, 1, 1, 128, 2, 31}, uint8(1), uint16(1000), int64(5_000_000), int64(1))
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 2, 0}, uint8(7), uint16(1), int64(6), int64(3))
	// The pilot of several partitions costs less than its charge, which stays: none of it is spent again.
	f.Add(slices.Repeat([]byte{255, 1, 1}, 8), uint8(1), uint16(7), int64(30*dp.PicoPerUnit), int64(7*dp.PicoPerUnit))
	f.Fuzz(func(t *testing.T, bytes []byte, l0 uint8, linf uint16, poolPico, pilotPico int64) {
		const partitions = 3
		chains := []dp.Sensitivity{{L0: int64(l0), LInf: int64(linf)}, one}
		rounds := 0
		g := goal(func(estimates [][]mechanisms.Estimate) [][]mechanisms.Target {
			if len(bytes) < 3 || rounds == 40 {
				return nil
			}
			rounds++
			where, how, factor := bytes[0], bytes[1], float64(bytes[2])
			bytes = bytes[3:]
			all := make([][]mechanisms.Target, len(estimates))
			for m, chain := range estimates {
				for i, e := range chain {
					if where>>(m*partitions+i)&1 == 1 {
						all[m] = append(all[m],
							mechanisms.Target{Coordinate: i, Variance: math.Min(e.Sigma*e.Sigma, float64(how)*1e6) * factor / 256})
					}
				}
			}
			return all
		})
		r, err := mechanisms.NewRefinement(g, chains, mechanisms.Pool{Pico: poolPico, PilotPico: pilotPico}, nil)
		if err != nil {
			if !errors.Is(err, mechanisms.ErrParameter) {
				t.Fatal(err)
			}
			return
		}
		if _, err := r.Begin([][]mechanisms.Private{exactly(1, -2, 1<<60), exactly(0, 0, 0)}); err != nil {
			if !errors.Is(err, mechanisms.ErrParameter) && !errors.Is(err, mechanisms.ErrCap) {
				t.Fatal(err)
			}
			return // the values are of no chain, or the pilot is too small
		}
		g2 := refinement(t, g, mechanisms.Pool{Pico: poolPico, PilotPico: pilotPico}, nil, chains...)
		charged := finish(t, g2, seeded(t), exactly(1, -2, 1<<60), exactly(0, 0, 0))
		loss, measured := new(big.Rat), g2.Measurements()
		for m, s := range chains {
			precisions := make([]*big.Rat, partitions)
			for i := range precisions {
				precisions[i] = new(big.Rat)
				for _, z := range measured[i][m] {
					precisions[i].Add(precisions[i], new(big.Rat).SetFrac(big.NewInt(1), z.Variance))
				}
			}
			price := new(big.Rat).SetFrac(square(s.LInf), big.NewInt(2))
			loss.Add(loss, price.Mul(price, largest(precisions, s.L0)))
		}
		paid := total(charged)
		if big.NewRat(paid, dp.PicoPerUnit).Cmp(loss) < 0 || paid > poolPico {
			t.Fatalf("paid %d of %d for a loss of %v", paid, poolPico, loss)
		}
		slack := 2*pilotPico + 2*int64(len(charged)) + 1
		if over := new(big.Rat).Sub(big.NewRat(paid, dp.PicoPerUnit), loss); over.Cmp(big.NewRat(slack, dp.PicoPerUnit)) > 0 {
			t.Fatalf("paid %d for a loss of %v", paid, loss)
		}
	})
}

// TestRoundsInOrder plans two rounds at once, and measures one before there are exact values: the
// other draws nothing.
func TestRoundsInOrder(t *testing.T) {
	src := seeded(t)
	pool := mechanisms.Pool{Pico: 4 * dp.PicoPerUnit, PilotPico: dp.PicoPerUnit / 100}
	r := refinement(t, variances(4, 2), pool, nil, one, one)
	round, err := r.Begin([][]mechanisms.Private{exactly(7), exactly(8)})
	if err != nil {
		t.Fatal(err)
	}
	if err := round.Measure(src); err != nil {
		t.Fatal(err)
	}
	first, err1 := r.Next()
	second, err2 := r.Next()
	if err := errors.Join(err1, err2, first.Measure(src)); err != nil {
		t.Fatal(err)
	}
	known := r.Measurements()
	for _, again := range []*mechanisms.Round{first, second, round} {
		if err := again.Measure(src); !errors.Is(err, mechanisms.ErrStep) {
			t.Errorf("a round that another has overtaken: %v", err)
		}
	}
	if len(known[0][0]) != len(r.Measurements()[0][0]) {
		t.Error("a round that another has overtaken was drawn")
	}
	if _, err := r.Begin([][]mechanisms.Private{exactly(7), exactly(8)}); !errors.Is(err, mechanisms.ErrStep) {
		t.Errorf("begun twice: %v", err)
	}
	later := refinement(t, variances(2, 1), pool, known, one, one)
	if round, err = later.Next(); err != nil {
		t.Fatal(err)
	}
	if err := round.Measure(src); !errors.Is(err, mechanisms.ErrStep) {
		t.Errorf("a round without exact values: %v", err)
	}
}
