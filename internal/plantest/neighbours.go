package plantest

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// Neighbours are the readings of a grouping set with and without the rows of one unit.
type Neighbours struct {
	Set           *planner.GroupingSet
	With, Without *Exact
	// Sampled is the approximate number of combinations of limits of a measure with several norms that are compared. 0 is all for two
	// norms, and ofSeveral for more.
	Sampled int
	// Declared, in (0, 1], is the share of the declared sensitivity that changes must not exceed; 0 is 1.
	Declared float64
	// Reached records, by kind of statistic, the largest change as a share of the declared sensitivity.
	Reached map[string]float64
}

// Check compares with their declarations each statistic under each limit at which units can be cut, the numbers of units by which a limit
// is chosen, and the weights of partitions.
func (n Neighbours) Check() error {
	n.With, n.Without = apart(n.With, n.Without)
	for _, s := range n.Set.Statistics() {
		m := n.Set.MeasureOf(s.Place)
		for _, clips := range n.clips(m) {
			if err := n.statistic(s, m, clips); err != nil {
				return err
			}
		}
	}
	for _, m := range n.Set.Measures {
		for vector := range m.Vectors {
			if err := n.units(m, vector); err != nil {
				return err
			}
		}
	}
	if n.Set.Selection == nil {
		return nil
	}
	sens, _ := sensitivityOf(n.Set.Selection.Event())
	d := Distance(n.With.Weights(), n.Without.Weights())
	n.reach("weights of partitions", d, sens, false)
	return d.Norm(sens, false)
}

// clips lists the possible limits of a measure. Without a measure it lists nil alone.
func (n Neighbours) clips(m *planner.Measure) [][]planner.Clip {
	if m == nil {
		return [][]planner.Clip{nil}
	}
	var out [][]planner.Clip
	for vector := range m.Vectors {
		for _, levels := range n.levels(m.Norms) {
			clips := make([]planner.Clip, len(n.Set.Measures))
			clips[m.At()] = planner.Clip{Vector: vector, Levels: levels}
			out = append(out, clips)
		}
	}
	return out
}

// ofSeveral is the approximate number of combinations of limits of three or more norms that are compared.
const ofSeveral = 200

// levels lists combinations of the limits of norms: all limits of a single norm, and about Sampled of several norms.
func (n Neighbours) levels(norms []planner.Norm) [][]int {
	out := [][]int{nil}
	for _, norm := range norms {
		var longer [][]int
		limits := Limits(norm)
		step := 1
		sampled := n.Sampled
		if len(norms) > 2 && sampled == 0 {
			sampled = ofSeveral
		}
		if len(norms) > 1 && sampled > 0 {
			step = max(1, int(float64(len(limits))/math.Pow(float64(sampled), 1/float64(len(norms)))))
		}
		for i := 0; i < len(limits); i += step {
			for _, levels := range out {
				longer = append(longer, append(slices.Clone(levels), limits[i]))
			}
		}
		out = longer
	}
	return out
}

// statistic compares a statistic; of a histogram, each level of its tree.
func (n Neighbours) statistic(s planner.Statistic, m *planner.Measure, clips []planner.Clip) error {
	first, place := s.First, s.Place
	for _, nodes := range s.Levels {
		with, without := map[node]*big.Int{}, map[node]*big.Int{}
		for at := place; at < place+nodes; at++ {
			for partition, i := range n.With.Integer(at, clips) {
				with[node{at, partition}] = i
			}
			for partition, i := range n.Without.Integer(at, clips) {
				without[node{at, partition}] = i
			}
		}
		sens, laplace := sensitivityOf(n.noise(s, first, clips).Of.Event())
		if n.Declared > 0 {
			sens.LInf = int64(n.Declared * float64(sens.LInf))
		}
		d := Distance(with, without)
		if top := n.Set.Top; top != nil {
			if d = furthest(with, without, top.K); s.Place == n.Set.TopPlace() {
				if err := raised(with, without, sens.LInf); err != nil {
					return fmt.Errorf("scores by %s with units cut at %v: %w", s.Name, clips, err)
				}
			}
		}
		if s.Choices > 0 {
			d = weightChange(with, without)
		}
		if err := d.Norm(sens, laplace); err != nil {
			return fmt.Errorf("%s with units cut at %v: %w", s.Name, clips, err)
		}
		if _, totals := planner.SequencesOf(n.Set, s.First); totals {
			if changed := changesOf(with, without); len(slices.DeleteFunc(changed, isZero)) > 1 {
				return fmt.Errorf("%s, of which running totals are measured, changes in several groups", s.Name)
			}
		}
		n.reach(kindOf(s, m), d, sens, laplace)
		first, place = first+nodes, place+nodes
	}
	return nil
}

func isZero(n *big.Int) bool { return n.Sign() == 0 }

// A node is an integer of a partition.
type node struct {
	at        int
	partition string
}

// weightChange returns the distance of the weights of the nodes from which one is chosen. In each partition it is the sum of the changes
// of all nodes, which bounds the change of any score.
func weightChange(with, without map[node]*big.Int) Change {
	sums := map[string]*big.Int{}
	for _, k := range keysOf(with, without) {
		of := func(v map[node]*big.Int) *big.Int {
			if x, ok := v[k]; ok {
				return x
			}
			return new(big.Int)
		}
		if sums[k.partition] == nil {
			sums[k.partition] = new(big.Int)
		}
		d := new(big.Int).Sub(of(with), of(without))
		sums[k.partition].Add(sums[k.partition], d.Abs(d))
	}
	return Distance(sums, map[string]*big.Int(nil))
}

// furthest returns the distance in the k partitions that change most. It bounds the distance in any k partitions.
func furthest(with, without map[node]*big.Int, k int) Change {
	changes := changesOf(with, without)
	slices.SortFunc(changes, func(a, b *big.Int) int { return b.CmpAbs(a) })
	changes = changes[:min(k, len(changes))]
	return distance(changes, slices.Repeat([]*big.Int{new(big.Int)}, len(changes)))
}

// raised reports an error unless a unit raises each score, by at most limit.
func raised(with, without map[node]*big.Int, limit int64) error {
	for _, d := range changesOf(with, without) {
		if d.Sign() < 0 || d.Cmp(big.NewInt(limit)) > 0 {
			return fmt.Errorf("one changes by %v, at most %d is declared", d, limit)
		}
	}
	return nil
}

// changesOf lists by how much integers are larger with a unit.
func changesOf(with, without map[node]*big.Int) []*big.Int {
	var out []*big.Int
	for _, k := range keysOf(with, without) {
		d := new(big.Int)
		if n, ok := with[k]; ok {
			d.Set(n)
		}
		if n, ok := without[k]; ok {
			d.Sub(d, n)
		}
		out = append(out, d)
	}
	return out
}

// noise returns the noise of a released integer of a statistic, or, if integers are chosen, the noise of their number.
func (n Neighbours) noise(s planner.Statistic, at int, clips []planner.Clip) contribution.Noise {
	if s.Choices == 0 {
		return n.Set.Noise(at, clips)
	}
	all := slices.Clone(clips)
	for i, m := range n.Set.Measures {
		for _, norm := range m.Norms {
			if len(all[i].Levels) < len(m.Norms) {
				all[i].Levels = append(all[i].Levels, Limits(norm)[0])
			}
		}
	}
	at = slices.IndexFunc(n.Set.Choices(all), func(c planner.Choices) bool { return c.First == s.First })
	return n.Set.Choices(all)[at].Count
}

// kindOf names a kind of statistic in Reached.
func kindOf(s planner.Statistic, m *planner.Measure) string {
	kind, _, _ := strings.Cut(s.Name, " ")
	if strings.HasPrefix(s.Name, "count of different") {
		kind = "count of different values"
	}
	if m != nil && len(m.Norms) > 1 {
		kind += " of an average"
	}
	if m != nil && m.Shared() {
		kind += " of totals"
	}
	return kind
}

func (n Neighbours) reach(kind string, d Change, s dp.Sensitivity, laplace bool) {
	got, most := d.L2, s.L2Squared()
	if laplace {
		got, most = d.L1, s.L1()
	}
	share, _ := new(big.Rat).SetFrac(got, most).Float64()
	if !laplace {
		share = math.Sqrt(share)
	}
	n.Reached[kind] = max(n.Reached[kind], share)
}

// units compares the numbers of units of a vector of a measure: a unit raises each by 0 or 1.
func (n Neighbours) units(m *planner.Measure, vector int) error {
	with, without := n.With.Units(m, vector), n.Without.Units(m, vector)
	for at, norm := range m.Norms {
		if err := oneLess(with.Above(at, norm.Grid.Len()), without.Above(at, norm.Grid.Len())); err != nil {
			return fmt.Errorf("units above the limits of norm %d, vector %d: %w", at, vector, err)
		}
	}
	for _, levels := range n.levels(m.Norms) {
		beyond := []*big.Int{with.Beyond(levels)}
		if err := oneLess(beyond, []*big.Int{without.Beyond(levels)}); err != nil {
			return fmt.Errorf("units beyond %v: %w", levels, err)
		}
		tail, rest := with.Tail(m, levels), without.Tail(m, levels)
		err := oneLess(tail, rest)
		if d := distance(tail, rest); err == nil && d.L1.Cmp(big.NewInt(1)) > 0 {
			err = fmt.Errorf("they change by %v together", d.L1)
		}
		if err != nil {
			return fmt.Errorf("units of the tail at %v: %w", levels, err)
		}
	}
	return nil
}

// oneLess reports an error unless each number without a unit is equal, or smaller by 1.
func oneLess(with, without []*big.Int) error {
	for i := range with {
		if d := new(big.Int).Sub(with[i], without[i]); d.Sign() < 0 || d.Cmp(big.NewInt(1)) > 0 {
			return fmt.Errorf("limit %d: %v, without a unit %v", i, with[i], without[i])
		}
	}
	return nil
}

// sensitivityOf returns the sensitivity for which noise is declared, and whether it is Laplace noise.
func sensitivityOf(e dp.Event) (s dp.Sensitivity, laplace bool) {
	switch e := e.(type) { //nolint:gochecksumtype // plans without a target have these
	case dp.ApproximateEvent:
		return sensitivityOf(e.Of)
	case dp.GaussianEvent:
		return e.Sensitivity, false
	case dp.LaplaceEvent:
		return e.Sensitivity, true
	case dp.ImageEvent:
		return ofTotals(e), false
	}
	return dp.Sensitivity{}, false
}

// ofTotals returns the largest change of a single value, if none other changes, for which the noise of running totals is declared.
func ofTotals(e dp.ImageEvent) dp.Sensitivity {
	one, err := mechanisms.TotalsFor(dp.Sensitivity{L0: 1, LInf: 1}, int(e.Coordinates), dp.PicoPerUnit)
	if err != nil {
		return dp.Sensitivity{}
	}
	square := new(big.Int).Quo(e.L2Squared, one.Event().(dp.ImageEvent).L2Squared)
	return dp.Sensitivity{L0: 1, LInf: square.Sqrt(square).Int64()}
}
