package plantest

import (
	"bytes"
	"fmt"
	"math/big"
	"slices"

	"dpproxy/contribution"
	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// Exact has the exact sums of the rows of a grouping set's reads, by integer, partition and levels.
type Exact struct {
	set  *planner.GroupingSet
	sums map[place]*sum
	keys map[string][][]byte // of each partition
	// integers are the sums of each integer and vector by partition, units the numbers of units of each measure and vector, and totals the
	// sums of integers without a measure.
	integers, units map[[2]int]map[string]*contribution.Cells
	totals          map[int]map[string]*big.Int
	// finest has the rows of the set whose partitions this set adds up; nil if the set is read itself.
	finest *Exact
}

// A place is an integer in a partition, the units of a measure in all partitions, or the weights of a partition. vector is a vector of the
// measure, and levels are the levels of the units.
type place struct {
	of         quantity
	at, vector int
	partition  string
	levels     string
}

type quantity uint8

const (
	integers quantity = iota
	units
	weights
)

type sum struct {
	levels          []int
	sum, directions *big.Int
}

// NewExact returns sums without rows.
func NewExact(set *planner.GroupingSet) *Exact {
	return &Exact{set: set, sums: map[place]*sum{}, keys: map[string][][]byte{}}
}

// NewExacts returns sums without rows for the grouping sets of a block.
func NewExacts(b *planner.BlockPlan) []*Exact {
	out := make([]*Exact, len(b.Sets))
	for i, set := range b.Sets {
		out[i] = NewExact(set)
	}
	for i, set := range b.Sets {
		if totals := set.Totals(); totals != nil {
			out[i].finest = out[slices.Index(b.Sets, totals.Of)]
		}
	}
	return out
}

// Add adds a row of a read of the grouping set.
func (e *Exact) Add(read *planner.Read, row [][]byte) error {
	r, ok := read.Parse(row)
	if !ok {
		return fmt.Errorf("a read returns %q\n%s", row, read.SQL)
	}
	return e.take(r)
}

// take adds a row.
func (e *Exact) take(r planner.Row) error {
	partition := partitionOf(r.Keys)
	if len(r.Cells) > 0 || r.Weights != nil {
		e.keys[partition] = r.Keys
	}
	err := e.add(place{of: weights, partition: partition}, nil, r.Weights, nil)
	if r.Measure >= 0 && err == nil {
		err = e.add(place{of: units, at: r.Measure, vector: r.Vector}, r.Levels, r.Units, nil)
	}
	for _, c := range r.Cells {
		if err == nil {
			err = e.add(place{integers, c.At, r.Vector, partition, ""}, r.Levels, c.Sum, c.Directions)
		}
	}
	return err
}

// partitionOf joins the keys of a row. NULL differs from every text.
func partitionOf(keys [][]byte) string {
	out := make([][]byte, len(keys))
	for i, k := range keys {
		if k == nil {
			out[i] = []byte("\x02")
		} else {
			out[i] = append([]byte("="), k...)
		}
	}
	return string(bytes.Join(out, []byte("\x00")))
}

func (e *Exact) add(p place, levels []int, texts ...[]byte) error {
	if texts[0] == nil {
		return nil
	}
	p.levels = fmt.Sprint(levels)
	s := e.sums[p]
	if s == nil {
		s = &sum{levels, new(big.Int), new(big.Int)}
		e.sums[p], e.integers = s, nil
	}
	for i, to := range []*big.Int{s.sum, s.directions} {
		if texts[i] == nil {
			continue
		}
		n, ok := new(big.Int).SetString(string(texts[i]), 10)
		if !ok {
			return fmt.Errorf("a read returns %q for an integer", texts[i])
		}
		to.Add(to, n)
	}
	return nil
}

// Differ says where two readings differ, or returns "". A missing sum is zero.
func (e *Exact) Differ(o *Exact) string {
	zero := &sum{nil, new(big.Int), new(big.Int)}
	of := func(s *sum) *sum {
		if s == nil {
			return zero
		}
		return s
	}
	for _, p := range keysOf(e.sums, o.sums) {
		a, b := of(e.sums[p]), of(o.sums[p])
		if a.sum.Cmp(b.sum) != 0 || a.directions.Cmp(b.directions) != 0 {
			return fmt.Sprintf("%+v has %v in the direction %v, then %v, %v", p, a.sum, a.directions, b.sum, b.directions)
		}
	}
	return ""
}

// apart returns two readings of a set without the integers, of partitions, that have the same sums in both. Limits make the same of these,
// so they change by nothing.
func apart(a, b *Exact) (*Exact, *Exact) {
	if a == nil {
		return nil, nil
	}
	differ := map[place]bool{}
	for _, p := range keysOf(a.sums, b.sums) {
		if x, y := a.sums[p], b.sums[p]; x == nil || y == nil || x.sum.Cmp(y.sum) != 0 || x.directions.Cmp(y.directions) != 0 {
			differ[p.anyLevels()] = true
		}
	}
	x, y := a.only(differ), b.only(differ)
	x.finest, y.finest = apart(a.finest, b.finest)
	return x, y
}

// anyLevels is the place of an integer with units of all levels.
func (p place) anyLevels() place {
	p.levels = ""
	return p
}

// only returns the reading with the integers of some places.
func (e *Exact) only(of map[place]bool) *Exact {
	out := &Exact{set: e.set, sums: map[place]*sum{}, keys: e.keys}
	for p, s := range e.sums {
		if p.of != integers || of[p.anyLevels()] {
			out.sums[p] = s
		}
	}
	return out
}

// cells adds the sums to [contribution.Cells].
func (e *Exact) cells() {
	if e.integers != nil {
		return
	}
	e.integers, e.units = map[[2]int]map[string]*contribution.Cells{}, map[[2]int]map[string]*contribution.Cells{}
	e.totals = map[int]map[string]*big.Int{}
	for p, s := range e.sums {
		to := e.integers
		switch {
		case p.of == weights:
			continue
		case p.of == units:
			to = e.units
		case e.set.MeasureOf(p.at) == nil:
			if e.totals[p.at] == nil {
				e.totals[p.at] = map[string]*big.Int{}
			}
			e.totals[p.at][p.partition] = s.sum
			continue
		}
		at := [2]int{p.at, p.vector}
		if to[at] == nil {
			to[at] = map[string]*contribution.Cells{}
		}
		if to[at][p.partition] == nil {
			to[at][p.partition] = &contribution.Cells{}
		}
		to[at][p.partition].Add(s.levels, s.sum, s.directions)
	}
}

// choose makes in each row the best choices, the first of several equals.
func (e *Exact) choose(c planner.Choices, clips []planner.Clip, rows map[string][]*big.Int) {
	weights := make([]map[string]*big.Int, c.Nodes)
	for i := range weights {
		weights[i] = e.Integer(c.Place+i, clips)
	}
	for partition, row := range rows {
		if !slices.ContainsFunc(weights, func(w map[string]*big.Int) bool { return w[partition] != nil }) {
			continue // without rows, or the other name of one with rows
		}
		total, of := new(big.Int), make([]*big.Int, c.Nodes)
		for i := range of {
			if of[i] = weights[i][partition]; of[i] == nil {
				of[i] = new(big.Int)
			}
			total.Add(total, of[i])
		}
		row[c.First] = c.Count.Shown(total)
		for i, chooser := range c.Of {
			row[c.First+1+i] = big.NewInt(int64(best(chooser, of, total)))
		}
	}
}

// best returns the choice that is made without chance: the quantile, or the node with the largest weight.
func best(c planner.Chooser, weights []*big.Int, total *big.Int) int {
	q, ok := c.(mechanisms.Quantile)
	at, most, below := 0, new(big.Int), new(big.Int)
	for i, w := range weights {
		below.Add(below, w)
		a, of := q.Fraction()
		switch {
		case ok && new(big.Int).Mul(below, big.NewInt(of)).Cmp(new(big.Int).Mul(total, big.NewInt(a))) >= 0 && w.Sign() > 0:
			return i
		case !ok && w.Cmp(most) > 0:
			at, most = i, w
		}
	}
	return at
}

// Integer returns an integer of each partition, with units cut at limits, as a multiple of the unit of its noise. Clips are nil in a set
// without measures.
func (e *Exact) Integer(at int, clips []planner.Clip) map[string]*big.Int {
	if of, ok := e.set.Totals().Part(at); ok {
		return e.addedUp(of, clips)
	}
	e.cells()
	m := e.set.MeasureOf(at)
	if m == nil {
		return e.totals[at]
	}
	out := map[string]*big.Int{}
	for partition, cells := range e.integers[[2]int{at, clips[m.At()].Vector}] {
		out[partition] = open(e.set.Bounded(at, clips, cells))
	}
	return out
}

// addedUp returns the sums of an integer of the finest set over the partitions of this set.
func (e *Exact) addedUp(of int, clips []planner.Clip) map[string]*big.Int {
	out := map[string]*big.Int{}
	for partition, n := range e.finest.Integer(of, clips) {
		part, _ := e.finest.set.Partition(e.finest.keys[partition])
		if part < 0 {
			continue
		}
		to := partOf(e.set.Totals().Partition[part])
		if out[to] == nil {
			out[to] = new(big.Int)
		}
		out[to].Add(out[to], n)
	}
	return out
}

// partOf names a partition of a set that adds up the partitions of another.
func partOf(n int) string { return fmt.Sprint("#", n) }

// Uncut returns, for each measure, the smallest limits that no unit exceeds, or the largest limits, and the numbers of units of its tail.
func (e *Exact) Uncut() []planner.Clip {
	var clips []planner.Clip
	for _, m := range e.set.Measures {
		clip := planner.Clip{}
		for at, norm := range m.Norms {
			limits := Limits(norm)
			level := limits[len(limits)-1]
			for i, above := range e.Units(m, 0).Above(at, level+1) {
				if above.Sign() == 0 && i >= limits[0] {
					level = i
					break
				}
			}
			clip.Levels = append(clip.Levels, level)
		}
		if m.Tail != nil {
			clip.Tail = e.Units(m, 0).Tail(m, clip.Levels)
		}
		clips = append(clips, clip)
	}
	return clips
}

// Limits lists the possible levels of the limit of a norm.
func Limits(n planner.Norm) []int {
	if n.Choice == nil {
		return []int{n.Fixed}
	}
	out := make([]int, n.Choices)
	for i := range out {
		out[i] = i
	}
	return out
}

// Released returns the released relation without noise. If keys are private it has all partitions with rows.
func (e *Exact) Released(clips []planner.Clip) *planner.Released {
	out := &planner.Released{Clips: clips}
	rows := map[string][]*big.Int{}
	row := func(at int) []*big.Int {
		for len(out.Rows) <= at {
			zeros := make([]*big.Int, e.set.Integers())
			for i := range zeros {
				zeros[i] = new(big.Int)
			}
			out.Rows = append(out.Rows, zeros)
		}
		return out.Rows[at]
	}
	if e.set.Private() {
		out.Keys = [][]*string{}
	} else {
		for at := range e.set.Size() {
			row(at)
		}
	}
	for partition, keys := range e.keys {
		if e.set.Private() {
			rows[partition] = row(len(out.Rows))
			out.Keys = append(out.Keys, texts(keys))
		} else if at, _ := e.set.Partition(keys); at >= 0 {
			rows[partition] = row(at)
		}
	}
	for at := range out.Rows {
		rows[partOf(at)] = out.Rows[at]
	}
	for i := range e.set.Integers() {
		noise := e.set.Noise(i, clips)
		if noise.Of == nil {
			continue
		}
		for partition, n := range e.Integer(e.set.PlaceOf(i), clips) {
			if rows[partition] != nil {
				rows[partition][i] = noise.Shown(n)
			}
		}
	}
	for _, c := range e.set.Choices(clips) {
		e.choose(c, clips, rows)
	}
	return out
}

func texts(keys [][]byte) []*string {
	out := make([]*string, len(keys))
	for i, k := range keys {
		if k != nil {
			s := string(k)
			out[i] = &s
		}
	}
	return out
}

// Weights returns the weights by which partitions are selected.
func (e *Exact) Weights() map[string]*big.Int {
	out := map[string]*big.Int{}
	for p, s := range e.sums {
		if p.of == weights {
			out[p.partition] = s.sum
		}
	}
	return out
}

// Units returns the numbers of units of a vector of a measure.
func (e *Exact) Units(m *planner.Measure, vector int) Units {
	if m.Shared() {
		if e.finest == nil {
			return Units{}
		}
		return e.finest.Units(e.finest.set.Measures[m.At()], vector)
	}
	e.cells()
	return Units{e.units[[2]int{m.At(), vector}][""]}
}

// Units are numbers of units by their levels.
type Units struct{ cells *contribution.Cells }

// Above returns the number of units above each limit of a norm.
func (u Units) Above(norm, limits int) []*big.Int { return opened(u.cells.Above(norm, limits)) }

// Tail returns the numbers that the [contribution.Tail] of a measure releases at limits.
func (u Units) Tail(m *planner.Measure, levels []int) []*big.Int {
	tail := m.TailUnits(planner.Clip{Levels: levels}, u.cells)
	return opened(tail[:])
}

// Beyond returns the number of units that exceed at least one of several limits.
func (u Units) Beyond(levels []int) *big.Int { return open(u.cells.Beyond(levels)) }

func opened(values []mechanisms.Private) []*big.Int {
	out := make([]*big.Int, len(values))
	for i, v := range values {
		out[i] = open(v)
	}
	return out
}

func open(v mechanisms.Private) *big.Int { return mechanisms.Release(silent{}, nil, v).Int() }

// silent is a mechanism without noise.
type silent struct{ mechanisms.Mechanism }

// Sample implements mechanisms.Mechanism: it adds nothing.
func (silent) Sample(z *big.Int, _ mechanisms.Source) *big.Int { return z.SetInt64(0) }
