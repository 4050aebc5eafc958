package realized

import "slices"

// A relief is a score over its columns.
type relief struct {
	domain  *Domain
	columns []int
	tape    *tape
}

var _ surface = (*relief)(nil)

func (r *relief) part(dimension, first, last int) span {
	return r.domain.columns[r.columns[dimension]].part(first, last)
}

func (r *relief) enclose(box []span) (interval, []interval) { return r.tape.enclose(box) }

// rangeShare is how far the bounds of Range may be from the least and the largest score, as a share
// of the width that is known without a search.
const rangeShare = 1e-4

// Range returns bounds of a score over the domain, from public numbers alone, which Score may take for
// low and high. They hold, and are close. ErrUnbounded says that the score is no number for some object.
func (d *Domain) Range(e Expr) (low, high float64, err error) {
	columns, err := d.mentioned(e)
	if err != nil {
		return 0, 0, err
	}
	place := Question{columns: columns}.place
	r := &relief{d, columns, newTape(e.node, len(columns), place)}
	box := d.box(columns)
	if err := r.tape.check(box); err != nil {
		return 0, 0, err
	}
	value, _ := r.tape.enclose(box)
	near := (value.high - value.low) * rangeShare
	p := precision{fine: near, coarse: near, soft: hasty.limit, limit: hasty.limit}
	above, below := maximise(r, 1, box, p), maximise(r, -1, box, p)
	return max(-below.bound, value.low), min(above.bound, value.high), nil
}

// Mentioned returns the columns of a score, in order.
func (d *Domain) Mentioned(e Expr) ([]int, error) { return d.mentioned(e) }

// Columns returns the columns of the domain.
func (d *Domain) Columns() []Column { return slices.Clone(d.columns) }
