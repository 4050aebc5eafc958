package reader

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/contribution"
	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// Exact has the exact aggregates of one grouping set of a block, by partition, and the numbers of units by their contributions. Only the
// mechanisms see its values. Its private partitions are the partitions that selection has kept.
type Exact struct {
	set *planner.GroupingSet
	// partitions has all partitions of public keys, in order, or the shown partitions of private keys, in the order of their keys.
	partitions []*Partition
	units      [][]*contribution.Cells // by measure and vector
}

// A Partition is one group with its exact integers. An integer that was not read is zero, as most integers of a histogram are.
type Partition struct {
	keys []*string // private keys
	// Row has the integers of a set in which a proof leaves each unit one row.
	Row map[int]mechanisms.Private
	// few has the cells of the first sums of measures, and cells those of the others.
	few   []sumsOf
	cells map[sum]*contribution.Cells
	// parts are the partitions of the finest set that add up to this partition. There are none if it is read by itself.
	parts []*Partition
}

// A sum is an integer of a partition, for one of the vectors of its measure.
type sum struct{ integer, vector int }

// setRow sets an integer, which must be read only once.
func (p *Partition) setRow(i int, n *big.Int) error {
	if _, ok := p.Row[i]; ok {
		return errRead
	}
	if p.Row == nil {
		p.Row = map[int]mechanisms.Private{}
	}
	p.Row[i] = mechanisms.Protect(n)
	return nil
}

// A sumsOf has the cells of a sum.
type sumsOf struct {
	sum
	cells contribution.Cells
}

// fewSums is how many sums a partition has without a map.
const fewSums = 8

// cellsOf returns the cells of a sum, or nil.
func (p *Partition) cellsOf(s sum) *contribution.Cells {
	for i := range p.few {
		if p.few[i].sum == s {
			return &p.few[i].cells
		}
	}
	return p.cells[s]
}

// newCellsOf returns the cells of a sum, and makes them if there are none. They are valid until the next cells are made.
func (p *Partition) newCellsOf(s sum) *contribution.Cells {
	if cells := p.cellsOf(s); cells != nil {
		return cells
	}
	if len(p.few) < fewSums {
		p.few = append(p.few, sumsOf{sum: s})
		return &p.few[len(p.few)-1].cells
	}
	if p.cells == nil {
		p.cells = map[sum]*contribution.Cells{}
	}
	p.cells[s] = &contribution.Cells{}
	return p.cells[s]
}

// distinct reports whether no integer was read twice for the same units.
func (p *Partition) distinct() bool {
	for i := range p.few {
		if !p.few[i].cells.Distinct() {
			return false
		}
	}
	for _, cells := range p.cells {
		if !cells.Distinct() {
			return false
		}
	}
	return true
}

var zero = mechanisms.Protect(new(big.Int))

// Units returns the numbers of units by their levels in a vector of a measure.
func (e *Exact) Units(measure, vector int) *contribution.Cells { return e.units[measure][vector] }

// addUp gives each partition the partitions of the finest set that add up to it.
func (e *Exact) addUp(finest *Exact) {
	for part, to := range e.set.Totals().Partition {
		e.partitions[to].parts = append(e.partitions[to].parts, finest.partitions[part])
	}
}

// At returns the integer at place i of the partition, with every unit within the limits.
func (p *Partition) At(set *planner.GroupingSet, i int, clips []planner.Clip) mechanisms.Private {
	if of, ok := set.Totals().Part(i); ok {
		terms := make([]mechanisms.Weighted, len(p.parts))
		for n, part := range p.parts {
			terms[n] = mechanisms.Weighted{Weight: 1, Value: part.At(set.Totals().Of, of, clips)}
		}
		return mechanisms.Combine(0, terms...)
	}
	if m := set.MeasureOf(i); m != nil {
		cells := p.cellsOf(sum{i, clips[m.At()].Vector})
		if cells == nil {
			return zero
		}
		return set.Bounded(i, clips, cells)
	}
	if v, ok := p.Row[i]; ok {
		return v
	}
	return zero
}

// Release turns exact aggregates into released ones: each integer within the limits and with its noise, and each choice. It releases the
// partitions of private keys that selection keeps, in the order of their keys, or all partitions of public keys. Its error is a defect.
func (e *Exact) Release(src mechanisms.Source, clips []planner.Clip) (*planner.Released, error) {
	keys, partitions, err := e.chosen(src, clips)
	if err != nil {
		return nil, err
	}
	out := &planner.Released{Keys: keys, Clips: clips}
	noises := make([]contribution.Noise, e.set.Integers())
	for i := range noises {
		noises[i] = e.set.Noise(i, clips)
	}
	choices := e.set.Choices(clips)
	for _, p := range partitions {
		row := make([]*big.Int, len(noises))
		for i, noise := range noises {
			if _, together := planner.SequencesOf(e.set, i); noise.Of != nil && !together {
				row[i] = noise.Shown(mechanisms.Release(noise.Of, src, p.At(e.set, e.set.PlaceOf(i), clips)).Int())
			}
		}
		for _, c := range choices {
			if err := p.choose(e.set, row[c.First:], c, clips, src); err != nil {
				return nil, err
			}
		}
		out.Rows = append(out.Rows, row)
	}
	for i := range noises {
		if s, ok := planner.SequencesOf(e.set, i); ok {
			e.measure(src, s, i, out.Rows)
		}
	}
	return out, nil
}

// measure releases an integer of all partitions together.
func (e *Exact) measure(src mechanisms.Source, s planner.Sequenced, i int, to [][]*big.Int) {
	for _, rows := range s.Rows {
		exact := make([]mechanisms.Private, len(rows))
		for n, row := range rows {
			exact[n] = e.partitions[row].At(e.set, e.set.PlaceOf(i), nil)
		}
		for n, value := range s.Values(s.Measure(src, exact)) {
			to[rows[n]][i] = value
		}
	}
}

// chosen returns the partitions that are released: the ones that selection keeps or, if there is a top, the chosen ones, in the order of
// the keys. It returns their keys too, unless they are all partitions of public keys.
func (e *Exact) chosen(src mechanisms.Source, clips []planner.Clip) ([][]*string, []*Partition, error) {
	if e.set.Top == nil {
		keys, partitions := e.Shown()
		return keys, partitions, nil
	}
	scores := make([]mechanisms.Private, len(e.partitions))
	for i, p := range e.partitions {
		scores[i] = p.At(e.set, e.set.TopPlace(), clips)
	}
	top, err := e.set.Choose(src, clips, scores)
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(top)
	keys, partitions := make([][]*string, len(top)), make([]*Partition, len(top))
	for i, at := range top {
		keys[i], partitions[i] = e.set.KeysOf(at), e.partitions[at]
	}
	return keys, partitions, nil
}

// choose draws the number of rows from which choices are made, and then the choices.
func (p *Partition) choose(set *planner.GroupingSet, to []*big.Int, c planner.Choices, clips []planner.Clip, src mechanisms.Source) error {
	weights, rows := make([]mechanisms.Private, c.Nodes), make([]mechanisms.Weighted, 0, c.Nodes)
	for i := range weights {
		weights[i] = p.At(set, c.Place+i, clips)
		rows = append(rows, mechanisms.Weighted{Weight: 1, Value: weights[i]})
	}
	to[0] = c.Count.Shown(mechanisms.Release(c.Count.Of, src, mechanisms.Combine(0, rows...)).Int())
	for i, of := range c.Of {
		at, err := of.Choose(src, weights)
		if err != nil {
			return err
		}
		to[1+i] = big.NewInt(int64(at))
	}
	return nil
}

// Shown returns the partitions that are shown: the partitions of private keys that selection has kept, with their keys and in their order,
// or all partitions of public keys.
func (e *Exact) Shown() ([][]*string, []*Partition) {
	if !e.set.Private() {
		return nil, e.partitions
	}
	keys := make([][]*string, len(e.partitions))
	for i, p := range e.partitions {
		keys[i] = p.keys
	}
	return keys, e.partitions
}

// compareKeys orders keys by their texts, NULL last.
func compareKeys(a, b *string) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return strings.Compare(*a, *b)
}
