package reader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/big"
	"slices"

	"dpproxy/contribution"
	"dpproxy/fold"
	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// A Collector puts rows in their partitions. If the SQL of the grouping set cannot have produced a row, the read has failed.
//
// Selection is tried on a private partition as soon as its weights come: in the first read, before its integers. Nothing is kept of the
// partitions that selection drops, which can be as many as there are rows.
type Collector struct {
	set *planner.GroupingSet
	src mechanisms.Source
	of  *Exact
	// byKey has the partitions by the keys that were read. Private partitions are in it if selection keeps them. It has nil for public keys
	// that form no partition.
	byKey   map[string]*Partition
	units   map[place]*big.Int
	sources map[source]int // the read that has the units of a vector
	// row, key, sum and directions are reused for each row.
	row             planner.Row
	key             []byte
	sum, directions big.Int
}

// A source is a vector of a measure, −1 if there is no measure. Its units are counted once, in one read.
type source struct{ measure, vector int16 }

// A place is a vector of a measure, with the levels of units by its norms.
type place struct {
	source
	levels [contribution.MaxNorms]int16
}

// NewCollector returns the Collector of a grouping set. It has no rows yet. A partition without rows has zeros.
func NewCollector(set *planner.GroupingSet, src mechanisms.Source) *Collector {
	c := &Collector{
		set: set, src: src, of: &Exact{set: set}, byKey: map[string]*Partition{},
		units: map[place]*big.Int{}, sources: map[source]int{},
	}
	if !set.Private() {
		for range set.Size() {
			c.of.partitions = append(c.of.partitions, &Partition{})
		}
	}
	return c
}

// parse takes a row of a read as it comes.
func (c *Collector) parse(read int, row [][]byte) error {
	if !c.set.Reads[read].ParseInto(&c.row, row) {
		return errRead
	}
	if err := c.Take(read, c.row); !errors.Is(err, fold.ErrSkipped) {
		return err
	}
	return nil
}

// placeOf returns the place of a row's units.
func placeOf(r planner.Row) place {
	p := place{source: source{int16(r.Measure), int16(r.Vector)}}
	for i, l := range r.Levels {
		p.levels[i] = int16(l)
	}
	return p
}

// possible reports whether the grouping set can have a row: its measure has the vector, and its norms have the levels. A level may be
// beyond the last limit, for units that count by their directions.
func (c *Collector) possible(r planner.Row) bool {
	if r.Measure < 0 {
		return r.Measure == -1 && len(r.Levels) == 0 && r.Units == nil
	}
	if r.Measure >= len(c.set.Measures) {
		return false
	}
	m := c.set.Measures[r.Measure]
	if r.Vector < 0 || r.Vector >= m.Vectors || len(r.Levels) != len(m.Norms) {
		return false
	}
	for i, level := range r.Levels {
		if !m.Norms[i].Has(level) {
			return false
		}
	}
	return true
}

// Take adds a row of a read. Its error says that no SQL of the grouping set can have produced the row. The error [fold.ErrSkipped] says
// that selection drops the partition, so that its further rows are not needed.
func (c *Collector) Take(read int, r planner.Row) error {
	if !c.possible(r) {
		return errRead
	}
	at := placeOf(r)
	if r.Units != nil {
		if err := c.addUnits(read, at, r.Units); err != nil {
			return err
		}
	}
	if len(r.Cells) == 0 && r.Weights == nil {
		return nil
	}
	to, err := c.partition(read, r)
	if to == nil || err != nil {
		return err
	}
	for _, cell := range r.Cells {
		if err := c.addCell(to, at, r.Levels, cell); err != nil {
			return err
		}
	}
	return nil
}

// addUnits adds the units of a row to the units of the same levels. It does so even if the row's partition is not shown, since the norm of
// a unit is over all partitions.
func (c *Collector) addUnits(read int, at place, text []byte) error {
	from, known := c.sources[at.source]
	if !natural(&c.sum, text) || known && from != read {
		return errRead
	}
	c.sources[at.source] = read
	units := c.units[at]
	if units == nil {
		units = new(big.Int)
		c.units[at] = units
	}
	units.Add(units, &c.sum)
	return nil
}

// selects tries selection on the weights of a partition. All weights come in the first read.
func (c *Collector) selects(read int, r planner.Row) (kept bool, err error) {
	if read != 0 || r.Measure >= 0 || !natural(&c.sum, r.Weights) {
		return false, errRead
	}
	_, kept = c.set.Selection.Select(c.src, mechanisms.Protect(&c.sum))
	return kept, nil
}

// addCell adds an integer of a row. Units that may be above the limit count by their directions.
func (c *Collector) addCell(to *Partition, at place, levels []int, cell planner.Cell) error {
	if cell.At < 0 || cell.At >= c.set.Places() || !integer(&c.sum, cell.Sum) {
		return errRead
	}
	m := c.set.MeasureOf(cell.At)
	if (m == nil) != (at.measure < 0) || m != nil && m.At() != int(at.measure) {
		return errRead
	}
	if m == nil {
		return to.setRow(cell.At, &c.sum)
	}
	var directions *big.Int
	if len(m.Norms) == 1 && levels[0] > least(m.Norms[0]) {
		if directions = &c.directions; !integer(directions, cell.Directions) {
			return errRead
		}
	}
	to.newCellsOf(sum{cell.At, int(at.vector)}).Add(levels, &c.sum, directions)
	return nil
}

// least returns the lowest level that the limit can have.
func least(n planner.Norm) int {
	if n.Choice == nil {
		return n.Fixed
	}
	return 0
}

// integer sets to to an integer as Postgres writes it. A short integer is read without the arithmetic of big.Int.
func integer(to *big.Int, text []byte) bool {
	const surely = 18 // digits of int8
	if len(text) == 0 || len(text) > surely {
		_, ok := to.SetString(string(text), 10)
		return ok
	}
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	n := int64(0)
	for _, d := range digits {
		if d < '0' || d > '9' {
			return false
		}
		n = 10*n + int64(d-'0')
	}
	if negative {
		n = -n
	}
	to.SetInt64(n)
	return len(digits) > 0
}

func natural(to *big.Int, text []byte) bool { return integer(to, text) && to.Sign() >= 0 }

// partition finds the partition of a row. It is nil if nothing is kept of the partition: public keys may form none, and selection may drop
// a private one.
func (c *Collector) partition(read int, r planner.Row) (*Partition, error) {
	c.key = c.key[:0]
	for _, key := range r.Keys {
		size := -1 // NULL
		if key != nil {
			size = len(key)
		}
		c.key = append(binary.AppendVarint(c.key, int64(size)), key...)
	}
	to, known := c.byKey[string(c.key)]
	if c.set.Private() {
		return c.private(read, r, to)
	}
	if r.Weights != nil {
		return nil, errRead
	}
	if known {
		return to, nil
	}
	at, ok := c.set.Partition(r.Keys)
	if !ok {
		return nil, errRead
	}
	if at >= 0 {
		to = c.of.partitions[at]
	}
	c.byKey[string(c.key)] = to
	return to, nil
}

// private returns the partition of a row with private keys. It is known, or begins with its weights.
func (c *Collector) private(read int, r planner.Row, known *Partition) (*Partition, error) {
	if r.Weights == nil {
		return known, nil
	}
	if known != nil {
		return nil, errRead
	}
	switch kept, err := c.selects(read, r); {
	case err != nil:
		return nil, err
	case !kept:
		return nil, fold.ErrSkipped
	}
	to := &Partition{keys: textsOf(r.Keys)}
	c.of.partitions, c.byKey[string(c.key)] = append(c.of.partitions, to), to
	return to, nil
}

// textsOf copies keys.
func textsOf(keys [][]byte) []*string {
	texts := make([]*string, len(keys))
	for k, key := range keys {
		if key != nil {
			text := string(key)
			texts[k] = &text
		}
	}
	return texts
}

// Exact returns the collected integers. Its error says that an integer was read twice for the same units.
func (c *Collector) Exact() (*Exact, error) {
	if c.set.Private() {
		slices.SortFunc(c.of.partitions, func(a, b *Partition) int { return slices.CompareFunc(a.keys, b.keys, compareKeys) })
	}
	c.byKey = nil // it is as large as the partitions
	for _, p := range c.of.partitions {
		if !p.distinct() {
			return nil, errRead
		}
	}
	for _, m := range c.set.Measures {
		vectors := make([]*contribution.Cells, m.Vectors)
		for v := range vectors {
			vectors[v] = &contribution.Cells{}
		}
		c.of.units = append(c.of.units, vectors)
	}
	for at, n := range c.units {
		var levels []int
		for i := range c.set.Measures[at.measure].Norms {
			levels = append(levels, int(at.levels[i]))
		}
		c.of.units[at.measure][at.vector].Add(levels, n, nil)
	}
	return c.of, nil
}
