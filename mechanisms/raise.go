package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"sort"
)

// A Target asks for the estimate of a coordinate to reach a variance.
type Target struct {
	Coordinate int
	Variance   float64 // of the estimate; 0 for the least that there is
}

// leastVariance is the variance of an estimate to which no chain comes.
const leastVariance = 1e-9

// leastGain is the share of a coordinate's precision from which on a measurement
// is worth a round: less would not be seen in the error.
const leastGain = 1000

// Raise plans the step that brings the estimates to their targets, or as near as a
// price of levelPico·10⁻¹² for the whole chain admits, which is at most the cap: the
// precisions of the estimates that fall short are then raised to one common
// precision, as high as the level has room for. Coordinates that need no precision,
// or can have no more, are not drawn; it wraps ErrCap if none is left. Variances are
// rounded up: rounding only adds noise, so that a target may be missed by as little.
func (b *Brownian) Raise(targets []Target, levelPico int64) (*Step, error) {
	if levelPico < 1 {
		return nil, fmt.Errorf("%w: a level of ρ = %d·10⁻¹²", ErrParameter, levelPico)
	}
	wanted := make(map[int]*big.Int, len(targets))
	for _, t := range targets {
		switch {
		case t.Coordinate < 0 || t.Coordinate >= len(b.coordinates) || wanted[t.Coordinate] != nil:
			return nil, fmt.Errorf("%w: a target for coordinate %d of %d, or a second one", ErrParameter, t.Coordinate, len(b.coordinates))
		case !(t.Variance >= 0) || math.IsInf(t.Variance, 0):
			return nil, fmt.Errorf("%w: a target variance of %v", ErrParameter, t.Variance)
		}
		wanted[t.Coordinate] = precisionOf(t.Variance)
	}
	draws := b.raise(targets, wanted, levelPico)
	if len(draws) == 0 {
		return nil, fmt.Errorf("%w: nothing to gain up to ρ = %d·10⁻¹²", ErrCap, levelPico)
	}
	return b.Plan(draws)
}

// precisionOf returns 1/variance in units.
func precisionOf(variance float64) *big.Int {
	exact := new(big.Rat).SetFloat64(math.Max(variance, leastVariance))
	exact.Quo(new(big.Rat).SetInt(precisionUnit), exact)
	return ceilDiv(exact.Num(), exact.Denom())
}

// raise returns the draws of Raise.
func (b *Brownian) raise(targets []Target, wanted map[int]*big.Int, levelPico int64) []Draw {
	b.mu.Lock()
	defer b.mu.Unlock()
	have := sumOfLargest(b.precisions(), b.sensitivity.L0)
	room := have.Add(have, b.affordable(min(levelPico, b.capPico)-b.paid))
	common := b.commonPrecision(targets, room)
	var draws []Draw
	for _, t := range targets {
		c := b.coordinates[t.Coordinate]
		gain := new(big.Int).Sub(common, c.read)
		if missing := new(big.Int).Sub(wanted[t.Coordinate], c.known); missing.Cmp(gain) < 0 {
			gain = missing
		}
		if draw, ok := c.drawOf(t.Coordinate, gain); ok {
			draws = append(draws, draw)
		}
	}
	return draws
}

// drawOf returns the draw that adds at most gain to a coordinate's precision.
func (c *coordinate) drawOf(i int, gain *big.Int) (Draw, bool) {
	least := new(big.Int).Quo(c.known, big.NewInt(leastGain))
	if gain.Sign() <= 0 || gain.Cmp(least) < 0 {
		return Draw{}, false
	}
	variance := ceilDiv(precisionUnit, gain)
	return Draw{i, variance}, variance.BitLen() <= maxVarianceBits
}

// commonPrecision returns the highest precision to which the targets that are
// below it can be raised while the sum of the L0 largest stays within room.
//
// Let the m targets of least precision be raised to P, and the rest stay. Then the
// sum is the largest, over j ≤ m, of j·P and the L0 − j largest of the rest, and P
// is the least, over j, of the room that they leave, divided by j. The more
// targets are raised the lower P is, so that the largest m whose targets are all
// below P can be searched for by halving.
func (b *Brownian) commonPrecision(targets []Target, room *big.Int) *big.Int {
	read := b.precisions()
	order := make([]int, len(targets))
	for k, t := range targets {
		order[k] = t.Coordinate
	}
	slices.SortFunc(order, func(i, j int) int { return read[i].Cmp(read[j]) })
	m := sort.Search(len(order), func(m int) bool {
		return read[order[m]].Cmp(b.precisionForAll(read, order[:m+1], room)) >= 0
	})
	if m == 0 {
		return new(big.Int)
	}
	return b.precisionForAll(read, order[:m], room)
}

// precisionForAll returns the P of commonPrecision for the raised coordinates.
func (b *Brownian) precisionForAll(read []*big.Int, raised []int, room *big.Int) *big.Int {
	isRaised := make([]bool, len(read))
	for _, i := range raised {
		isRaised[i] = true
	}
	var rest []*big.Int
	for i, p := range read {
		if !isRaised[i] {
			rest = append(rest, p)
		}
	}
	rest = descending(rest)
	k := int(min(b.sensitivity.L0, int64(len(read))))
	// left is room without the k−j largest of the rest, beginning at j = 1.
	left := new(big.Int).Set(room)
	for _, p := range rest[:min(k-1, len(rest))] {
		left.Sub(left, p)
	}
	var least *big.Int
	for j := 1; j <= min(k, len(raised)); j++ {
		share, _ := new(big.Int).DivMod(left, big.NewInt(int64(j)), new(big.Int))
		if least == nil || share.Cmp(least) < 0 {
			least = share
		}
		if next := k - j - 1; next >= 0 && next < len(rest) {
			left.Add(left, rest[next])
		}
	}
	return least
}
