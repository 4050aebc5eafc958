package planner

import (
	"math"
	"math/big"

	"dpproxy/contribution"
)

// A limited estimator bounds the error that limits add to the noise: how far the value may be below and above, if norms above the limits
// are distributed as they are below them.
type limited interface {
	beyond(r observation) (below, above float64)
	value(r observation) *big.Rat
	// written is the text of such a value.
	written(value *big.Rat) string
}

// observable returns the released rows, with the fraction of what the limit of each statistic leaves out that falls to the row.
func (r *results) observable(of *Released) []integers {
	rows := of.integers()
	if len(r.Measures) == 0 {
		return rows
	}
	for i := range rows {
		rows[i].spread = make([]float64, len(r.statistics))
	}
	for i, s := range r.statistics {
		if !s.measure.cuts() || len(s.shape()) > 1 {
			continue
		}
		sizes := make([]float64, len(rows))
		for row := range rows {
			x, _ := rows[row].ints[s.first].Float64()
			if sizes[row] = x; !s.counts() {
				sizes[row] = math.Abs(x)
			}
		}
		for row, part := range contribution.Spread(1, sizes) {
			if rows[row].spread[i] = part; !s.measure.keyed || s.measure.byGroup.holds() {
				rows[row].spread[i] = 1
			}
		}
	}
	return rows
}

// excess returns what the limit of a statistic leaves out, in the unit of its norm. ok is false if there is no tail, and so nothing is left
// out or nothing is known.
func (r observation) excess(statistic int) (e contribution.Excess, ok bool) {
	s := r.statistics[statistic]
	if s.measure == nil {
		return e, false
	}
	return r.excessOf(s.measure, s.measure.weighting.normOf(s))
}

// excessOf is excess for a norm of a measure.
func (r observation) excessOf(m *Measure, norm int) (e contribution.Excess, ok bool) {
	if m.Tail == nil || r.clips == nil {
		return e, false
	}
	return excessOf(m, norm, r.clips[m.at], 1-r.alpha), true
}

// excessOf returns what the limits of a measure leave out of one of its norms.
func excessOf(m *Measure, norm int, clip Clip, confidence float64) contribution.Excess {
	e := m.Tail.Excess(m.Norms[norm].Grid.Limit(clip.Levels[norm]), [contribution.TailNumbers]*big.Int(clip.Tail), confidence, m.chosen())
	if w, shared := m.weighting.(withFinest); shared {
		times := w.wider()
		e.About, e.UpTo = e.About*times, e.UpTo*times
	}
	return e
}

// upTo returns the most that is left out of a statistic of the partition, in absolute value and in whole steps, if norms above its limit
// are distributed as they are below it.
func (r observation) upTo(statistic int) float64 {
	s := r.statistics[statistic]
	if s.measure == nil {
		return 0
	}
	return r.upToOf(s.measure, s.measure.weighting.normOf(s), statistic)
}

// upToOf is upTo for a norm, spread over groups as a statistic is.
func (r observation) upToOf(m *Measure, norm, statistic int) float64 {
	e, ok := r.excessOf(m, norm)
	switch {
	case !ok || r.spread == nil:
		return 0
	case math.IsInf(e.UpTo, 1):
		return e.UpTo
	}
	return math.Ceil(e.UpTo * r.spread[statistic])
}

// beyond returns how far a statistic may be below and above its released value because of its limit, if norms above it are distributed as
// they are below it.
func (r observation) beyond(statistic int) (below, above float64) {
	part := r.upTo(statistic)
	if s, ok := r.statistics[statistic].statisticForm.(valueSum); ok {
		if s.values.low < 0 {
			below = part
		}
		if s.values.high > 0 {
			above = part
		}
		return below, above
	}
	return 0, part
}
