package release

import (
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// brownian measures each integer of each partition by itself, as precisely as it needs: a
// [mechanisms.Refinement] of the partitions that are shown.
type brownian struct {
	limited
	src mechanisms.Source
	// known are the measurements of earlier reads, by partition and statistic; nil: none.
	known [][][]mechanisms.Measurement

	refinement *mechanisms.Refinement
	keys       [][]*string
	round      *mechanisms.Round // the next
}

var _ method = (*brownian)(nil)

// newBrownian returns the method that goes on from what is known, nil if nothing is.
func newBrownian(p *planner.GroupingSet, known *Set, src mechanisms.Source) *brownian {
	l := &brownian{limited: limited{set: p}, src: src}
	if known != nil {
		l.known, l.clips = known.Measured, known.Clips
	}
	return l
}

// first implements method. The pilot of a new chain costs a fixed price at most, whatever the limits
// are; how a remembered one goes on follows from its measurements.
func (l *brownian) first() (dp.ComposedEvent, error) {
	if l.known == nil {
		return append(l.set.Choosing(), pilot(l.set.Reduction)), nil
	}
	if err := l.refine(); err != nil {
		return nil, err
	}
	return l.refinement.First(), nil
}

// pilot is the price of the first round of a new chain.
func pilot(r *planner.NoiseReduction) dp.Event {
	n := int64(len(r.Statistics))
	return mechanisms.RefinementOf(r.PilotPico / n * n)
}

// refine makes the refinement within the limits.
func (l *brownian) refine() (err error) {
	if err = l.within(l.clips); err == nil {
		l.refinement, err = l.reduction.Begin(l.known)
	}
	return err
}

// begin implements method.
func (l *brownian) begin(e *reader.Exact) error {
	if l.known == nil {
		if err := l.choose(e, l.src); err != nil {
			return err
		}
	}
	return l.start(e.Shown())
}

// start draws the first round of the partitions that are shown.
func (l *brownian) start(keys [][]*string, partitions []*reader.Partition) error {
	l.keys = keys
	var err error
	if l.known == nil {
		err = l.refine()
	}
	if err != nil {
		return err
	}
	if l.round, err = l.refinement.Begin(l.exact(partitions)); err != nil {
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
	return l.reduction.Estimated(l.keys, l.refinement.Estimates())
}

// keep implements method: the measurements of all reads.
func (l *brownian) keep(s *Set) {
	s.Keys, s.Clips, s.Measured = l.keys, l.clips, l.refinement.Measurements()
}
