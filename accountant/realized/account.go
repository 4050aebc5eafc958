package realized

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Unasked is the Value of an answer to a question that the object was not asked.
const Unasked = -1

// An Answer is that of one object to one question.
type Answer struct {
	// Value is Unasked, the category of a response, or the bit of a score.
	Value int
	// Bits are the answer of unary encoding: that about the category x is bit x%8 of Bits[x/8].
	Bits []byte
}

// bit returns the bit about a category.
func (a Answer) bit(x int) bool { return a.Bits[x/8]>>(x%8)&1 == 1 }

// Mode is a promise of the administrator about values.
type Mode int

const (
	// Sum is for values that may change between questions: the loss is the sum of ε.
	Sum Mode = iota
	// Never is for values that do not change: the loss is the realized one.
	Never
)

const (
	// maxQuestions bounds the questions of an account.
	maxQuestions = 1 << 14
	// maxKnown bounds the losses that an account remembers.
	maxKnown = 1 << 18
	// maxParts bounds the sets of questions whose components it remembers.
	maxParts = 1 << 14
	// maxWork bounds the boxes that are bisected for one account: some minutes. The more of them are
	// used up, the fewer each further loss may take, down to minBoxes, so that bounds become loose.
	maxWork, minBoxes = 1 << 25, 64
)

// An Account computes the losses of objects by their answers to the same questions. As many share a
// transcript, it remembers losses, in bounded memory. It is not for concurrent use.
type Account struct {
	domain     *Domain
	questions  []Question
	mode       Mode
	components map[string]*component   // by the questions
	parts      map[string][]*component // by the questions that were asked
	known      int
	work       int      // boxes that are left
	key        []byte   // scratch
	next       []Answer // scratch
}

// NewAccount returns the account of questions about objects of one domain, in the order in which they
// are asked.
func NewAccount(d *Domain, questions []Question, mode Mode) (*Account, error) {
	if len(questions) > maxQuestions || mode != Sum && mode != Never {
		return nil, fmt.Errorf("%w: %d questions, mode %d", ErrParameter, len(questions), mode)
	}
	for i, q := range questions {
		if q.domain != d {
			return nil, fmt.Errorf("%w: question %d is of another domain", ErrParameter, i)
		}
	}
	return &Account{
		domain: d, questions: slices.Clone(questions), mode: mode, work: maxWork,
		components: map[string]*component{}, parts: map[string][]*component{},
	}, nil
}

// Loss returns the loss of an object with the answers t, in 10⁻¹², rounded up: the sum of ε where
// values may change, else the realized loss. Answers that t lacks at its end were not asked. It is at
// most the sum of ε.
//
// The loss of answers about one category is exact; any other has 10⁻⁹ more than its certain bound.
func (a *Account) Loss(t []Answer) (pico int64, err error) {
	if err := a.check(t); err != nil {
		return 0, err
	}
	if a.mode == Sum {
		return a.sum(t), nil
	}
	for _, c := range a.split(t) {
		pico += a.lossOf(c, t).pico
	}
	return pico, nil
}

// Bounds returns a lower and an upper bound of the realized loss itself, without the margin of Loss.
func (a *Account) Bounds(t []Answer) (lower, upper float64, err error) {
	if err := a.check(t); err != nil {
		return 0, 0, err
	}
	for _, c := range a.split(t) {
		l := a.lossOf(c, t)
		lower, upper = lower+l.lower, upper+l.upper
	}
	return lower, upper * (1 + ulps), nil
}

// sum returns the sum of the ε of all that was asked.
func (a *Account) sum(t []Answer) int64 {
	total := int64(0)
	for i, answer := range t {
		if answer.Value != Unasked {
			total += a.questions[i].epsilon
		}
	}
	return total
}

// check refuses answers that none of the questions has.
func (a *Account) check(t []Answer) error {
	if len(t) > len(a.questions) {
		return fmt.Errorf("%w: %d answers to %d questions", ErrParameter, len(t), len(a.questions))
	}
	for i, answer := range t {
		if answer.Value != Unasked && !a.answers(answer, a.questions[i]) {
			return fmt.Errorf("%w: %d is no answer to question %d", ErrParameter, answer.Value, i)
		}
	}
	return nil
}

func (a *Account) answers(answer Answer, q Question) bool {
	values := a.domain.columns[q.columns[0]].Values
	switch q.kind {
	case Response:
		return answer.Value >= 0 && answer.Value < values
	case Unary:
		return answer.Value == 0 && len(answer.Bits) == (values+7)/8 &&
			(values%8 == 0 || answer.Bits[values/8]>>(values%8) == 0)
	case Score:
		return answer.Value == 0 || answer.Value == 1
	}
	return false
}

// split returns the components of the questions that t answers.
func (a *Account) split(t []Answer) []*component {
	a.key = a.key[:0]
	for i, answer := range t {
		if i%8 == 0 {
			a.key = append(a.key, 0)
		}
		if answer.Value != Unasked {
			a.key[i/8] |= 1 << (i % 8)
		}
	}
	if parts, ok := a.parts[string(a.key)]; ok {
		return parts
	}
	if len(a.parts) >= maxParts {
		clear(a.parts)
	}
	if len(a.components) >= maxParts {
		clear(a.components)
		clear(a.parts)
		a.known = 0
	}
	parts := a.newParts(t)
	a.parts[string(a.key)] = parts
	return parts
}

// newParts groups the questions that t answers by the columns that they are about.
func (a *Account) newParts(t []Answer) []*component {
	var groups [][2][]int // columns and questions
	for i, answer := range t {
		if answer.Value == Unasked {
			continue
		}
		columns, questions := slices.Clone(a.questions[i].columns), []int{i}
		groups = slices.DeleteFunc(groups, func(g [2][]int) bool {
			if !slices.ContainsFunc(g[0], func(c int) bool { return slices.Contains(a.questions[i].columns, c) }) {
				return false
			}
			columns, questions = append(columns, g[0]...), append(questions, g[1]...)
			return true
		})
		slices.Sort(columns)
		slices.Sort(questions)
		groups = append(groups, [2][]int{slices.Compact(columns), questions})
	}
	parts := make([]*component, len(groups))
	for i, g := range groups {
		parts[i] = a.component(g[0], g[1])
	}
	return parts
}

// component returns the component of the questions given, with its memory.
func (a *Account) component(columns, questions []int) *component {
	var name []byte
	for _, q := range questions {
		name = binary.AppendUvarint(name, uint64(q))
	}
	c, ok := a.components[string(name)]
	if !ok {
		c = newComponent(a, columns, questions)
		a.components[string(name)] = c
	}
	return c
}

// lossOf returns the loss of a component, remembered unless it is quickly counted.
func (a *Account) lossOf(c *component, t []Answer) loss {
	if c.method == counting {
		return c.lossOf(t, 0)
	}
	a.key = a.key[:0]
	for i, q := range c.questions {
		a.key = binary.AppendUvarint(a.key, uint64(t[q].Value))
		if c.asked[i].kind == Unary {
			a.key = append(a.key, t[q].Bits...)
		}
	}
	if l, ok := c.known[string(a.key)]; ok {
		return l
	}
	if a.known >= maxKnown {
		for _, other := range a.components {
			clear(other.known)
		}
		a.known = 0
	}
	l := c.lossOf(t, a.boxes())
	a.work = max(0, a.work-l.boxes)
	c.known[string(a.key)] = l
	a.known++
	return l
}

// boxes returns how many boxes one extremum may take.
func (a *Account) boxes() int { return max(minBoxes, a.work/256) }
