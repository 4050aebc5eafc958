package realized

import (
	"math"
	"slices"
)

// A component is some questions that an object answered, and the columns that they are about, of
// which no other answer tells: P is a product over components, so that their losses add up.
type component struct {
	domain    *Domain
	columns   []int
	questions []int // of the account, in order
	asked     []Question
	method    method
	tapes     []*tape         // of each question that is a score
	pencils   []pencil        // of each question, where the method is corners
	sums      []int64         // of each category, where the method is counting
	known     map[string]loss // by the answers
}

// A loss is the realized loss of some answers: between lower and upper, and at most pico·10⁻¹².
type loss struct {
	lower, upper float64
	pico         int64
	boxes        int // that it took
}

// method is how the loss of a component is computed.
type method int

const (
	counting  method = iota // answers about one category: sums of ε, in integers
	corners                 // scores that are affine over the box: ln P is concave
	bisecting               // anything
)

// A pencil is a score that is affine over the box: t = at + Σ by[j]·u[j], u the shares of the box.
type pencil struct {
	at float64
	by []float64
}

const (
	// edge is how far t of a pencil may leave [0, 1], and more than its rounding.
	edge = 1e-12
	// maxConcaveEpsilon bounds ε of a pencil, so that P stays far above the error that edge makes.
	maxConcaveEpsilon = 16
	// rounding is more than the relative error of a sum of logarithms.
	rounding = 1e-13
	// marginPico is added to losses that are no integers by themselves.
	marginPico = 1000
)

// newComponent prepares the computation for the questions given.
func newComponent(a *Account, columns, questions []int) *component {
	c := &component{domain: a.domain, columns: columns, questions: questions, known: map[string]loss{}}
	c.method = corners
	if len(columns) > maxConcaveColumns {
		c.method = bisecting
	}
	scores := 0
	for _, q := range questions {
		question := a.questions[q]
		c.asked = append(c.asked, question)
		var t *tape
		var p pencil
		if question.kind == Score {
			scores++
			t = newTape(question.score, len(columns), c.place)
			var affine bool
			if p, affine = c.pencil(question); !affine {
				c.method = bisecting
			}
		} else {
			c.method = bisecting
		}
		c.tapes, c.pencils = append(c.tapes, t), append(c.pencils, p)
	}
	if scores == 0 {
		c.method = counting
		c.sums = make([]int64, a.domain.columns[columns[0]].Values)
	}
	return c
}

// place returns where a column of the domain is among those of the component.
func (c *component) place(column int) int { return slices.Index(c.columns, column) }

// pencil returns the score of a question, if it is affine over the box and about numbers.
func (c *component) pencil(q Question) (p pencil, affineScore bool) {
	if q.score.op != affine || q.epsilonOf() > maxConcaveEpsilon {
		return pencil{}, false
	}
	width := q.high - q.low
	p = pencil{at: (q.score.number - q.low) / width, by: make([]float64, len(c.columns))}
	size, off := math.Abs(p.at), q.score.error/width
	for _, w := range q.score.weights {
		column := c.domain.columns[w.column]
		if column.category() {
			return pencil{}, false
		}
		p.at += w.by * column.Low / width
		p.by[c.place(w.column)] = w.by * (column.High - column.Low) / width
		most := max(math.Abs(column.Low), math.Abs(column.High)) / width
		size += math.Abs(w.by) * most * 2
		off += w.error * most
	}
	least, most := p.at, p.at
	for _, by := range p.by {
		least, most = least+min(by, 0), most+max(by, 0)
	}
	exact := off+size*float64(len(p.by)+2)*ulps <= edge
	return p, exact && least >= -edge && most <= 1+edge
}

// lossOf returns the loss of the answers of t to the questions of the component. Either extremum takes so
// many boxes at most.
func (c *component) lossOf(t []Answer, boxes int) loss {
	if c.method == counting {
		pico := c.count(t)
		x := float64(pico) / picoPerUnit
		return loss{lower: x, upper: x, pico: pico}
	}
	var l loss
	if c.method == corners {
		l.lower, l.upper = c.concave(t)
	} else {
		l = c.landscape(t).bounds(boxes)
	}
	doubt, sum := 0.0, int64(0)
	for i, q := range c.asked {
		off, size := q.inexact, 0.0
		if c.method == corners {
			off, size = off+2*edge, rounding*(1+q.epsilonOf())
		}
		doubt += 2*q.doubt(off) + size
		sum += c.asked[i].epsilon
	}
	most := float64(sum) / picoPerUnit
	l.lower, l.upper = max(0, l.lower-doubt), min(l.upper+doubt, most)
	l.pico = min(sum, int64(math.Ceil(l.upper*picoPerUnit))+marginPico)
	return l
}

// count returns the loss of answers about one category, exactly. Of both kinds, an answer multiplies
// the likelihoods of the categories that it names by exp(ε), beside all others: the one that a
// response is, or those with a bit of 1, as ½·(1−q) = exp(ε)·½·q for q = 1/(exp(ε)+1).
func (c *component) count(t []Answer) int64 {
	clear(c.sums)
	for i, q := range c.questions {
		answer := t[q]
		if c.asked[i].kind == Response {
			c.sums[answer.Value] += c.asked[i].epsilon
			continue
		}
		for x := range c.sums {
			if answer.bit(x) {
				c.sums[x] += c.asked[i].epsilon
			}
		}
	}
	return slices.Max(c.sums) - slices.Min(c.sums)
}

// concave bounds the loss of answers to scores that are affine over the box.
func (c *component) concave(t []Answer) (lower, upper float64) {
	s := &sheaf{dims: len(c.columns)}
	by := make([]float64, s.dims)
	for i, q := range c.questions {
		law, p := c.asked[i].bit(), c.pencils[i]
		share, sign := p.at, law.gain
		if t[q].Value == 0 {
			share, sign = 1-p.at, -law.gain
		}
		for j, x := range p.by {
			by[j] = sign * x
		}
		s.add(law.least+law.gain*share, by)
	}
	attained, bound := s.most()
	least := s.least()
	return attained - least, bound - least
}

// landscape returns ln P of the answers.
func (c *component) landscape(t []Answer) *landscape {
	l := &landscape{domain: c.domain, columns: c.columns, gradient: make([]interval, len(c.columns))}
	l.sums = make([][]float64, len(c.columns))
	for i, q := range c.questions {
		question := c.asked[i]
		if question.kind == Score {
			l.scores = append(l.scores, scored{c.tapes[i], question.low, question.high, question.bit(), t[q].Value == 1})
			continue
		}
		column := c.place(question.columns[0])
		if l.sums[column] == nil {
			l.sums[column] = make([]float64, c.domain.columns[question.columns[0]].Values)
		}
		for x := range l.sums[column] {
			if question.kind == Response && t[q].Value == x || question.kind == Unary && t[q].bit(x) {
				l.sums[column][x] += question.epsilonOf()
			}
		}
	}
	return l
}
