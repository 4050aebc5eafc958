package mechanisms

import "dpproxy/dp"

// A Mode chooses one of several public values that about the most weight is of. A unit of weight w adds from 0
// to w to each, and all in one direction: at the rate ε/L its range is ε·w/L, at most ε where no
// unit has more than L.
type Mode struct {
	of scorer
}

// A scorer chooses among scores.
type scorer interface {
	Event() dp.Event
	String() string
	choice(src Source, scores []Private) (int, error)
}

// NewMode returns the choice where a unit has at most the weight limit, at ε = epsilonPico·10⁻¹²: by the
// exponential mechanism or, where pure says that its price is one of ε, by [NoisyMax], which is the better at
// the same ε.
func NewMode(limit, epsilonPico int64, pure bool) (Mode, error) {
	if pure {
		m, err := NewNoisyMax(limit, true, epsilonPico)
		return Mode{m}, err
	}
	e, err := NewExponential(limit, true, epsilonPico)
	return Mode{e}, err
}

func (e Exponential) choice(src Source, scores []Private) (int, error) {
	return e.Select(src, nil, scores)
}
func (m NoisyMax) choice(src Source, scores []Private) (int, error) { return m.Select(src, scores) }

// Event describes one choice, for a pricer.
func (m Mode) Event() dp.Event { return m.of.Event() }

// String writes the mechanism for plans.
func (m Mode) String() string { return m.of.String() }

// Choose draws the index of a value, which a client may see, of values with these weights. The caller
// must have charged Event, durably, before. An error says that there are none.
func (m Mode) Choose(src Source, weights []Private) (int, error) { return m.of.choice(src, weights) }
