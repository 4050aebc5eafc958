package mechanisms

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

const (
	// maxOptimalPartitions is how many partitions a unit may touch for the optimal
	// selection to be worth its price: beyond, Gaussian thresholds keep more.
	maxOptimalPartitions = 3
	// maxOptimalBits bounds the numerators and denominators of its ε and δ.
	maxOptimalBits = 128
	// optimalGuard is how many bits more than those asked for an enclosure is
	// computed with. It makes it narrow: 1−exp(−ε) is above 2⁻⁴¹, the powers of
	// exp(−ε) that occur above δ ≥ 2⁻¹²⁸, and both are divided by.
	optimalGuard = 192
)

// OptimalSelection decides which partitions (groups) a release may name, as
// [GaussianSelection] does, but tells of each only whether it is kept. Of all
// selections that are (ε, δ)-DP on each partition it keeps those of every size
// with the largest probability [Desfontaines-Voss-Gipson-Mandayam 2022, Theorem 1]:
// a partition of n units with π(n), where π(0) = 0 and
//
//	π(n+1) = min(exp(ε)·π(n) + δ, 1 − exp(−ε)·(1 − π(n) − δ), 1).
//
// The guarantee: the decision on one partition is (ε, δ)-DP, so that the step is
// (k·ε, k·δ)-DP for units in at most k partitions, k ≤ 3. It is priced as k
// releases that are ε-DP, but for a probability of k·δ. A larger k is refused: a
// [GaussianSelection] keeps more there.
//
// The caller must ensure what GaussianSelection says.
//
// The sampler compares a uniform number, bit by bit, with enclosures of π(n). Its
// time depends a little on n.
type OptimalSelection struct {
	partitions     int64
	epsilon, delta *big.Rat // of each partition
	rising         int64    // the last n with π(n) = exp(ε)·π(n−1) + δ
	first          curve    // which tells all but a few 2⁻⁶⁴ of decisions
}

// NewOptimalSelection returns the selection with the given ε and δ for each
// partition, ε from 10⁻¹² to 10⁴ and δ above 0 with k·δ below 1, for units in at
// most maxPartitions partitions.
func NewOptimalSelection(maxPartitions int64, epsilon, delta *big.Rat) (OptimalSelection, error) {
	switch {
	case maxPartitions < 1:
		return OptimalSelection{}, fmt.Errorf("%w: units in %d partitions", ErrParameter, maxPartitions)
	case maxPartitions > maxOptimalPartitions:
		return OptimalSelection{}, fmt.Errorf("%w: optimal selection serves units in at most %d partitions, not %d; use Gaussian thresholds",
			ErrParameter, maxOptimalPartitions, maxPartitions)
	case epsilon == nil || epsilon.Cmp(big.NewRat(1, dp.PicoPerUnit)) < 0 || epsilon.Cmp(big.NewRat(10_000, 1)) > 0:
		return OptimalSelection{}, fmt.Errorf("%w: the ε of an optimal selection must be from 10⁻¹² to 10⁴", ErrParameter)
	case delta == nil || delta.Sign() <= 0 || delta.Cmp(big.NewRat(1, maxPartitions)) >= 0:
		return OptimalSelection{}, fmt.Errorf("%w: the δ of an optimal selection must be above 0, and below 1 in sum", ErrParameter)
	}
	for _, x := range []*big.Rat{epsilon, delta} {
		if x.Num().BitLen() > maxOptimalBits || x.Denom().BitLen() > maxOptimalBits {
			return OptimalSelection{}, fmt.Errorf("%w: the ε or δ of an optimal selection has more than %d bits", ErrParameter, maxOptimalBits)
		}
	}
	s := OptimalSelection{
		partitions: maxPartitions,
		epsilon:    new(big.Rat).Set(epsilon),
		delta:      new(big.Rat).Set(delta),
	}
	s.rising = s.findRising()
	s.first = s.curve(64)
	return s, nil
}

// OptimalSelectionFor returns the selection with the largest ε for each partition
// whose price is at most ρ = rhoPico·10⁻¹² and δ = deltaAtto·10⁻¹⁸, to a multiple
// of 10⁻¹² or, relatively, 10⁻¹². The price of a partition is ε·tanh(ε/2), rounded
// up to 10⁻¹².
func OptimalSelectionFor(maxPartitions, rhoPico, deltaAtto int64) (OptimalSelection, error) {
	total, err := deltaOf(deltaAtto)
	if err != nil {
		return OptimalSelection{}, err
	}
	if maxPartitions < 1 || rhoPico < maxPartitions || rhoPico > dp.MaxPico {
		return OptimalSelection{}, fmt.Errorf("%w: partition selection at ρ = %d·10⁻¹² for units in %d partitions", ErrParameter, rhoPico, maxPartitions)
	}
	rho := float64(rhoPico/maxPartitions) / dp.PicoPerUnit
	low, high := 0.0, rho+2 // as tanh(ε/2) ≥ ε/(ε+2)
	for range 128 {
		mid := low + (high-low)/2
		// A few roundings of a relative 2⁻⁵³ each are less than the slack.
		if mid*math.Tanh(mid/2) <= rho*(1-1e-14) {
			low = mid
		} else {
			high = mid
		}
	}
	picos := math.Floor(low * (1 - 1e-14) * dp.PicoPerUnit)
	return NewOptimalSelection(maxPartitions, big.NewRat(int64(picos), dp.PicoPerUnit), total.Quo(total, new(big.Rat).SetInt64(maxPartitions)))
}

// Event describes the selection of all partitions.
func (s OptimalSelection) Event() dp.Event {
	k := new(big.Rat).SetInt64(s.partitions)
	parts := make(dp.ComposedEvent, s.partitions)
	for i := range parts {
		parts[i] = dp.PureEvent{Epsilon: new(big.Rat).Set(s.epsilon)}
	}
	return dp.ApproximateEvent{Of: parts, Delta: k.Mul(k, s.delta)}
}

// Keep returns π(n), the probability that a partition of n units is kept, to the
// precision of a double. It is 0 for n ≤ 0, as no such partition may be tried.
func (s OptimalSelection) Keep(n int64) float64 {
	if n <= 0 {
		return 0
	}
	e := s.first.at(n)
	p, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(e.lo), -int(s.first.precision)).Float64()
	return math.Min(1, p)
}

// Select tries one partition with its number of units, and says whether it is
// kept.
func (s OptimalSelection) Select(src Source, units Private) bool {
	n := units.reveal()
	switch {
	case n.Sign() <= 0:
		return false
	case n.Cmp(big.NewInt(maxThreshold)) > 0: // where π is 1 for long
		n = big.NewInt(maxThreshold)
	}
	return s.keeps(src, n.Int64())
}

// keeps draws the event of probability π(n), for n ≥ 1.
func (s OptimalSelection) keeps(src Source, n int64) bool {
	own := borrow(src)
	defer giveBack(src, own)
	e := s.first.narrow(s.first.at(n), 64)
	if e.lo.BitLen() > 64 { // π(n) is 1
		return true
	}
	last := new(big.Int).Sub(e.hi, big.NewInt(1)).Uint64()
	closer := func(precision uint) enclosure {
		c := s.curve(precision)
		return c.narrow(c.at(n), precision)
	}
	return chance{closer, e.lo.Uint64(), last}.happens(own)
}

// String writes the selection for plans.
func (s OptimalSelection) String() string {
	epsilon, _ := s.epsilon.Float64()
	delta, _ := s.delta.Float64()
	return fmt.Sprintf("optimal selection epsilon=%.6g delta=%.6g", epsilon, delta)
}

// findRising returns r = 1 + ⌊ln((exp(ε)+2δ−1)/((exp(ε)+1)·δ))/ε⌋: 1 and the
// largest j with qʲ·(1 − (1−2δ)·q) ≥ δ·(1+q), q = exp(−ε). As q is transcendental,
// the two are never equal, and enclosures tell them apart.
func (s OptimalSelection) findRising() int64 {
	// qʲ is at least δ > 2⁻ᵇ, b the bits of δ's denominator.
	bound := new(big.Rat).Inv(s.epsilon)
	bound.Mul(bound, new(big.Rat).SetInt64(int64(s.delta.Denom().BitLen())))
	low, high := int64(0), new(big.Int).Quo(bound.Num(), bound.Denom()).Int64()+1
	for precision := uint(optimalGuard); high-low > 1; precision *= 2 {
		low, high = s.bisectRising(precision, low, high)
	}
	return 1 + low
}

// bisectRising narrows the range of j as far as a precision can tell: low is in
// the rise, high is not.
func (s OptimalSelection) bisectRising(precision uint, low, high int64) (int64, int64) {
	f := fixed{precision}
	powers := newPowers(s.epsilon, precision)
	delta, q := f.rational(s.delta), powers.at(big.NewInt(1))
	right := f.mul(delta, f.add(f.one(), q))
	factor := f.add(f.complement(q), f.mul(f.add(delta, delta), q)) // 1 − (1−2δ)·q
	for high-low > 1 {
		mid := low + (high-low)/2
		left := f.mul(powers.at(big.NewInt(mid)), factor)
		switch {
		case left.lo.Cmp(right.hi) >= 0:
			low = mid
		case left.hi.Cmp(right.lo) < 0:
			high = mid
		default:
			return low, high
		}
	}
	return low, high
}

// A curve encloses π at one precision. With q = exp(−ε) and r the end of the rise,
//
//	π(n) = δ/(1−q)·(1/qⁿ⁻¹ − q) for n ≤ r,
//	π(n) = min(1, (1 − qⁿ⁻ʳ)·(1 + δq/(1−q)) + qⁿ⁻ʳ·π(r)) beyond.
type curve struct {
	fixed
	powers powers
	rising int64
	q      enclosure
	slope  enclosure // δ/(1−q)
	limit  enclosure // 1 + δq/(1−q)
	top    enclosure // π(r)
}

// curve returns one that encloses π to the given precision.
func (s OptimalSelection) curve(precision uint) curve {
	f := fixed{precision + optimalGuard}
	c := curve{fixed: f, powers: newPowers(s.epsilon, f.precision), rising: s.rising}
	c.q = c.powers.at(big.NewInt(1))
	c.slope = f.quo(f.rational(s.delta), f.complement(c.q))
	c.limit = f.add(f.one(), f.mul(c.slope, c.q))
	c.top = c.rise(s.rising)
	return c
}

// rise encloses π(n) for n from 1 to r.
func (c curve) rise(n int64) enclosure {
	inverse := c.quo(c.one(), c.powers.at(big.NewInt(n-1)))
	return c.mul(c.slope, c.sub(inverse, c.q))
}

// at encloses π(n) for n ≥ 1, or a number above 1 where it is 1.
func (c curve) at(n int64) enclosure {
	if n <= c.rising {
		return c.rise(n)
	}
	fall := c.powers.at(big.NewInt(n - c.rising))
	return c.add(c.mul(c.complement(fall), c.limit), c.mul(fall, c.top))
}
