package reader

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// Exact holds the exact aggregates of one grouping set of a block, by partition. No code but the
// mechanisms sees its values; which private partitions there are, Release alone may tell.
type Exact struct {
	set *planner.GroupingSet
	// partitions are all of public keys, in order, or the ones of private keys that have
	// rows.
	partitions []*Partition
	byKey      map[string]*Partition // of private keys
	seen       map[[2]int]bool       // integers of public partitions that were read
}

// A Partition is one group with its exact integers. Integers that were not read are zero: of a
// histogram these are most, and there can be very many private partitions that are never
// shown.
type Partition struct {
	keys  []*string // private ones
	units mechanisms.Private
	Row   map[int]mechanisms.Private
}

// protect takes the rows that were read for a grouping set. A partition without rows has zeros. Rows that
// its SQL cannot have produced are a failed read.
func protect(p *planner.GroupingSet, reads [][][][]byte) (*Exact, error) {
	e := &Exact{set: p, byKey: map[string]*Partition{}, seen: map[[2]int]bool{}}
	if !p.Private() {
		for range p.Size() {
			e.partitions = append(e.partitions, newPartition(nil))
		}
	}
	for i, rows := range reads {
		for _, row := range rows {
			if err := e.add(i, row); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

func newPartition(keys []*string) *Partition {
	return &Partition{keys: keys, units: zero, Row: map[int]mechanisms.Private{}}
}

var zero = mechanisms.Protect(new(big.Int))

// At returns the exact integer of a place.
func (p *Partition) At(i int) mechanisms.Private {
	if v, ok := p.Row[i]; ok {
		return v
	}
	return zero
}

// add takes a row of read i.
func (e *Exact) add(i int, row [][]byte) error {
	keys, cells, ok := e.set.Reads[i].Parse(row)
	if !ok {
		return errRead
	}
	to, err := e.place(i, keys, cells)
	if to == nil || err != nil {
		return err
	}
	for _, c := range cells {
		n, ok := new(big.Int).SetString(string(c.Text), 10)
		switch {
		case !ok:
			return errRead
		case c.At == planner.Units:
			to.units = mechanisms.Protect(n)
		default:
			to.Row[c.At] = mechanisms.Protect(n)
		}
	}
	return nil
}

// place finds the partition of a row, or nil if the row is of none that is shown: of
// public keys that are not public together, or of a private partition that has rows only
// for units that were bounded to others.
func (e *Exact) place(i int, keys [][]byte, cells []planner.Cell) (*Partition, error) {
	if !e.set.Private() {
		at, ok := e.set.Partition(keys)
		switch {
		case !ok || at >= 0 && e.seen[[2]int{at, cells[0].At}]:
			return nil, errRead
		case at < 0:
			return nil, nil
		}
		e.seen[[2]int{at, cells[0].At}] = true
		return e.partitions[at], nil
	}
	texts := make([]*string, len(keys))
	for k, key := range keys {
		if key != nil {
			text := string(key)
			texts[k] = &text
		}
	}
	id := planner.ArrayText(texts)
	to := e.byKey[id]
	switch {
	case to == nil && i == 0:
		to = newPartition(texts)
		e.byKey[id] = to
		e.partitions = append(e.partitions, to)
	case to != nil && i == 0:
		return nil, errRead // two rows for one partition
	}
	return to, nil
}

// Release is where exact aggregates become released ones: partitions of private keys that
// selection keeps, in the order of their keys, and all of public keys, each integer with
// its noise.
func (e *Exact) Release(src mechanisms.Source) *planner.Released {
	keys, partitions := e.Shown(src)
	out := &planner.Released{Keys: keys}
	for _, p := range partitions {
		row := make([]*big.Int, len(e.set.Mechanisms))
		for i, m := range e.set.Mechanisms {
			row[i] = mechanisms.Release(m, src, p.At(i)).Int()
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// Shown returns the partitions that are shown: of private keys the ones that selection keeps,
// with their keys and in their order, and all of public keys.
func (e *Exact) Shown(src mechanisms.Source) ([][]*string, []*Partition) {
	if !e.set.Private() {
		return nil, e.partitions
	}
	slices.SortFunc(e.partitions, func(a, b *Partition) int { return slices.CompareFunc(a.keys, b.keys, compareKeys) })
	keys, kept := [][]*string{}, []*Partition{}
	for _, p := range e.partitions {
		if _, ok := e.set.Selection.Select(src, p.units); ok {
			keys, kept = append(keys, p.keys), append(kept, p)
		}
	}
	return keys, kept
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
