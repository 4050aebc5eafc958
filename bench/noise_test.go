package bench_test

import (
	"flag"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/differential-privacy/go/v3/noise"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

var runs = flag.Int("runs", 5, "how often the table measures each of its rows")

const (
	epsilon = 1.0
	delta   = 1e-5
	// atLeast is how many times faster dpproxy's noise is to be.
	atLeast = 8
)

// A contest is one law of noise, drawn by dpproxy and by the other library. The
// other one has no call for a scale: it is given the sensitivity that leads to it.
type contest struct {
	name         string
	ours, theirs func(b *testing.B)
	// preparing is what a call of theirs does before it draws, if it can be told.
	preparing func(b *testing.B)
}

// contests are for standard deviations of 2¹⁰ to 2¹³ (Gaussian) and scales of the
// same sizes (Laplace).
func contests(tb testing.TB) []contest {
	tb.Helper()
	var all []contest
	one := dp.Sensitivity{L0: 1, LInf: 1}
	for bits := 10; bits <= 13; bits++ {
		size := int64(1) << bits
		laplace, err := mechanisms.NewLaplace(one, big.NewRat(size, 1))
		if err != nil {
			tb.Fatal(err)
		}
		gaussian, err := mechanisms.NewGaussian(one, big.NewInt(size*size))
		if err != nil {
			tb.Fatal(err)
		}
		// σ is proportional to the sensitivity.
		sensitivity := float64(size) / noise.SigmaForGaussian(1, 1, epsilon, delta)
		all = append(all,
			contest{fmt.Sprintf("laplace int64 scale=2^%d", bits), draws(laplace), wholeDraws(noise.Laplace(), size, 0), nil},
			contest{fmt.Sprintf("laplace float64 scale=2^%d", bits), draws(laplace), realDraws(noise.Laplace(), float64(size), 0), nil},
			contest{
				fmt.Sprintf("gaussian int64 sigma=2^%d", bits), draws(gaussian),
				wholeDraws(noise.Gaussian(), int64(sensitivity+0.5), delta), searches(sensitivity),
			},
			contest{
				fmt.Sprintf("gaussian float64 sigma=2^%d", bits), draws(gaussian),
				realDraws(noise.Gaussian(), sensitivity, delta), searches(sensitivity),
			},
		)
	}
	return all
}

// draws draws with dpproxy from one shared source, as a server does.
func draws(m mechanisms.Mechanism) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		src, z := mechanisms.NewSource(), new(big.Int)
		for b.Loop() {
			m.Sample(z, src)
		}
	}
}

func wholeDraws(n noise.Noise, sensitivity int64, delta float64) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := n.AddNoiseInt64(0, 1, sensitivity, epsilon, delta); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func realDraws(n noise.Noise, sensitivity, delta float64) func(*testing.B) {
	return func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := n.AddNoiseFloat64(0, 1, sensitivity, epsilon, delta); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// searches looks for σ, as the other library does in each call.
func searches(sensitivity float64) func(*testing.B) {
	return func(b *testing.B) {
		for b.Loop() {
			noise.SigmaForGaussian(1, sensitivity, epsilon, delta)
		}
	}
}

// BenchmarkNoise measures both sides of each contest.
func BenchmarkNoise(b *testing.B) {
	for _, c := range contests(b) {
		name := strings.ReplaceAll(c.name, " ", "/")
		b.Run(name+"/dpproxy", c.ours)
		b.Run(name+"/google", c.theirs)
	}
}

// TestTable measures both sides of each contest in turn, several times, and prints
// the medians. It fails where dpproxy is not as much faster as it is to be, what
// the other side does before it draws left out.
func TestTable(t *testing.T) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "noise\tdpproxy ns\tallocs\tgoogle ns\tallocs\tratio\tdrawing alone ns\tratio\t")
	for _, c := range contests(t) {
		var ours, theirs, preparing []float64
		var ourAllocs, theirAllocs int64
		for range *runs {
			a, b := testing.Benchmark(c.ours), testing.Benchmark(c.theirs)
			ours, theirs = append(ours, perOp(a)), append(theirs, perOp(b))
			ourAllocs, theirAllocs = a.AllocsPerOp(), b.AllocsPerOp()
			if c.preparing != nil {
				preparing = append(preparing, perOp(testing.Benchmark(c.preparing)))
			}
		}
		mine, other := median(ours), median(theirs)
		drawing := other
		if c.preparing != nil {
			drawing -= median(preparing)
		}
		fmt.Fprintf(w, "%s\t%.0f\t%d\t%.0f\t%d\t%.1f\t%.0f\t%.1f\t\n",
			c.name, mine, ourAllocs, other, theirAllocs, other/mine, drawing, drawing/mine)
		if drawing < atLeast*mine {
			t.Errorf("%s: %.0f ns against %.0f ns, less than %d times faster", c.name, mine, drawing, atLeast)
		}
		if ourAllocs != 0 {
			t.Errorf("%s: %d allocations a draw", c.name, ourAllocs)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + text.String())
}

func perOp(r testing.BenchmarkResult) float64 { return float64(r.T.Nanoseconds()) / float64(r.N) }

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
