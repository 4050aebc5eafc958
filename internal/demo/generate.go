package demo

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
)

// A Size says how many rows the generated tables have. There are always 40 hospitals.
type Size struct{ Patients, Visits, Labs int }

var (
	// FullSize is the size of the demonstration.
	FullSize = Size{Patients: 100_000, Visits: 1_000_000, Labs: 2_000_000}
	// SmallSize has the proportions of FullSize and loads in a moment, for tests.
	SmallSize = Size{Patients: 2_000, Visits: 20_000, Labs: 40_000}
)

// A Generator makes up a clinic. The same seed and size give the same rows, and
// rows are made when they are asked for: nothing but the current one is kept.
//
// The clinic is life-like where that shows in an answer: a few patients have
// hundreds of visits and a few have none, costs have a long tail, diagnoses go with
// age and smoking, and lab values with diagnosis and age.
type Generator struct {
	seed uint64
	size Size
}

var _ Source = (*Generator)(nil)

// Generate returns the clinic of a seed. It fails if there would be nobody for the
// visits to belong to, or no visit for the labs, or more rows than an id can number.
func Generate(seed uint64, size Size) (*Generator, error) {
	switch {
	case min(size.Patients, size.Visits, size.Labs) < 1:
		return nil, fmt.Errorf("demo: a clinic needs at least one patient, visit and lab, not %+v", size)
	case max(size.Patients, size.Visits, size.Labs) > math.MaxInt32:
		return nil, fmt.Errorf("demo: a clinic's ids are 32-bit integers, %+v is too large", size)
	}
	return &Generator{seed: seed, size: size}, nil
}

// Tables returns hospitals, patients, visits and labs.
func (g *Generator) Tables() []Table {
	return []Table{hospitalTable(), g.patientTable(), g.visitTable(), g.labTable()}
}

// A stream names an independent sequence of random numbers, so that asking for one
// table's rows never changes another's.
type stream uint64

const (
	patientStream stream = iota + 1
	visitStream
	labStream
)

// A die is a random source that can be put back to a known place.
type die struct {
	*rand.Rand
	pcg  *rand.PCG
	seed uint64
}

func (g *Generator) die(s stream) die {
	pcg := rand.NewPCG(g.seed, uint64(s))
	return die{Rand: rand.New(pcg), pcg: pcg, seed: g.seed ^ uint64(s)<<56}
}

// restart makes the numbers after it a function of the seed, the stream and the id. The
// multiplier (2⁶⁴ over the golden ratio) keeps neighbouring ids apart.
func (d die) restart(id int32) { d.pcg.Seed(d.seed, uint64(id)*0x9e3779b97f4a7c15) }

// chance is true with the given probability.
func (d die) chance(probability float64) bool { return d.Float64() < probability }

// pick returns an index, each as likely as its weight.
func (d die) pick(weights []float64) int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	at := d.Float64() * total
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

func (d die) normal(mean, deviation float64) float64 { return mean + deviation*d.NormFloat64() }

func (d die) logNormal(median, sigma float64) float64 {
	return median * math.Exp(sigma*d.NormFloat64())
}

func clamp(x, lo, hi float64) float64 { return min(max(x, lo), hi) }

// withoutError makes a table's rows of a sequence that cannot fail.
func withoutError(rows iter.Seq[[]any]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}
