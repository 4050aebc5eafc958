package proxy

import (
	"errors"
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// reductionLooks reveal a path of Laplace noise, level by level, for all partitions alike.
type reductionLooks struct {
	part *planner.Part
	src  mechanisms.Source
	// events are what each level releases, of all measures.
	events []dp.ComposedEvent
	paths  []*mechanisms.Path // by measure
	keys   [][]*string
	rows   [][]*big.Int
	level  int // the last that was revealed
	to     int // the next to be
}

// newReductionLooks returns the looks of a part. What a level releases depends on the plan
// alone: a path of nothing tells.
func newReductionLooks(p *planner.Part, src mechanisms.Source) (*reductionLooks, error) {
	l := &reductionLooks{part: p, src: src, level: -1, events: make([]dp.ComposedEvent, p.Chain.Levels())}
	for _, m := range p.Chain.Measures {
		path, err := m.Reduction.Begin(src, nil)
		if err != nil {
			return nil, internalChain(err)
		}
		for k := range l.events {
			level, err := path.Next()
			if err != nil {
				return nil, internalChain(err)
			}
			l.events[k] = append(l.events[k], level.Event())
			if _, err := level.Reveal(); err != nil {
				return nil, internalChain(err)
			}
		}
	}
	return l, nil
}

// first implements looker.
func (l *reductionLooks) first() (dp.ComposedEvent, error) { return l.events[0], nil }

// begin implements looker.
func (l *reductionLooks) begin(keys [][]*string, partitions []*reader.Partition) error {
	l.keys, l.rows = keys, make([][]*big.Int, len(partitions))
	for i := range l.rows {
		l.rows[i] = make([]*big.Int, len(l.part.Chain.Measures))
	}
	for m, measure := range l.part.Chain.Measures {
		exact := make([]mechanisms.Private, len(partitions))
		for i, p := range partitions {
			exact[i] = p.At(m)
		}
		path, err := measure.Reduction.Begin(l.src, exact)
		if err != nil {
			return err
		}
		l.paths = append(l.paths, path)
	}
	return l.draw()
}

// next implements looker.
func (l *reductionLooks) next() (dp.ComposedEvent, error) {
	open := l.part.Chain.Open(l.released())
	if len(open) == 0 || l.level+1 == len(l.events) {
		return nil, nil
	}
	l.to = l.part.Chain.NextLevel(l.level, open)
	var events dp.ComposedEvent
	for _, e := range l.events[l.level+1 : l.to+1] {
		events = append(events, e...)
	}
	return events, nil
}

// draw implements looker.
func (l *reductionLooks) draw() error {
	for ; l.level < l.to; l.level++ {
		if err := l.reveal(); err != nil {
			return err
		}
	}
	return nil
}

func (l *reductionLooks) reveal() error {
	for m, path := range l.paths {
		level, err := path.Next()
		if err != nil {
			return err
		}
		values, err := level.Reveal()
		if err != nil {
			return err
		}
		if len(values) != len(l.rows) {
			return errors.New("a level of another size")
		}
		for i, v := range values {
			l.rows[i][m] = v.Int()
		}
	}
	return nil
}

func (l *reductionLooks) released() *planner.Released {
	rows := make([][]*big.Int, len(l.rows))
	for i, row := range l.rows {
		rows[i] = append([]*big.Int(nil), row...)
	}
	return l.part.Chain.Revealed(l.keys, rows, l.level)
}
