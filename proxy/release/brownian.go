package release

import (
	"errors"
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// brownian measures each integer of each partition by itself, as precisely as it needs.
type brownian struct {
	set *planner.GroupingSet
	src mechanisms.Source
	// known are the measurements of earlier reads, by partition and measure; nil: none.
	known [][][]mechanisms.Measurement
	// fresh are those of this read.
	fresh  [][][]mechanisms.Measurement
	keys   [][]*string
	chains []*mechanisms.Brownian // by measure
	steps  []*mechanisms.Step     // the next round, by measure; nil where it has none
	// excess is the part of the charge of the first round that it did not need.
	excess int64
}

func newBrownian(p *planner.GroupingSet, known [][][]mechanisms.Measurement, src mechanisms.Source) *brownian {
	return &brownian{set: p, known: known, src: src}
}

// first implements method. The pilot of a new chain costs a fixed price at most; how a
// remembered one goes on follows from its measurements.
func (l *brownian) first() (dp.ComposedEvent, error) {
	if l.known == nil {
		return dp.ComposedEvent{Priced(l.pilot() * int64(len(l.set.Reduction.Statistics)))}, nil
	}
	nothing := make([]*reader.Partition, l.set.Size())
	for i := range nothing {
		nothing[i] = &reader.Partition{}
	}
	rehearsal := newBrownian(l.set, l.known, l.src)
	if err := rehearsal.prepare(nil, nothing); err != nil {
		return nil, err
	}
	return rehearsal.next()
}

// pilot is the price of the first round of one measure at most.
func (l *brownian) pilot() int64 {
	c := l.set.Reduction
	return max(1, c.PilotPico/int64(len(c.Statistics)))
}

// prepare makes the chains.
func (l *brownian) prepare(keys [][]*string, partitions []*reader.Partition) error {
	l.keys = keys
	l.fresh = make([][][]mechanisms.Measurement, len(partitions))
	for i := range l.fresh {
		l.fresh[i] = make([][]mechanisms.Measurement, len(l.set.Reduction.Statistics))
	}
	for m, measure := range l.set.Reduction.Statistics {
		exact := make([]mechanisms.Private, len(partitions))
		for i, p := range partitions {
			exact[i] = p.At(m)
		}
		b, err := mechanisms.NewBrownian(measure.Sensitivity, exact, l.set.Reduction.PoolPico)
		if err != nil {
			return err
		}
		for i := range l.known {
			for _, measurement := range l.known[i][m] {
				if err := b.Remember(i, measurement); err != nil {
					return err
				}
			}
		}
		l.chains = append(l.chains, b)
	}
	return nil
}

// begin implements method.
func (l *brownian) begin(e *reader.Exact) error { return l.start(e.Shown(l.src)) }

// start draws the first round of the partitions that are shown.
func (l *brownian) start(keys [][]*string, partitions []*reader.Partition) error {
	if len(partitions) == 0 {
		l.keys = keys
		return nil
	}
	if err := l.prepare(keys, partitions); err != nil {
		return err
	}
	if l.known != nil {
		if _, err := l.next(); err != nil {
			return err
		}
		return l.draw()
	}
	all := make([]mechanisms.Target, len(partitions))
	for i := range all {
		all[i].Coordinate = i
	}
	l.steps = make([]*mechanisms.Step, len(l.chains))
	for m, b := range l.chains {
		var err error
		if l.steps[m], err = b.Raise(all, l.pilot()); err != nil {
			return err
		}
		l.excess += l.pilot() - l.steps[m].Price()
	}
	return l.draw()
}

// estimates of each measure.
func (l *brownian) estimates() [][]mechanisms.Estimate {
	out := make([][]mechanisms.Estimate, len(l.chains))
	for m, b := range l.chains {
		out[m] = b.Estimates()
	}
	return out
}

func (l *brownian) released() *planner.Released {
	return l.set.Reduction.Estimated(l.keys, l.estimates())
}

// next implements method: open partitions go straight to the precision that they need, or, where
// that costs more than is left, as far as that reaches.
func (l *brownian) next() (dp.ComposedEvent, error) {
	estimates := l.estimates()
	open := l.set.Reduction.Open(l.set.Reduction.Estimated(l.keys, estimates))
	l.steps = make([]*mechanisms.Step, len(l.chains))
	if len(open) == 0 {
		return nil, nil
	}
	targets := make([][]mechanisms.Target, len(l.chains))
	levels := make([]int64, len(l.chains))
	for m := range l.chains {
		targets[m] = l.set.Reduction.Targets(m, estimates[m], open)
		levels[m] = l.set.Reduction.PoolPico
	}
	want, err := l.plan(targets, levels)
	if err != nil {
		return nil, err
	}
	room := l.set.Reduction.PoolPico - l.excess
	for _, b := range l.chains {
		room -= b.Paid()
	}
	if want > room {
		for m, b := range l.chains {
			levels[m] = b.Paid() + share(room, l.steps[m], want)
		}
		if _, err := l.plan(targets, levels); err != nil {
			return nil, err
		}
	}
	var events dp.ComposedEvent
	for _, s := range l.steps {
		if s != nil {
			events = append(events, s.Event())
		}
	}
	return events, nil
}

// share divides the room in proportion to the prices of the steps.
func share(room int64, s *mechanisms.Step, want int64) int64 {
	if s == nil {
		return 0
	}
	part := new(big.Int).Mul(big.NewInt(max(room, 0)), big.NewInt(s.Price()))
	return part.Quo(part, big.NewInt(want)).Int64()
}

// plan plans the steps to the targets, up to a level of each chain, and returns their price.
func (l *brownian) plan(targets [][]mechanisms.Target, levels []int64) (price int64, err error) {
	for m, b := range l.chains {
		l.steps[m] = nil
		if len(targets[m]) == 0 || levels[m] < 1 {
			continue
		}
		step, err := b.Raise(targets[m], levels[m])
		switch {
		case errors.Is(err, mechanisms.ErrCap):
		case err != nil:
			return 0, err
		default:
			l.steps[m] = step
			price += step.Price()
		}
	}
	return price, nil
}

// draw implements method.
func (l *brownian) draw() error {
	for m, s := range l.steps {
		if s == nil {
			continue
		}
		measured, err := s.Measure(l.src)
		if err != nil {
			return err
		}
		for k, i := range s.Coordinates() {
			l.fresh[i][m] = append(l.fresh[i][m], measured[k])
		}
	}
	return nil
}

// keep implements method: the measurements of all reads.
func (l *brownian) keep(s *Set) {
	s.Keys, s.Measured = l.keys, make([][][]mechanisms.Measurement, len(l.fresh))
	for i, measures := range l.fresh {
		s.Measured[i] = make([][]mechanisms.Measurement, len(measures))
		for m, fresh := range measures {
			if l.known != nil {
				s.Measured[i][m] = append(s.Measured[i][m], l.known[i][m]...)
			}
			s.Measured[i][m] = append(s.Measured[i][m], fresh...)
		}
	}
}
