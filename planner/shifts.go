package planner

import (
	"math"
	"math/big"
	"slices"
)

// Shifts move the values of a block's released relation as far as limits of contributions may have moved them, without new noise. They are
// functions of released numbers.
type Shifts struct {
	columns [][]*string
	cells   []shifted
}

// A shifted is a value of a column that may be as much below and above the released one.
type shifted struct {
	cellAt

	of           limited
	integer      int // the first that it is computed from
	value        *big.Rat
	below, above float64
}

// ShiftsOf returns those of the released relation of a block. One of which limits leave out nothing has none.
func ShiftsOf(b *BlockPlan, released []*Released) (s Shifts) {
	if b.none || released == nil {
		return s
	}
	s.columns = b.cells(released, func(c cellAt) {
		o := &b.Sets[c.set].outputs[c.output]
		of, ok := o.estimator.(limited)
		if !ok || o.report != "" {
			return
		}
		if below, above := of.beyond(c.seen); below > 0 || above > 0 {
			integer := c.seen.statistics[o.statistics()[0]].first
			s.cells = append(s.cells, shifted{c, of, integer, of.value(c.seen), below, above})
		}
	})
	return s
}

// Len is how many values limits may have moved.
func (s Shifts) Len() int { return len(s.cells) }

// Known reports whether it is known of all of them by how much at most.
func (s Shifts) Known() bool {
	return !slices.ContainsFunc(s.cells, func(c shifted) bool { return math.IsInf(c.below, 0) || math.IsInf(c.above, 0) })
}

// Down reports whether any value may be below the released one.
func (s Shifts) Down() bool {
	return slices.ContainsFunc(s.cells, func(c shifted) bool { return c.below > 0 })
}

// Of returns the grouping set and the row of the i-th of these values, and the first integer that it is computed from.
func (s Shifts) Of(i int) (set, row, integer int) {
	c := s.cells[i]
	return c.set, c.row, c.integer
}

// Columns returns the relation as [BlockPlan.Columns] does, with the i-th of these values moved by the part that is returned for it: 1 is
// as far up as it may be, −1 as far down. [Shifts.Known] must hold: a value without a bound stays where it is. A release
// that stands in two places has to be moved by the same parts in both.
func (s Shifts) Columns(part func(i int) float64) []string {
	columns := make([][]*string, len(s.columns))
	for i := range columns {
		columns[i] = slices.Clone(s.columns[i])
	}
	for i, c := range s.cells {
		by := part(i)
		if by > 0 {
			by *= c.above
		} else {
			by *= c.below
		}
		if move := new(big.Rat).SetFloat64(by); move != nil {
			columns[c.column][c.place] = new(c.of.written(move.Add(move, c.value)))
		}
	}
	return arrays(columns)
}
