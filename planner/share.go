package planner

import (
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/pgerr"
)

// A share is a part of the budget for a statistic of the statement, and the kind of noise to spend it on.
type share struct {
	kind        string
	epsilonPico int64
	rhoPico     int64
	deltaAtto   int64  // of one selection
	choices     string // the kind of the budget from which choices are paid
}

// mechanism returns the noise that costs the share, for a statistic with a sensitivity.
func (s share) mechanism(sens dp.Sensitivity) (mechanisms.Mechanism, error) {
	if s.kind == gaussian {
		return mechanisms.GaussianFor(sens, s.rhoPico)
	}
	return mechanisms.LaplaceFor(sens, s.epsilonPico)
}

// measure returns the measure of the main parameter of the share.
func (s share) measure() dp.Measure {
	if s.kind == gaussian {
		return dp.ZCDP
	}
	return dp.PureDP
}

// pico returns the main parameter of the share, in 10⁻¹².
func (s share) pico() int64 {
	if s.kind == gaussian {
		return s.rhoPico
	}
	return s.epsilonPico
}

// withPico returns a share of the same kind with another amount.
func (s share) withPico(pico int64) share {
	s.rhoPico, s.epsilonPico = pico, pico
	return s
}

// halfSquare returns ⌊ε²/2⌋ in picos: an ε-DP mechanism is (ε²/2)-zCDP (Bun and Steinke 2016, proposition 1.4). It rounds down, since it is
// an amount to spend.
func halfSquare(epsilonPico int64) int64 {
	e := big.NewInt(epsilonPico)
	e.Mul(e, e)
	return e.Quo(e, big.NewInt(2*dp.PicoPerUnit)).Int64()
}

func imprecise() error {
	return pgerr.New(pgerr.Imprecise, "the noise would be too large for any mechanism").
		WithHint("Raise dp.epsilon, or ask for fewer aggregates.")
}
