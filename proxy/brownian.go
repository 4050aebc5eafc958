package proxy

import (
	"errors"
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// brownianLooks measure each integer of each partition by itself, as precisely as it needs.
type brownianLooks struct {
	part *planner.Part
	src  mechanisms.Source
	// known are the measurements of earlier reads, by partition and measure; nil: none.
	known [][][]mechanisms.Measurement
	// fresh are those of this read.
	fresh  [][][]mechanisms.Measurement
	keys   [][]*string
	chains []*mechanisms.Brownian // by measure
	steps  []*mechanisms.Step     // the next look, by measure; nil where it has none
	// excess is what was charged for the first look and not needed.
	excess int64
}

func newBrownianLooks(p *planner.Part, known [][][]mechanisms.Measurement, src mechanisms.Source) *brownianLooks {
	return &brownianLooks{part: p, known: known, src: src}
}

// first implements looker. The pilot of a new chain costs a fixed price at most; how a
// remembered one goes on follows from what is known.
func (l *brownianLooks) first() (dp.ComposedEvent, error) {
	if l.known == nil {
		return dp.ComposedEvent{priced(l.pilot() * int64(len(l.part.Chain.Measures)))}, nil
	}
	nothing := make([]*reader.Partition, l.part.Size())
	for i := range nothing {
		nothing[i] = &reader.Partition{}
	}
	rehearsal := newBrownianLooks(l.part, l.known, l.src)
	if err := rehearsal.prepare(nil, nothing); err != nil {
		return nil, err
	}
	return rehearsal.next()
}

// pilot is what the first look of one measure costs at most.
func (l *brownianLooks) pilot() int64 {
	c := l.part.Chain
	return max(1, c.PilotPico/int64(len(c.Measures)))
}

// priced is an event of a refinement with a price.
func priced(pico int64) dp.Event {
	return dp.RefinementEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: 1}, Before: new(big.Rat), After: big.NewRat(2*pico, dp.PicoPerUnit)}
}

// prepare makes the chains.
func (l *brownianLooks) prepare(keys [][]*string, partitions []*reader.Partition) error {
	l.keys = keys
	l.fresh = make([][][]mechanisms.Measurement, len(partitions))
	for i := range l.fresh {
		l.fresh[i] = make([][]mechanisms.Measurement, len(l.part.Chain.Measures))
	}
	for m, measure := range l.part.Chain.Measures {
		exact := make([]mechanisms.Private, len(partitions))
		for i, p := range partitions {
			exact[i] = p.At(m)
		}
		b, err := mechanisms.NewBrownian(measure.Sensitivity, exact, l.part.Chain.PoolPico)
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

// begin implements looker.
func (l *brownianLooks) begin(keys [][]*string, partitions []*reader.Partition) error {
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
func (l *brownianLooks) estimates() [][]mechanisms.Estimate {
	out := make([][]mechanisms.Estimate, len(l.chains))
	for m, b := range l.chains {
		out[m] = b.Estimates()
	}
	return out
}

func (l *brownianLooks) released() *planner.Released {
	return l.part.Chain.Estimated(l.keys, l.estimates())
}

// next implements looker: what is open goes straight to where it is needed, or, where that
// costs more than is left, as far as that reaches.
func (l *brownianLooks) next() (dp.ComposedEvent, error) {
	estimates := l.estimates()
	open := l.part.Chain.Open(l.part.Chain.Estimated(l.keys, estimates))
	l.steps = make([]*mechanisms.Step, len(l.chains))
	if len(open) == 0 {
		return nil, nil
	}
	targets := make([][]mechanisms.Target, len(l.chains))
	levels := make([]int64, len(l.chains))
	for m := range l.chains {
		targets[m] = l.part.Chain.Targets(m, estimates[m], open)
		levels[m] = l.part.Chain.PoolPico
	}
	want, err := l.plan(targets, levels)
	if err != nil {
		return nil, err
	}
	room := l.part.Chain.PoolPico - l.excess
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

// share returns the part of what is left that a step wants of all that is wanted.
func share(room int64, s *mechanisms.Step, want int64) int64 {
	if s == nil {
		return 0
	}
	part := new(big.Int).Mul(big.NewInt(max(room, 0)), big.NewInt(s.Price()))
	return part.Quo(part, big.NewInt(want)).Int64()
}

// plan plans the steps to the targets, up to a level of each chain, and returns their price.
func (l *brownianLooks) plan(targets [][]mechanisms.Target, levels []int64) (price int64, err error) {
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

// draw implements looker.
func (l *brownianLooks) draw() error {
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
