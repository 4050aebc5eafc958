package planner

import (
	"math"
	"slices"

	"dpproxy/estimate"
)

// Where totals are made to agree with their parts, each grouping set says something of the others, and equal parts of the budget are not
// the best. If the noise of a statistic is known before the answer, its shares are moved between the grouping sets such that
//
//	Σ over the sets s of √groupsₛ · (mean variance of s, when all agree)
//
// is small ([estimate.Agreement.Parts]). So a set counts by the root of the number of its groups: if all counted alike, next to nothing
// would be gained, and if each number did, totals would be several times as wide as with equal parts.
//
// The guarantee does not depend on how shares are moved. Let nₛ be the shares of a statistic in set s, N those of all releases, and n′ₛ the
// moved ones. Each release spends ⌊ρ·n′ₛ/N⌋ at most ([split.part]), and Σ n′ₛ ≤ Σ nₛ ([movedShares]), so that the prices add up to no more
// than with n; of ε likewise. Shares follow from the numbers of public groups, sensitivities and weights, and from nothing of the data.

// An apportioner divides a budget among the grouping sets of a block.
type apportioner struct {
	*BlockPlan
	of split
}

// assign gives every set its mechanisms, first with equal parts: which statistics agree follows from limits.
func (b apportioner) assign() error {
	if err := b.assignSets(); err != nil {
		return err
	}
	before := b.move()
	if len(before) == 0 {
		return nil
	}
	if b.assignMoved() == nil {
		for _, g := range b.Sets {
			g.of = &b.of
		}
		return nil
	}
	for s, shares := range before { // a part is too small for any noise
		s.shares = shares
	}
	return b.assignMoved()
}

// assignMoved gives every set its mechanisms anew, for other shares of its statistics.
func (b apportioner) assignMoved() error {
	for _, g := range b.Sets {
		g.addShares()
		for _, s := range g.statistics {
			s.noises.all.Clear() // of another budget
		}
	}
	return b.assignSets()
}

func (b apportioner) assignSets() error {
	for _, set := range b.Sets {
		if err := set.assign(b.of); err != nil {
			return err
		}
	}
	return nil
}

// move moves the shares of statistics between the grouping sets, and returns those that they had.
func (b apportioner) move() map[*statistic]int64 {
	a := b.agreement()
	if a == nil {
		return nil
	}
	before := map[*statistic]int64{}
	for _, at := range a.statistics {
		if slices.ContainsFunc(b.Sets, func(g *GroupingSet) bool { return g.judge != nil && g.judge.statistic == at }) {
			continue // verdicts of each set are by the count as it was released there
		}
		var of []*statistic
		for _, i := range a.order() {
			of = append(of, b.Sets[i].statistics[at])
		}
		for i, n := range b.moved(a, of) {
			before[of[i]], of[i].shares = of[i].shares, n
		}
	}
	return before
}

// moved returns the shares that a statistic is to have in the grouping sets, the finest first; nil leaves them as they are.
func (b apportioner) moved(a *agreement, of []*statistic) []int64 {
	var alone, weights []float64
	total := int64(0)
	for i, set := range a.order() {
		variance, known := varianceAlone(of[i], b.of.all.kind)
		if !known {
			return nil
		}
		alone, weights = append(alone, variance), append(weights, math.Sqrt(float64(max(b.Sets[set].size, 1))))
		total += of[i].shares
	}
	law := estimate.GaussianLaw
	if b.of.all.kind == laplace {
		law = estimate.LaplaceLaw
	}
	parts, ok, err := a.estimates.Parts(law, alone, weights)
	if err != nil || !ok {
		return nil
	}
	return movedShares(parts, total)
}

// varianceAlone returns the variance of the noise of a statistic at ρ = 1/2, or half of it at ε = 1, if no limit is chosen and no other
// set shares it.
func varianceAlone(s *statistic, kind string) (variance float64, known bool) {
	sens, bits := s.sensitivity, uint(0)
	if m := s.measure; m != nil {
		if m.family != nil || m.chosen() {
			return 0, false
		}
		var err error
		if sens, err = m.sensitivity(s, m.leastLevels()); err != nil {
			return 0, false
		}
		bits = m.lattice(s)
	}
	square, _ := sens.L2Squared().Float64()
	if kind == laplace {
		norm, _ := sens.L1().Float64()
		square = norm * norm
	}
	return math.Ldexp(square, -2*int(bits)), true
}

// steps is how finely shares are moved: parts of the budget are thousandths, whatever the last bits of floating-point numbers are, and each
// set has one at least.
const steps = 1000

// movedShares divides shares by parts of the whole. They are rounded down: their sum is at most total. If one would be 0 there are none.
func movedShares(parts []float64, total int64) []int64 {
	counts, sum := make([]int64, len(parts)), int64(0)
	for i, p := range parts {
		counts[i] = max(int64(math.Round(p*steps)), 1)
		sum += counts[i]
	}
	for i, n := range counts {
		counts[i] = proportion(total, n, sum)
	}
	if slices.Min(counts) < 1 {
		return nil
	}
	return counts
}
