package proxy

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// exact holds the exact aggregates of one part of a block, by partition. No code but the
// mechanisms sees its values; which private partitions there are, release alone may tell.
type exact struct {
	part *planner.Part
	// partitions are those of public keys, in order, or those of private keys that have
	// rows.
	partitions []*partition
	byKey      map[string]*partition // of private keys
	seen       map[[2]int]bool       // integers of public partitions that were read
}

// partition is one group with its exact integers. Those that were not read are zero: of a
// histogram these are most, and there can be very many private partitions that are never
// shown.
type partition struct {
	keys  []*string // private ones
	units mechanisms.Private
	row   map[int]mechanisms.Private
}

// protect takes what was read for a part. A partition without rows has zeros. Rows that
// the part's SQL cannot have produced are a failed read.
func protect(p *planner.Part, reads [][][][]byte) (*exact, error) {
	e := &exact{part: p, byKey: map[string]*partition{}, seen: map[[2]int]bool{}}
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

func newPartition(keys []*string) *partition {
	return &partition{keys: keys, units: zero, row: map[int]mechanisms.Private{}}
}

var zero = mechanisms.Protect(new(big.Int))

// at returns the exact integer of a place.
func (p *partition) at(i int) mechanisms.Private {
	if v, ok := p.row[i]; ok {
		return v
	}
	return zero
}

// add takes a row of read i.
func (e *exact) add(i int, row [][]byte) error {
	keys, cells, ok := e.part.Reads[i].Parse(row)
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
			to.row[c.At] = mechanisms.Protect(n)
		}
	}
	return nil
}

// place finds the partition of a row, or nil if the row is of none that is shown: of
// public keys that are not public together, or of a private partition that has rows only
// for units that were bounded to others.
func (e *exact) place(i int, keys [][]byte, cells []planner.Cell) (*partition, error) {
	if !e.part.Private() {
		at, ok := e.part.Partition(keys)
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

// release is where exact aggregates become released ones: partitions of private keys that
// selection keeps, in the order of their keys, and all of public keys, each integer with
// its noise.
func (e *exact) release(src mechanisms.Source) *planner.Released {
	keys, partitions := e.shown(src)
	out := &planner.Released{Keys: keys}
	for _, p := range partitions {
		row := make([]*big.Int, len(e.part.Mechanisms))
		for i, m := range e.part.Mechanisms {
			row[i] = mechanisms.Release(m, src, p.at(i)).Int()
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// shown returns the partitions that are shown: those of private keys that selection keeps,
// with their keys and in their order, and all of public keys.
func (e *exact) shown(src mechanisms.Source) ([][]*string, []*partition) {
	if !e.part.Private() {
		return nil, e.partitions
	}
	slices.SortFunc(e.partitions, func(a, b *partition) int { return slices.CompareFunc(a.keys, b.keys, compareKeys) })
	keys, kept := [][]*string{}, []*partition{}
	for _, p := range e.partitions {
		if _, ok := e.part.Selection.Select(src, p.units); ok {
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
