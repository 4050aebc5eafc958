package planner

import (
	"slices"

	"dpproxy/pgerr"
)

// A Target is the error that an analyst asks for: the half-width of the interval at the
// confidence of the statement, of each value that is shown by itself. Where both kinds are
// asked for, a value meets the target when it meets one of them.
type Target struct {
	// Error is absolute, in the unit of the value shown; 0 asks for none.
	Error float64
	// Relative is a part of the true value, at most 1; 0 asks for none.
	Relative float64
	// Fraction is the share of the groups that must meet the target, above 0 and at
	// most 1.
	Fraction float64
}

// asked reports whether there is a target.
func (t Target) asked() bool { return t.Error > 0 || t.Relative > 0 }

// Names of the mechanisms in settings and plans.
const (
	auto             = "auto"
	laplace          = "laplace"
	gaussian         = "gaussian"
	brownian         = "brownian"
	laplaceReduction = "laplace_reduction"
	brdpLaplace      = "brdp_laplace"
	brdpGaussian     = "brdp_gaussian"
)

// MechanismNames are the values of the setting dp.mechanism: auto and all mechanisms.
func MechanismNames() []string { return append([]string{auto}, Mechanisms()...) }

// Mechanisms are the names of all mechanisms, as a policy allows them.
func Mechanisms() []string {
	return []string{laplace, gaussian, brownian, laplaceReduction, brdpLaplace, brdpGaussian}
}

// Recycles reports whether a mechanism draws noise anew that is out of its bounds.
func Recycles(mechanism string) bool { return mechanism == brdpLaplace || mechanism == brdpGaussian }

// kernel is the noise that a recycling mechanism draws from, "" for another one.
func kernel(mechanism string) string {
	return map[string]string{brdpLaplace: laplace, brdpGaussian: gaussian}[mechanism]
}

// allows reports whether the policy allows a mechanism.
func (s Settings) allows(mechanism string) bool {
	if s.Mechanisms == nil {
		return !Recycles(mechanism)
	}
	return slices.Contains(s.Mechanisms, mechanism)
}

// checkMechanism refuses a mechanism that the policy does not allow, or that needs a
// target and has none.
func (s Settings) checkMechanism() error {
	switch m := s.Mechanism; {
	case m == auto:
	case !s.allows(m):
		return pgerr.New(pgerr.InvalidParameterValue, "the policy does not allow the mechanism %s here", m).
			WithHint("SET dp.mechanism = auto.")
	case m != laplace && m != gaussian && !s.Target.asked():
		return pgerr.New(pgerr.InvalidParameterValue, "the mechanism %s needs an error to reach", m).
			WithHint("SET dp.error or dp.relative_error, or dp.mechanism = auto.")
	case m != brownian && m != laplaceReduction && s.Target.asked() && s.Target.Error == 0:
		return noSeveralRounds(m)
	}
	return nil
}

// noSeveralRounds refuses a mechanism of one round for a relative error.
func noSeveralRounds(mechanism string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "the mechanism %s cannot reach a relative error: that needs several looks", mechanism).
		WithHint("SET dp.mechanism = auto.")
}
