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
//		measurements, err := step.Measure(src)
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
// not met it by the end is the best that the cap allows. If the chain remembers
// measurements of another read, all of that holds only if the exact value was the
// same then: [Brownian.Remember] says what the caller ties them to.
type Answer struct {
	Estimate

	HalfWidth float64
	Met       bool
}

// NewRefinement returns the refinement of a chain until each coordinate meets the
// rule. The rule's boundary must hold at the looks of the schedule, as that of
// [Schedule.Boundary] does. A chain that knows something, or was refined before, can
// only be refined within the [Anytime] that had been chosen before all that it
// knows, with the same parameters: whether, when and how far to go on depends on
// what was seen, and so would every other boundary. The chain remembers nothing
// more from now on.
func NewRefinement(b *Brownian, s Schedule, rule Rule) (*Refinement, error) {
	if b == nil || s == nil || rule == nil {
		return nil, fmt.Errorf("%w: a refinement without a chain, a schedule or a rule", ErrParameter)
	}
	if !s.holds(rule.Within()) {
		return nil, fmt.Errorf("%w: the boundary of the rule does not hold at the looks of the schedule", ErrParameter)
	}
	if err := b.refine(rule.Within()); err != nil {
		return nil, err
	}
	estimates := b.Estimates()
	answers := make([]Answer, len(estimates))
	for i, e := range estimates {
		answers[i].Estimate = e
		answers[i].HalfWidth = math.Inf(1)
	}
	return &Refinement{chain: b, schedule: s, rule: rule, start: b.rounds(), answers: answers}, nil
}

// A history is what a chain, or those whose measurements it remembers, did before.
type history struct {
	known  bool     // something was measured
	within *Anytime // the boundary that was chosen before, if there is one for all
}

// begun reports whether it is too late to choose a boundary.
func (h history) begun() bool { return h.known || h.within != nil }

// learn notes a measurement within a boundary, or none.
func (h *history) learn(within *Anytime) {
	switch {
	case !h.known:
		*h = history{true, history{within: within}.boundary()}
	case h.within == nil || within == nil || !h.within.equal(*within):
		h.within = nil
	}
}

// boundary returns a copy of the boundary, or nil.
func (h history) boundary() *Anytime {
	if h.within == nil {
		return nil
	}
	own := *h.within
	return &own
}

// chosen returns the boundary, which must have been chosen for beta.
func (h history) chosen(beta float64) (Boundary, error) {
	if h.within == nil || h.within.beta != beta {
		return nil, fmt.Errorf("%w: no boundary for an error probability of %v was chosen before the first measurement", ErrParameter, beta)
	}
	return *h.within, nil
}

// past returns the chain's history.
func (b *Brownian) past() history {
	b.mu.Lock()
	defer b.mu.Unlock()
	return history{b.history.known, b.history.boundary()}
}

// refine takes the chain into a refinement within a boundary.
func (b *Brownian) refine(within Boundary) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	always, anytime := within.(Anytime)
	if anytime && !always.valid() {
		return fmt.Errorf("%w: a boundary that NewAnytime did not make", ErrParameter)
	}
	if b.history.begun() || b.refined {
		if !anytime || b.history.within == nil || !b.history.within.equal(always) {
			return fmt.Errorf("%w: the boundary was not chosen before the first measurement", ErrParameter)
		}
	}
	if anytime {
		b.history.within = &always
	}
	_, b.fixed = within.(Looks)
	b.refined = true
	return nil
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
	if err != nil {
		return nil, err
	}
	step.scheduled = true
	return step, nil
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
