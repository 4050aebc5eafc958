package mechanisms

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

const (
	// leastRatio and mostRatio bound the ratio of two levels: a look should be
	// worth its part of the error probability, and not overshoot by much.
	leastRatio = 1.19
	mostRatio  = 4
)

// A Schedule decides how precise the next look is, from the releases before it.
// There are no others than those of this package.
type Schedule interface {
	// Boundary returns a boundary that holds with probability 1 − beta at every
	// look of the schedule, whichever is the last. For a chain that knew something
	// when the schedule was made it is the one within which that was measured, and
	// wraps ErrParameter if there is none, or not for this beta: it is too late to
	// choose one then.
	Boundary(beta float64) (Boundary, error)
	// holds reports whether a boundary is honest at the looks of the schedule.
	holds(within Boundary) bool
	// next plans the look after so many, for the open coordinates, those whose
	// estimates do not meet the rule. It wraps ErrCap if no look is left.
	next(b *Brownian, rule Rule, looks int, open []int) (*Step, error)
}

// Geometric is the schedule whose levels of ρ grow by a constant ratio, up to the
// cap. At each level the open coordinates reach a precision that is fixed in
// advance, so that the boundary of a fixed number of looks holds: that at which
// all coordinates together would cost the level. Where a unit touches several
// coordinates, and some need no more precision, the cap has room for more than
// that; so the precisions go on by the same ratio, until a look would cost more
// than the cap leaves. As no measurement has a variance below 1, a look adds at
// most 1 to a precision, whatever the level says.
type Geometric struct {
	precisions []*big.Int // of a coordinate, one for each look
	history    history
}

var _ Schedule = Geometric{}

// NewGeometric returns the schedule for chains like b from the level firstPico·10⁻¹²
// to the cap, by a ratio from 1.19 to 4. The number of looks is fixed by it.
func NewGeometric(b *Brownian, firstPico int64, factor float64) (Geometric, error) {
	levels, err := GeometricLevels(firstPico, b.capPico, factor)
	if err != nil {
		return Geometric{}, err
	}
	g := Geometric{history: b.past()}
	for k, level := range levels {
		// The price of each look is rounded up to 10⁻¹².
		g.precisions = append(g.precisions, b.share(level-int64(k)-1))
	}
	for most := b.affordable(b.capPico); ; {
		last := g.precisions[len(g.precisions)-1]
		further := scaled(last, factor)
		if further.Cmp(last) <= 0 || further.Cmp(most) > 0 {
			return g, nil
		}
		g.precisions = append(g.precisions, further)
	}
}

// GeometricLevels returns the levels first, first·factor, … and last, rounded down to
// integers. One that would be less than √factor below last is left out.
func GeometricLevels(first, last int64, factor float64) ([]int64, error) {
	switch {
	case !(factor >= leastRatio && factor <= mostRatio):
		return nil, fmt.Errorf("%w: levels of ratio %v", ErrParameter, factor)
	case first < 1 || last < first || last > dp.MaxPico:
		return nil, fmt.Errorf("%w: levels from %d to %d", ErrParameter, first, last)
	}
	var levels []int64
	for x := float64(first); x < float64(last)/math.Sqrt(factor); x = math.Max(x*factor, x+1) {
		levels = append(levels, int64(x))
	}
	return append(levels, last), nil
}

// scaled returns x·factor, rounded down.
func scaled(x *big.Int, factor float64) *big.Int {
	const bits = 32
	y := new(big.Int).Mul(x, big.NewInt(int64(math.Ldexp(factor, bits))))
	return y.Rsh(y, bits)
}

// Looks returns the number of looks of the schedule, at most.
func (g Geometric) Looks() int { return len(g.precisions) }

// Boundary implements Schedule: it is [Looks], which ends with the chain. A chain
// whose measurements another one will remember begins with an [Anytime].
func (g Geometric) Boundary(beta float64) (Boundary, error) {
	if g.history.begun() {
		return g.history.chosen(beta)
	}
	return NewLooks(beta, g.Looks())
}

func (g Geometric) holds(within Boundary) bool {
	looks, ok := within.(Looks)
	return !ok || looks.looks >= g.Looks()
}

// next skips precisions that the coordinates have already.
func (g Geometric) next(b *Brownian, _ Rule, looks int, open []int) (*Step, error) {
	for _, precision := range g.precisions[min(looks, len(g.precisions)):] {
		if draws := b.drawsTo(precision, open); len(draws) > 0 {
			return b.Plan(draws)
		}
	}
	return nil, fmt.Errorf("%w: all %d looks were had", ErrCap, len(g.precisions))
}

// Jump is the schedule of few looks: a pilot, and then each open coordinate goes
// straight to where its estimate would meet the target, and a bit further; as
// often as it takes, up to the cap. As the precisions depend on earlier releases,
// only a boundary for any time holds.
type Jump struct {
	pilotPico int64
	sigma     float64 // at which the boundary is narrowest
	history   history
}

var _ Schedule = Jump{}

const (
	// beyond is the margin of a jump, because a target that is just met by the
	// estimate of now may be missed by that of then.
	beyond = 1.15
	// expected is the part of the cap at which a jump is expected to end.
	expected = 1.0 / 8
)

// NewJump returns the schedule for chains like b whose pilot brings their price to
// pilotPico·10⁻¹².
func NewJump(b *Brownian, pilotPico int64) (Jump, error) {
	if pilotPico < 1 || pilotPico > b.capPico {
		return Jump{}, fmt.Errorf("%w: a pilot of ρ = %d·10⁻¹²", ErrParameter, pilotPico)
	}
	return Jump{pilotPico, math.Sqrt(ratio(precisionUnit, b.share(b.capPico)) / expected), b.past()}, nil
}

// Boundary implements Schedule: it is [Anytime], narrowest at an eighth of the cap
// of the first chain.
func (j Jump) Boundary(beta float64) (Boundary, error) {
	if j.history.begun() {
		return j.history.chosen(beta)
	}
	return NewAnytime(beta, j.sigma)
}

func (Jump) holds(within Boundary) bool {
	_, ok := within.(Looks)
	return !ok
}

func (j Jump) next(b *Brownian, rule Rule, looks int, open []int) (*Step, error) {
	targets := make([]Target, len(open))
	for k, i := range open {
		targets[k].Coordinate = i
	}
	if looks == 0 {
		return b.Raise(targets, j.pilotPico)
	}
	estimates := b.Estimates()
	for k, i := range open {
		need, have := rule.Need(looks+1, estimates[i]), estimates[i].Sigma
		targets[k].Variance = math.Min(need*need/beyond, have*have/leastRatio)
	}
	return b.Raise(targets, b.capPico)
}

// share returns the precision at which all coordinates together cost pico.
func (b *Brownian) share(pico int64) *big.Int {
	units := b.affordable(pico)
	return units.Quo(units, big.NewInt(min(b.sensitivity.L0, int64(len(b.coordinates)))))
}

// drawsTo returns the draws that bring coordinates to a precision.
func (b *Brownian) drawsTo(precision *big.Int, coordinates []int) []Draw {
	b.mu.Lock()
	defer b.mu.Unlock()
	var draws []Draw
	for _, i := range coordinates {
		c := &b.coordinates[i]
		if d, ok := c.drawOf(i, new(big.Int).Sub(precision, c.read)); ok {
			draws = append(draws, d)
		}
	}
	return draws
}
