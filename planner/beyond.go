package planner

import (
	"math"
	"math/big"

	"dpproxy/contribution"
)

// A limited estimator knows how far a value may be below and above what its noise says because of the limits
// of its measures, if units go on above them as they do below.
type limited interface {
	beyond(r observation) (below, above float64)
}

// observable returns the released rows with all that is known of them: of each statistic too, how the part
// that limits leave out is spread over the rows.
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

// excess says what the limit of a statistic leaves out, in the unit of its norm; ok is false where
// it can leave out nothing, or nothing is known of it.
func (r observation) excess(statistic int) (e contribution.Excess, ok bool) {
	s := r.statistics[statistic]
	if s.measure == nil {
		return e, false
	}
	return r.excessOf(s.measure, s.measure.weighting.normOf(s))
}

// excessOf is excess for the limit of a norm.
func (r observation) excessOf(m *Measure, norm int) (e contribution.Excess, ok bool) {
	if m.Tail == nil || r.clips == nil {
		return e, false
	}
	return excessOf(m, norm, r.clips[m.at], 1-r.alpha), true
}

// excessOf says how much the limits of a measure leave out of one of its norms.
func excessOf(m *Measure, norm int, clip Clip, confidence float64) contribution.Excess {
	e := m.Tail.Excess(m.Norms[norm].Grid.Limit(clip.Levels[norm]), [contribution.TailNumbers]*big.Int(clip.Tail), confidence, m.chosen())
	if w, shared := m.weighting.(withFinest); shared {
		times := w.wider()
		e.About, e.UpTo = e.About*times, e.UpTo*times
	}
	return e
}

// upTo returns how much of a statistic is left out of the partition at most, in size and in whole steps, if units go on above
// its limit as they do below.
func (r observation) upTo(statistic int) float64 {
	s := r.statistics[statistic]
	if s.measure == nil {
		return 0
	}
	return r.upToOf(s.measure, s.measure.weighting.normOf(s), statistic)
}

// upToOf is upTo for what a norm is of, spread over groups as a statistic is.
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

// beyond returns how far a statistic may be below and above what is released because of its limit,
// if units go on above it as they do below.
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
