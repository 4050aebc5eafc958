package mechanisms

import (
	"errors"
	"fmt"
	"math"
)

// ErrDone is returned where a refinement has no further step: every coordinate
// met its target, or the schedule or the cap came to its end.
var ErrDone = errors.New("mechanisms: the refinement has ended")

// A Refinement looks at a chain again and again until each coordinate meets its
// target. The caller takes the next step, charges its event, measures it, and asks
// for the next, until ErrDone:
//
//	for {
//		step, err := r.Next()
//		if errors.Is(err, ErrDone) {
//			break
//		}
//		// charge step.Event(), durably
//		measurements, err := step.Measure(src, exact)
//	}
//
// Only the coordinates that have not met their target are drawn again. It is not
// safe for concurrent use.
type Refinement struct {
	chain    *Brownian
	schedule Schedule
	rule     Rule
	start    int // rounds of the chain before the first look
	answers  []Answer
}

// An Answer is what a refinement has to say about one coordinate. The truth is
// within HalfWidth of the estimate with the confidence of the rule's boundary, for
// each coordinate by itself; Met tells whether that meets the target. One that has
// not met it by the end is the best that the cap allows.
type Answer struct {
	Estimate

	HalfWidth float64
	Met       bool
}

// NewRefinement returns the refinement of a chain until each coordinate meets the
// rule. The rule's boundary must hold at the looks of the schedule, as that of
// [Schedule.Boundary] does, and a chain that remembers another read needs one that
// holds at any time: how often it was looked at then depended on what was seen.
func NewRefinement(b *Brownian, s Schedule, rule Rule) (*Refinement, error) {
	if b == nil || s == nil || rule == nil {
		return nil, fmt.Errorf("%w: a refinement without a chain, a schedule or a rule", ErrParameter)
	}
	estimates := b.Estimates()
	answers, known := make([]Answer, len(estimates)), false
	for i, e := range estimates {
		answers[i].Estimate = e
		answers[i].HalfWidth = math.Inf(1)
		known = known || !math.IsInf(e.Sigma, 1)
	}
	if _, fixed := rule.Within().(Looks); !s.holds(rule.Within()) || fixed && known {
		return nil, fmt.Errorf("%w: the boundary of the rule does not hold at the looks of the schedule", ErrParameter)
	}
	return &Refinement{chain: b, schedule: s, rule: rule, start: b.rounds(), answers: answers}, nil
}

// rounds returns the number of steps that were measured.
func (b *Brownian) rounds() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.round
}

// Next plans the next look, or returns ErrDone.
func (r *Refinement) Next() (*Step, error) {
	looks := r.observe()
	var open []int
	for i, a := range r.answers {
		if !a.Met {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return nil, ErrDone
	}
	step, err := r.schedule.next(r.chain, r.rule, looks, open)
	if errors.Is(err, ErrCap) {
		return nil, fmt.Errorf("%w: %w", ErrDone, err)
	}
	return step, err
}

// Looks returns how often the refinement has looked.
func (r *Refinement) Looks() int { return r.chain.rounds() - r.start }

// Answers returns what is known of each coordinate.
func (r *Refinement) Answers() []Answer {
	r.observe()
	return append([]Answer(nil), r.answers...)
}

// observe brings the answers of the open coordinates to the last look, and returns
// its number.
func (r *Refinement) observe() (looks int) {
	looks = r.Looks()
	for i, e := range r.chain.Estimates() {
		if a := &r.answers[i]; !a.Met {
			*a = Answer{e, r.rule.HalfWidth(max(looks, 1), e), r.rule.Met(max(looks, 1), e)}
		}
	}
	return looks
}
