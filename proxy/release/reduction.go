package release

import (
	"errors"
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// reduction reveals a path of Laplace noise, level by level, for all partitions alike.
type reduction struct {
	limited
	src   mechanisms.Source
	paths []*mechanisms.Path // by measure
	keys  [][]*string
	rows  [][]*big.Int
	level int // the last that was revealed
	to    int // the next to be
}

var _ method = (*reduction)(nil)

func newReduction(p *planner.GroupingSet, src mechanisms.Source) *reduction {
	return &reduction{limited: limited{set: p}, src: src, level: -1}
}

// first implements method. A level costs the same for all limits.
func (l *reduction) first() (dp.ComposedEvent, error) {
	return append(l.set.Choosing(), l.set.Reduction.Revealing(0, 0)...), nil
}

// begin implements method.
func (l *reduction) begin(e *reader.Exact) error {
	if err := l.choose(e, l.src); err != nil {
		return err
	}
	return l.start(e.Shown())
}

// start draws the first level of the partitions that are shown.
func (l *reduction) start(keys [][]*string, partitions []*reader.Partition) error {
	l.keys = keys
	if err := l.within(l.clips); err != nil || len(partitions) == 0 {
		return err
	}
	l.rows = make([][]*big.Int, len(partitions))
	for i := range l.rows {
		l.rows[i] = make([]*big.Int, len(l.reduction.Statistics))
	}
	for m, exact := range l.exact(partitions) {
		path, err := l.reduction.Statistics[m].Path.Begin(l.src, exact)
		if err != nil {
			return err
		}
		l.paths = append(l.paths, path)
	}
	return l.draw()
}

// next implements method.
func (l *reduction) next() (dp.ComposedEvent, error) {
	open := l.reduction.Open(l.released())
	if len(open) == 0 || l.level+1 == l.reduction.Levels() {
		return nil, nil
	}
	l.to = l.reduction.NextLevel(l.level, open)
	return l.reduction.Revealing(l.level+1, l.to), nil
}

// draw implements method.
func (l *reduction) draw() error {
	for ; l.level < l.to; l.level++ {
		if err := l.reveal(); err != nil {
			return err
		}
	}
	return nil
}

func (l *reduction) reveal() error {
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

// released implements method.
func (l *reduction) released() *planner.Released {
	if len(l.rows) == 0 { // no partition is shown
		return l.reduction.Estimated(l.keys, nil)
	}
	return l.reduction.Revealed(l.keys, l.copied(), l.level)
}

// keep implements method.
func (l *reduction) keep(s *Set) {
	s.Keys, s.Clips, s.Rows, s.Level = l.keys, l.clips, l.copied(), max(l.level, 0)
}

// copied returns the rows of now: the next level changes them.
func (l *reduction) copied() [][]*big.Int {
	rows := make([][]*big.Int, len(l.rows))
	for i, row := range l.rows {
		rows[i] = append([]*big.Int(nil), row...)
	}
	return rows
}
