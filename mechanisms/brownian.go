package mechanisms

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"

	"dpproxy/dp"
)

var (
	// ErrCap is wrapped by the errors for a step that the cap of its chain does
	// not admit.
	ErrCap = errors.New("mechanisms: the step costs more than the cap leaves")
	// ErrStep is wrapped by the errors for a step of a chain, or a level of a path,
	// that was drawn before, or since whose planning another one was.
	ErrStep = errors.New("mechanisms: the step is not the next one")
)

// maxCoordinates bounds a chain's memory.
const maxCoordinates = 1 << 24

// exactVariances is how many of the first variances have an exact precision.
const exactVariances = 100

// precisionUnit is the number of units in a precision of 1. Precisions are whole
// numbers of units, each rounded up: exact for variances up to exactVariances, and
// for divisors of 10¹², and relatively 2⁻¹⁷⁶ above the truth at most.
var precisionUnit = func() *big.Int {
	lcm := big.NewInt(1)
	for v := int64(2); v <= exactVariances; v++ {
		d := big.NewInt(v)
		lcm.Mul(lcm, d.Quo(d, new(big.Int).GCD(nil, nil, lcm, d)))
	}
	return lcm.Mul(lcm, big.NewInt(dp.PicoPerUnit)).Lsh(lcm, 128)
}()

// Brownian is the Brownian mechanism on a lattice: a vector of exact integers is
// measured again and again, each time with independent discrete Gaussian noise
// N(0, v), and the estimate of a coordinate is the mean of its measurements
// Z₁, Z₂, … with the weights 1/v₁, 1/v₂, …
//
// With continuous noise and 1/vₖ = 1/tₖ − 1/tₖ₋₁, the estimates Y₁, Y₂, … have the
// law of f + B at the times t₁ > t₂ > …, B a Brownian motion: the covariance of Yₖ
// and Yₗ is the larger of tₖ and tₗ, and from either sequence the other follows.
// So the noise reduction of [Whitehouse et al. 2022] is a sequence of ordinary
// Gaussian mechanisms, and a sum of N(0, v) needs no path that is kept secret.
//
// The guarantee: let q be a coordinate's precision, the sum of 1/v over the
// measurements of this chain. For neighbours that differ in at most L0 coordinates,
// by at most LInf in each, all measurements together are ρ-zCDP with
//
//	ρ = LInf²/2 · (the sum of the L0 largest q),
//
// [CKS 2020, Theorem 4] and fully adaptive composition [Whitehouse et al. 2023]:
// the variances, the coordinates and the time to stop may depend on all
// earlier releases. The price of a step is its part of ρ; the price of
// the chain never exceeds its cap.
//
// The caller must ensure that every step is charged, durably, before it is
// measured, and that the exact values, which the chain keeps from its beginning,
// are of one read of the data. A measurement of an earlier read may be brought in by
// [Brownian.Remember]: it sharpens the estimates, but the price of the new chain
// begins at zero, on top of all that was paid before, because in the meantime a
// unit may have moved between the coordinates.
//
// A chain holds the exact values, for as long as it lives, and releases.
// Like a [Private], it prints and logs nothing of the exact values, and cannot be
// encoded: its measurements are kept for later. It is safe for concurrent
// use.
type Brownian struct {
	sensitivity dp.Sensitivity
	capPico     int64
	exact       []Private
	// priceNum/priceDen is the price of one unit of precision, in 10⁻¹² of ρ.
	priceNum, priceDen *big.Int

	mu          sync.Mutex
	paid        int64
	round       int // steps measured
	coordinates []coordinate
}

// A coordinate sums up the measurements of one exact value.
type coordinate struct {
	read     *big.Int // precision of this chain's measurements, which is priced
	known    *big.Int // precision of all measurements, remembered ones too
	weighted *big.Int // Σ of precision times value, over all measurements
}

// A Measurement is one released value of a coordinate: the exact integer and
// discrete Gaussian noise of this variance.
type Measurement struct{ Variance, Value *big.Int }

// An Estimate is the mean of a coordinate's measurements, weighted by precision. If
// the exact value was the same at each of them, and their number and variances were
// fixed in advance, its error has mean zero and is Sigma²-sub-Gaussian:
// P(|error| > c) ≤ 2·exp(−c²/(2·Sigma²)). Otherwise a boundary for any time is needed, as
// [Scales] is; and
// where the value has changed, the estimate is a mean of the old one and the new,
// and Sigma says nothing about its distance from either. Where nothing was
// measured, Sigma is +Inf.
type Estimate struct {
	Value *big.Rat
	Sigma float64 // in lattice units, rounded up
}

// A Draw asks for one more measurement of a coordinate.
type Draw struct {
	Coordinate int
	Variance   *big.Int // ≥ 1, in lattice units squared
}

// NewBrownian returns the chain of the exact values of one read, of sensitivity s.
// Its price will be at most capPico·10⁻¹², counted as the sum of the prices of its
// steps, each rounded up to 10⁻¹².
func NewBrownian(s dp.Sensitivity, exact []Private, capPico int64) (*Brownian, error) {
	b, err := newBrownian(s, len(exact), capPico)
	if err != nil {
		return nil, err
	}
	if err := b.hold(exact); err != nil {
		return nil, err
	}
	return b, nil
}

// newBrownian returns the chain of n coordinates whose values are not read yet.
func newBrownian(s dp.Sensitivity, n int, capPico int64) (*Brownian, error) {
	switch {
	case !s.Valid():
		return nil, fmt.Errorf("%w: sensitivity %+v", ErrParameter, s)
	case n < 1 || n > maxCoordinates:
		return nil, fmt.Errorf("%w: a chain of %d coordinates", ErrParameter, n)
	case capPico < 1 || capPico > dp.MaxPico:
		return nil, fmt.Errorf("%w: a chain with the cap ρ = %d·10⁻¹²", ErrParameter, capPico)
	}
	b := &Brownian{sensitivity: s, capPico: capPico, coordinates: make([]coordinate, n)}
	square := new(big.Int).Mul(big.NewInt(s.LInf), big.NewInt(s.LInf))
	b.priceNum = square.Mul(square, big.NewInt(dp.PicoPerUnit/2))
	b.priceDen = precisionUnit
	for i := range b.coordinates {
		b.coordinates[i] = coordinate{new(big.Int), new(big.Int), new(big.Int)}
	}
	return b, nil
}

// hold gives the chain its exact values, once.
func (b *Brownian) hold(exact []Private) error {
	if b.exact != nil || len(exact) != len(b.coordinates) || slices.ContainsFunc(exact, Private.isEmpty) {
		return fmt.Errorf("%w: %d exact values of %d coordinates, or an empty one, or others", ErrParameter, len(exact), len(b.coordinates))
	}
	b.exact = slices.Clone(exact)
	return nil
}

// MarshalJSON implements json.Marshaler. It refuses.
func (*Brownian) MarshalJSON() ([]byte, error) { return nil, ErrPrivate }

// precision returns 1/variance in units, rounded up.
func precision(variance *big.Int) *big.Int { return ceilDiv(precisionUnit, variance) }

// learn adds a measurement.
func (c *coordinate) learn(weight, value *big.Int) {
	c.known.Add(c.known, weight)
	c.weighted.Add(c.weighted, new(big.Int).Mul(weight, value))
}

// Remember adds a measurement of another read to the estimate of a coordinate. It
// was paid for then, and is not part of this chain's price.
//
// A measurement describes the data that it was drawn from: a bound of the
// estimate's error holds for the exact values of this chain only if they are those of the
// other read. The caller must ensure that, by remembering only measurements of
// the same coordinate at the same data epoch, under the same secret, on the same
// lattice and by the same policy; and that every measurement of a coordinate is
// remembered, once, or none: no bound speaks of a choice among them.
func (b *Brownian) Remember(i int, m Measurement) error {
	if i < 0 || i >= len(b.coordinates) || m.Value == nil {
		return fmt.Errorf("%w: a measurement of coordinate %d of %d", ErrParameter, i, len(b.coordinates))
	}
	if _, err := NewGaussian(b.sensitivity, m.Variance); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.coordinates[i].learn(precision(m.Variance), m.Value)
	return nil
}

// Paid returns the price of the steps that were measured, in 10⁻¹² of ρ.
func (b *Brownian) Paid() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.paid
}

// Estimates returns the estimate of each coordinate.
func (b *Brownian) Estimates() []Estimate {
	b.mu.Lock()
	defer b.mu.Unlock()
	estimates := make([]Estimate, len(b.coordinates))
	for i, c := range b.coordinates {
		estimates[i] = c.estimate()
	}
	return estimates
}

// estimate combines the measurements. Weights in whole units are not quite 1/v,
// but relatively 2⁻¹⁷⁶ above at most, and so is the error's variance.
func (c *coordinate) estimate() Estimate {
	if c.known.Sign() == 0 {
		return Estimate{new(big.Rat), math.Inf(1)}
	}
	return Estimate{new(big.Rat).SetFrac(c.weighted, c.known), math.Sqrt(ratio(precisionUnit, c.known)) * (1 + 1e-15)}
}

// ratio returns x/y as a double, within a few roundings.
func ratio(x, y *big.Int) float64 {
	a, b := new(big.Float).SetPrec(64).SetInt(x), new(big.Float).SetPrec(64).SetInt(y)
	f, _ := a.Quo(a, b).Float64()
	return f
}

// A Step is one round of measurements that was planned, and that may be charged
// and then measured, once. A step that is not measured costs nothing.
type Step struct {
	chain         *Brownian
	round         int
	draws         []planned
	before, after *big.Int // sums of the L0 largest precisions
	price         int64
}

type planned struct {
	coordinate int
	weight     *big.Int
	noise      Gaussian
}

// Plan returns the step that makes these draws, of different coordinates, next.
// It wraps ErrCap if the price of the chain would exceed its cap.
func (b *Brownian) Plan(draws []Draw) (*Step, error) {
	if len(draws) == 0 {
		return nil, fmt.Errorf("%w: a step without a draw", ErrParameter)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	step := &Step{chain: b, round: b.round, draws: make([]planned, len(draws))}
	read := b.precisions()
	step.before = sumOfLargest(read, b.sensitivity.L0)
	drawn := make([]bool, len(read))
	var p planned
	for k, d := range draws {
		if d.Coordinate < 0 || d.Coordinate >= len(read) || drawn[d.Coordinate] {
			return nil, fmt.Errorf("%w: a draw of coordinate %d of %d, or a second one", ErrParameter, d.Coordinate, len(read))
		}
		if k == 0 || d.Variance == nil || d.Variance.Cmp(p.noise.variance) != 0 { // most are alike
			noise, err := NewGaussian(b.sensitivity, d.Variance)
			if err != nil {
				return nil, err
			}
			p.noise, p.weight = noise, precision(noise.variance)
		}
		p.coordinate = d.Coordinate
		drawn[d.Coordinate] = true
		step.draws[k] = p
		read[d.Coordinate] = new(big.Int).Add(read[d.Coordinate], p.weight)
	}
	step.after = sumOfLargest(read, b.sensitivity.L0)
	price := b.price(new(big.Int).Sub(step.after, step.before))
	if !price.IsInt64() || price.Int64() > b.capPico-b.paid {
		return nil, fmt.Errorf("%w: %v of %d·10⁻¹²", ErrCap, price, b.capPico-b.paid)
	}
	step.price = price.Int64()
	return step, nil
}

// precisions returns that of each coordinate's measurements by the chain. The numbers are
// the chain's own; the slice is not.
func (b *Brownian) precisions() []*big.Int {
	read := make([]*big.Int, len(b.coordinates))
	for i, c := range b.coordinates {
		read[i] = c.read
	}
	return read
}

// price returns the price of so many units of precision, in 10⁻¹² of ρ, rounded up.
func (b *Brownian) price(units *big.Int) *big.Int {
	return ceilDiv(new(big.Int).Mul(units, b.priceNum), b.priceDen)
}

// affordable returns the most units of precision whose price is at most pico.
func (b *Brownian) affordable(pico int64) *big.Int {
	units := new(big.Int).Mul(big.NewInt(max(pico, 0)), b.priceDen)
	return units.Quo(units, b.priceNum)
}

// sumOfLargest returns the sum of the k largest numbers.
func sumOfLargest(numbers []*big.Int, k int64) *big.Int {
	sum := new(big.Int)
	if k < int64(len(numbers)) {
		numbers = descending(numbers)[:k]
	}
	for _, x := range numbers {
		sum.Add(sum, x)
	}
	return sum
}

// descending returns the numbers from the largest to the smallest.
func descending(numbers []*big.Int) []*big.Int {
	sorted := slices.Clone(numbers)
	slices.SortFunc(sorted, func(x, y *big.Int) int { return y.Cmp(x) })
	return sorted
}

// Event describes the step for a pricer.
func (s *Step) Event() dp.Event {
	return dp.RefinementEvent{
		Sensitivity: s.chain.sensitivity,
		Before:      new(big.Rat).SetFrac(s.before, precisionUnit),
		After:       new(big.Rat).SetFrac(s.after, precisionUnit),
	}
}

// Price returns the price of the step under zCDP, in 10⁻¹² of ρ, rounded up.
func (s *Step) Price() int64 { return s.price }

// Coordinates returns the coordinates that the step draws, in the order in which
// Measure returns them.
func (s *Step) Coordinates() []int {
	coordinates := make([]int, len(s.draws))
	for k, d := range s.draws {
		coordinates[k] = d.coordinate
	}
	return coordinates
}

// Measure draws the step's measurements of the exact values, reveals them, and
// returns them for a later read to remember. The caller must have charged
// s.Event(), durably, before. It wraps ErrStep the second time.
func (s *Step) Measure(src Source) ([]Measurement, error) {
	b := s.chain
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.round != b.round {
		return nil, fmt.Errorf("%w: it was planned after %d steps, and %d were measured", ErrStep, s.round, b.round)
	}
	b.round++
	b.paid += s.price
	measurements := make([]Measurement, len(s.draws))
	for k, d := range s.draws {
		value := Release(d.noise, src, b.exact[d.coordinate]).Int()
		c := &b.coordinates[d.coordinate]
		c.read.Add(c.read, d.weight)
		c.learn(d.weight, value)
		measurements[k] = Measurement{new(big.Int).Set(d.noise.variance), value}
	}
	return measurements, nil
}
