package realized

import (
	"fmt"
	"math"
	"slices"
)

// Kind is how a question is answered.
type Kind int

const (
	// Response is k-ary randomised response about a category.
	Response Kind = iota
	// Unary is optimised unary encoding of a category.
	Unary
	// Score is one bit about a number.
	Score
)

const (
	// maxEpsilonPico bounds the ε of one question, so that either bit has a probability above 0 that
	// a double holds, and no sum overflows.
	maxEpsilonPico = 100 * picoPerUnit
	picoPerUnit    = 1_000_000_000_000
)

// A Question is one that all objects of a domain may be asked: its subject, how it is answered, and
// with which ε. The law of its answer, given the object, is:
//
//	Response  the category with exp(ε)/(exp(ε)+k−1), each other one with 1/(exp(ε)+k−1)
//	Unary     a bit for each category: 1 with ½ for the object's, with 1/(exp(ε)+1) for any other
//	Score     1 with 1/(exp(ε)+1) + t·tanh(ε/2), t = (score − low)/(high − low), moved into [0, 1]
//
// as package mechanisms draws it.
type Question struct {
	domain  *Domain
	kind    Kind
	columns []int // that it is about, in order
	epsilon int64 // in 10⁻¹²
	score   *node
	low     float64
	high    float64
	inexact float64
}

// Kind returns how the question is answered.
func (q Question) Kind() Kind { return q.kind }

// EpsilonPico returns ε in 10⁻¹².
func (q Question) EpsilonPico() int64 { return q.epsilon }

// Columns returns the columns of the domain that the question is about.
func (q Question) Columns() []int { return slices.Clone(q.columns) }

// Response asks for a category by k-ary randomised response.
func (d *Domain) Response(column int, epsilonPico int64) (Question, error) {
	return d.categorical(Response, column, epsilonPico)
}

// Unary asks for a category by optimised unary encoding.
func (d *Domain) Unary(column int, epsilonPico int64) (Question, error) {
	return d.categorical(Unary, column, epsilonPico)
}

func (d *Domain) categorical(kind Kind, column int, epsilonPico int64) (Question, error) {
	if err := checkEpsilon(epsilonPico); err != nil {
		return Question{}, err
	}
	if column < 0 || column >= len(d.columns) || !d.columns[column].category() {
		return Question{}, fmt.Errorf("%w: column %d is no category", ErrParameter, column)
	}
	return Question{domain: d, kind: kind, columns: []int{column}, epsilon: epsilonPico}, nil
}

// Score asks for one bit about a number between low and high, as which a number beyond them counts.
// Its law may be that of a t that is off by inexact, as by a lattice, and besides by the rounding of
// [Domain.Scorer], which is taken into account. ErrUnbounded says that the score is no number for some object that there may be.
func (d *Domain) Score(e Expr, low, high, inexact float64, epsilonPico int64) (Question, error) {
	if err := checkEpsilon(epsilonPico); err != nil {
		return Question{}, err
	}
	if !(low < high) || !numbers(low, high) || !(high-low >= 1/maxNumber) || !(inexact >= 0 && inexact <= 1) {
		return Question{}, fmt.Errorf("%w: a score from %g to %g, off by %g", ErrParameter, low, high, inexact)
	}
	columns, err := d.mentioned(e)
	if err != nil {
		return Question{}, err
	}
	q := Question{d, Score, columns, epsilonPico, e.node, low, high, inexact}
	t, box := newTape(q.score, len(columns), q.place), d.box(columns)
	if err := t.check(box); err != nil {
		return Question{}, err
	}
	if q.inexact += t.error(box) / (high - low) * (1 + ulps); !(q.inexact <= 1) {
		q.inexact = 1 // nothing is known of t
	}
	return q, nil
}

func checkEpsilon(epsilonPico int64) error {
	if epsilonPico < 1 || epsilonPico > maxEpsilonPico {
		return fmt.Errorf("%w: a question with ε = %d·10⁻¹²", ErrParameter, epsilonPico)
	}
	return nil
}

// mentioned returns the columns of a score, in order.
func (d *Domain) mentioned(e Expr) ([]int, error) {
	if e.node == nil {
		return nil, fmt.Errorf("%w: no score", ErrParameter)
	}
	found := map[int]bool{}
	e.node.columns(found)
	var columns []int
	for c := range found {
		if c < 0 || c >= len(d.columns) {
			return nil, fmt.Errorf("%w: column %d", ErrParameter, c)
		}
		if d.columns[c].category() && d.columns[c].Numbers == nil {
			return nil, fmt.Errorf("%w: column %d is no number", ErrParameter, c)
		}
		columns = append(columns, c)
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("%w: a score without columns", ErrParameter)
	}
	slices.Sort(columns)
	return columns, nil
}

// place returns where a column is among the question's.
func (q Question) place(column int) int { return slices.Index(q.columns, column) }

// box returns all of some columns.
func (d *Domain) box(columns []int) []span {
	box := make([]span, len(columns))
	for i, c := range columns {
		box[i] = d.columns[c].whole()
	}
	return box
}

// epsilonOf returns ε as a number.
func (q Question) epsilonOf() float64 { return float64(q.epsilon) / picoPerUnit }

// A bit is the law of the answer to a score: P(1) = least + t·gain.
type bit struct{ least, gain float64 }

func (q Question) bit() bit {
	e := q.epsilonOf()
	return bit{math.Exp(-e) / (1 + math.Exp(-e)), math.Tanh(e / 2)}
}

// doubt returns by how much ln P of one answer may be wrong where t is off: P is at least 1/(exp(ε)+1).
func (q Question) doubt(off float64) float64 {
	return min(math.Expm1(q.epsilonOf())*off*(1+1e-9), q.epsilonOf())
}

// LogLaw returns the function that computes ln Pr(answer | object), but for a term that is the same for
// all objects. Objects are those of [Domain.Scorer].
func (q Question) LogLaw(answer Answer) (func(object []float64) (float64, error), error) {
	if q.kind != Score {
		return func(object []float64) (float64, error) {
			x := int(object[q.columns[0]])
			if q.kind == Response && answer.Value == x || q.kind == Unary && answer.bit(x) {
				return q.epsilonOf(), nil
			}
			return 0, nil
		}, nil
	}
	law := q.bit()
	score, err := q.domain.Scorer(Expr{q.score})
	return func(object []float64) (float64, error) {
		x, err := score(object)
		t := min(max((x-q.low)/(q.high-q.low), 0), 1)
		if answer.Value == 0 {
			t = 1 - t
		}
		return math.Log(law.least + t*law.gain), err
	}, err
}
