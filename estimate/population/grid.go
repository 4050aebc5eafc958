package population

import (
	"fmt"
	"math"
	"slices"

	"dpproxy/accountant/realized"
)

// A grid is points of some columns, with the transcripts that are about them.
type grid struct {
	population *Population
	table      *table
	points     [][]float64 // with a number for each column of the domain
}

const (
	// maxPoints bounds the points of a grid.
	maxPoints = 512
	// maxWork bounds the transcripts times the square of the points, and times half of the numbers that are estimated.
	maxWork = 1 << 26
)

// finenesses are the numbers of points between the bounds of a number, ends included, the best first. All
// are about as good: answers tell moments of a number, which few points can have.
var finenesses = []int{33, 17, 9, 5, 3}

// grid returns the grid of an estimate about some columns. Where not all objects answered all questions
// about them, it may be for their answers about other columns, which are then taken in: else refusals
// would be taken for chance.
func (p *Population) grid(columns []int, numbers int) (g *grid, partial bool, err error) {
	if len(columns) == 0 || p.objects == 0 {
		return nil, false, fmt.Errorf("%w: of %d objects about %d columns", ErrNoAnswers, p.objects, len(columns))
	}
	own, together := p.own(columns)
	for _, c := range columns {
		if own == nil || !slices.ContainsFunc(p.parts, func(t *table) bool { return slices.Contains(t.columns, c) }) {
			return nil, false, fmt.Errorf("%w: about column %d", ErrNoAnswers, c)
		}
	}
	if together && (own.complete || p.mode == realized.Sum || len(p.parts) == 1) {
		g, err := p.newGrid(own, numbers)
		return g, false, err
	}
	g, err = p.newGrid(p.all, numbers)
	if err == nil || !together {
		return g, false, err
	}
	g, err = p.newGrid(own, numbers)
	return g, true, err
}

// own returns a table about the first of some columns, and whether it is about all of them.
func (p *Population) own(columns []int) (own *table, together bool) {
	for _, t := range p.parts {
		if slices.Contains(t.columns, columns[0]) {
			together = !slices.ContainsFunc(columns, func(c int) bool { return !slices.Contains(t.columns, c) })
			return t, together
		}
	}
	return nil, false
}

// newGrid returns the finest grid for the transcripts of a table, of which some numbers are estimated.
func (p *Population) newGrid(t *table, numbers int) (*grid, error) {
	if t.overflown {
		return nil, fmt.Errorf("%w: more than %d transcripts", ErrTooLarge, maxTranscripts)
	}
	for _, fineness := range finenesses {
		size := 1
		for _, c := range t.columns {
			if of := p.columns[c].Values; of > 0 {
				size *= of
			} else {
				size *= fineness
			}
			if size > maxPoints {
				break
			}
		}
		if size <= maxPoints && size*size <= maxWork/max(1, len(t.counts))/max(1, numbers/2) {
			return &grid{p, t, p.points(t.columns, fineness)}, nil
		}
	}
	return nil, fmt.Errorf("%w: %d transcripts about %d columns", ErrTooLarge, len(t.counts), len(t.columns))
}

// points returns all points of some columns, with 0 for others.
func (p *Population) points(columns []int, fineness int) [][]float64 {
	points := [][]float64{make([]float64, len(p.columns))}
	for _, c := range columns {
		column, n := p.columns[c], fineness
		if column.Values > 0 {
			n = column.Values
		}
		var next [][]float64
		for _, x := range points {
			for i := range n {
				y := slices.Clone(x)
				if y[c] = float64(i); column.Values == 0 {
					share := float64(i) / float64(n-1)
					y[c] = column.Low*(1-share) + column.High*share
				}
				next = append(next, y)
			}
		}
		points = next
	}
	return points
}

// values returns a number for each point.
func (g *grid) values(of func(x []float64) (float64, error)) (h []float64, err error) {
	h = make([]float64, len(g.points))
	for i, x := range g.points {
		if h[i], err = of(x); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// indicator returns 1 for the points of a category, and 0 for all others.
func (g *grid) indicator(column, category int) []float64 {
	h := make([]float64, len(g.points))
	for i, x := range g.points {
		if int(x[column]) == category {
			h[i] = 1
		}
	}
	return h
}

// mixture returns the likelihoods of the transcripts, in the order of their keys.
func (g *grid) mixture() (*mixture, error) {
	keys := make([]string, 0, len(g.table.counts))
	for key, n := range g.table.counts {
		if *n > 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	m := &mixture{size: len(g.points), objects: float64(g.population.objects)}
	known := map[[2]int][]float64{}
	for _, key := range keys {
		row, err := g.likelihood(g.table.transcript(g.population, key), known)
		if err != nil {
			return nil, err
		}
		m.counts = append(m.counts, float64(*g.table.counts[key]))
		m.rows = append(m.rows, row...)
	}
	return m, nil
}

// likelihood returns P of a transcript for each point, times any factor.
func (g *grid) likelihood(answers []realized.Answer, known map[[2]int][]float64) ([]float64, error) {
	row := make([]float64, len(g.points))
	for i, a := range answers {
		if a.Value == realized.Unasked {
			continue
		}
		logs, err := g.logLaw(i, a, known)
		if err != nil {
			return nil, err
		}
		for j, x := range logs {
			row[j] += x
		}
	}
	most := slices.Max(row)
	for j := range row {
		row[j] = math.Exp(row[j] - most)
	}
	return row, nil
}

// logLaw returns ln P of an answer for each point. It remembers those of answers that are one value.
func (g *grid) logLaw(question int, a realized.Answer, known map[[2]int][]float64) ([]float64, error) {
	name := [2]int{question, a.Value}
	if logs, ok := known[name]; ok && a.Bits == nil {
		return logs, nil
	}
	of, err := g.population.questions[g.table.questions[question]].LogLaw(a)
	if err != nil {
		return nil, err
	}
	logs, err := g.values(of)
	known[name] = logs
	return logs, err
}
