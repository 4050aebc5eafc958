package release

import (
	"errors"

	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// brownian measures each integer of each partition by itself, as precisely as it needs: a
// [mechanisms.Refinement] of the partitions that are shown.
type brownian struct {
	set *planner.GroupingSet
	src mechanisms.Source
	// known are the measurements of earlier reads, by partition and statistic; nil: none.
	known [][][]mechanisms.Measurement

	refinement *mechanisms.Refinement
	keys       [][]*string
	round      *mechanisms.Round // the next
}

var _ method = (*brownian)(nil)

func newBrownian(p *planner.GroupingSet, known [][][]mechanisms.Measurement, src mechanisms.Source) *brownian {
	return &brownian{set: p, known: known, src: src}
}

// first implements method. The pilot of a new chain costs a fixed price at most; how a
// remembered one goes on follows from its measurements.
func (l *brownian) first() (dp.ComposedEvent, error) {
	r, err := l.set.Reduction.Begin(l.known)
	if err != nil {
		return nil, err
	}
	l.refinement = r
	return r.First(), nil
}

// begin implements method.
func (l *brownian) begin(e *reader.Exact) error { return l.start(e.Shown(l.src)) }

// start draws the first round of the partitions that are shown.
func (l *brownian) start(keys [][]*string, partitions []*reader.Partition) error {
	if l.refinement == nil {
		return errors.New("the first round is not priced")
	}
	l.keys = keys
	var err error
	if l.round, err = l.refinement.Begin(byStatistic(l.set, partitions)); err != nil {
		return err
	}
	return l.draw()
}

// next implements method.
func (l *brownian) next() (dp.ComposedEvent, error) {
	var err error
	if l.round, err = l.refinement.Next(); err != nil {
		return nil, err
	}
	return l.round.Event(), nil
}

// draw implements method.
func (l *brownian) draw() error { return l.round.Measure(l.src) }

// released implements method.
func (l *brownian) released() *planner.Released {
	return l.set.Reduction.Estimated(l.keys, l.refinement.Estimates())
}

// keep implements method: the measurements of all reads.
func (l *brownian) keep(s *Set) { s.Keys, s.Measured = l.keys, l.refinement.Measurements() }
