package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"sync"

	"dpproxy/dp"
)

const (
	// MaxTotals is the largest number of values of which running totals are measured.
	MaxTotals = 1 << 11
	// TotalsBits are the fraction bits of the coefficients by which values are measured.
	TotalsBits = 20
	// decodingBits are those of the coefficients by which totals are computed from measurements: with values below
	// 2¹²⁰ a total is off by less than 2⁻⁴⁰ before it is rounded.
	decodingBits = 192
)

// Totals measures values x of which running totals are shown. Where A is the lower triangular matrix of ones, so that
// A·x are the totals, it is not x that gets noise but C·x, where C·C is about A: the triangular Toeplitz matrix of the
// coefficients of (1−z)^(−1/2), that are binom(2k, k)/4ᵏ [Fichtenberger, Henzinger and Upadhyay 2023; Bennett 1977]. The
// totals A·C⁻¹·(C·x + noise) have an error that grows with ln n where that of totals of noisy values grows with √n.
//
// The guarantee: C has whole coefficients cₖ, the ones above times 2^TotalsBits and rounded. A unit changes one value,
// and that by at most LInf. If it is the t-th, C·x changes by at most LInf times the t-th column of C, so by
// L2Squared = LInf²·Σ cₖ² over all k below n, since the first column is the longest. The measurements are C·x plus
// independent discrete Gaussian noise, and so are ρ-zCDP with ρ = L2Squared/(2·variance) [CKS 2020, Theorem 4]. All
// else is computed from the measurements. Values may be in several sequences of at most n, each measured by itself:
// a unit is in one of them.
//
// The methods of [Mechanism] are about the noise of one measurement, in units of 2^−TotalsBits.
type Totals struct {
	noise Gaussian
	event dp.ImageEvent
	law   *totalsLaw
}

var _ Mechanism = Totals{}

// TotalsFor returns the mechanism with the least noise for sequences of at most n values, whose price is at most
// rhoPico·10⁻¹². A unit must change one value at most: s.L0 is 1.
func TotalsFor(s dp.Sensitivity, n int, rhoPico int64) (Totals, error) {
	if s.L0 != 1 || !s.Valid() || n < 1 || n > MaxTotals || rhoPico <= 0 {
		return Totals{}, fmt.Errorf("%w: totals of %d values of sensitivity %+v at ρ = %d·10⁻¹²", ErrParameter, n, s, rhoPico)
	}
	law := totalsLawOf(n)
	square := new(big.Int).Mul(s.L2Squared(), law.columnSquared(n))
	num := new(big.Int).Mul(square, big.NewInt(dp.PicoPerUnit/2))
	// The noise is of the variance alone; which change it hides is in the event.
	noise, err := NewGaussian(dp.Sensitivity{L0: 1, LInf: 1}, ceilDiv(num, big.NewInt(rhoPico)))
	if err != nil {
		return Totals{}, err
	}
	return Totals{noise, dp.ImageEvent{Coordinates: int64(n), L2Squared: square, Variance: noise.variance}, law}, nil
}

// Event implements Mechanism: the measurement of one sequence, or of several among which a unit is in one.
func (t Totals) Event() dp.Event {
	e := t.event
	e.L2Squared, e.Variance = new(big.Int).Set(e.L2Squared), new(big.Int).Set(e.Variance)
	return e
}

// Sample implements Mechanism.
func (t Totals) Sample(z *big.Int, src Source) *big.Int { return t.noise.Sample(z, src) }

// Quantile implements Mechanism.
func (t Totals) Quantile(alpha float64) float64 { return t.noise.Quantile(alpha) }

// StdDev implements Mechanism.
func (t Totals) StdDev() float64 { return t.noise.StdDev() }

// String implements Mechanism.
func (t Totals) String() string {
	return fmt.Sprintf("running totals of %d, %v in steps of 1/2^%d", t.event.Coordinates, t.noise, TotalsBits)
}

// Measure measures a sequence of values. The caller must have charged t.Event(), durably, before.
func (t Totals) Measure(src Source, values []Private) []Released {
	if int64(len(values)) > t.event.Coordinates {
		panic("mechanisms: more values than the sensitivity of their totals is of")
	}
	measured := make([]Released, len(values))
	terms := make([]Weighted, len(values))
	for i := range values {
		for j := range i + 1 {
			terms[j] = Weighted{Weight: t.law.coefficients[i-j], Value: values[j]}
		}
		measured[i] = Release(t.noise, src, Combine(0, terms[:i+1]...))
	}
	return measured
}

// Values returns values whose running totals are those that follow from measurements, rounded to integers. They are
// computed from the measurements alone.
func (t Totals) Values(measured []Released) []*big.Int {
	out := make([]*big.Int, len(measured))
	half := new(big.Int).Lsh(big.NewInt(1), decodingBits+TotalsBits-1)
	before, part := new(big.Int), new(big.Int)
	for i := range measured {
		total := new(big.Int).Set(half)
		for j := range i + 1 {
			total.Add(total, part.Mul(t.law.decoding[i-j], measured[j].v))
		}
		total.Rsh(total, decodingBits+TotalsBits) // Rsh floors
		out[i], before = new(big.Int).Sub(total, before), total
	}
	return out
}

// Replica returns the noise of values such as [Totals.Values] returns, made of as many independent standard normal
// numbers: that is the law of the noise of measurements but for less than 10⁻⁹, since its variance is above 2⁴⁰. It is
// for statements about errors, and must not be added to a private value.
func (t Totals) Replica(normal []float64) []int64 {
	out := make([]int64, len(normal))
	scale, before := math.Ldexp(t.StdDev(), -TotalsBits), int64(0)
	for i := range normal {
		total := 0.0
		for j := range i + 1 {
			total += t.law.weights[i-j] * normal[j]
		}
		rounded := int64(math.Floor(total*scale + 0.5))
		out[i], before = rounded-before, rounded
	}
	return out
}

// Deviations returns the standard deviations of the first n values, and of their totals, before totals are rounded.
func (t Totals) Deviations(n int) (values, totals []float64) {
	scale, value, total, before := math.Ldexp(t.StdDev(), -TotalsBits), 0.0, 0.0, 0.0
	for _, w := range t.law.weights[:n] {
		value, total = value+(w-before)*(w-before), total+w*w
		values, totals = append(values, scale*math.Sqrt(value)), append(totals, scale*math.Sqrt(total))
		before = w
	}
	return values, totals
}

// A totalsLaw has the coefficients of C, and those of A·C⁻¹ times 2^TotalsBits: exact ones with decodingBits, and doubles.
type totalsLaw struct {
	coefficients []int64
	decoding     []*big.Int
	weights      []float64
}

// columnSquared returns the square of the length of the first column of C, which is the longest of n.
func (l *totalsLaw) columnSquared(n int) *big.Int {
	sum := new(big.Int)
	for _, c := range l.coefficients[:n] {
		square := big.NewInt(c)
		sum.Add(sum, square.Mul(square, square))
	}
	return sum
}

var totalsLaws sync.Map // by number of coefficients, a power of two

// totalsLawOf returns coefficients for n values.
func totalsLawOf(n int) *totalsLaw {
	size := 1
	for size < n {
		size *= 2
	}
	law, ok := totalsLaws.Load(size)
	if !ok {
		law, _ = totalsLaws.LoadOrStore(size, sync.OnceValue(func() *totalsLaw { return newTotalsLaw(size) }))
	}
	return law.(func() *totalsLaw)()
}

func newTotalsLaw(n int) *totalsLaw {
	l := &totalsLaw{}
	for k, c := 0, 1.0; k < n; k++ {
		if k > 0 {
			c *= float64(2*k-1) / float64(2*k)
		}
		l.coefficients = append(l.coefficients, int64(math.RoundToEven(math.Ldexp(c, TotalsBits))))
	}
	one := new(big.Int).Lsh(big.NewInt(1), decodingBits+TotalsBits)
	c, part := new(big.Int), new(big.Int)
	for k := range n { // Σ c_j·q_(k−j) over j from 0 to k is one, and c_0 is 2^TotalsBits
		q := new(big.Int).Set(one)
		for j := 1; j <= k; j++ {
			q.Sub(q, part.Mul(c.SetInt64(l.coefficients[j]), l.decoding[k-j]))
		}
		l.decoding = append(l.decoding, q.Rsh(q, TotalsBits))
		f, _ := new(big.Float).SetInt(q).Float64()
		l.weights = append(l.weights, math.Ldexp(f, -decodingBits))
	}
	return l
}
