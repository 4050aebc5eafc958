package planner

import (
	"math/big"
	"slices"

	"dpproxy/pgerr"
	"dpproxy/planner/policy"
)

// Settings are those of the analyst and of the policy for one statement.
type Settings struct {
	// EpsilonPico is the most that the statement may spend, in 10⁻¹² of ε. In a budget of
	// zCDP it stands for ρ = ε²/2. With a target it may spend less, else all of it is spent.
	EpsilonPico int64
	// DeltaAtto is the most that the statement may spend on partition selection, in 10⁻¹⁸ of δ;
	// 0: nothing, so that groups must be public.
	DeltaAtto int64
	// Mechanism is one of [MechanismNames].
	Mechanism string
	// Pure says that a budget in question is of pure differential privacy, so
	// that only mechanisms with a finite ε can be used.
	Pure bool
	// Alpha is one minus the confidence of error statements.
	Alpha float64
	// MaxRows and MaxPartitions lower those of the policy; 0 does not.
	MaxRows, MaxPartitions int64
	// MaxSum bounds the addition of a unit to each sum of a group; nil does not.
	MaxSum *big.Rat
	// Contribution is how limits of contributions are found, one of [Contributions]; empty: by
	// the policy.
	Contribution string
	// LimitRetry has a limit chosen once more, with a larger share of the budget, where it leaves out too much.
	LimitRetry bool
	// ShowSmallGroups shows values of groups that may have too few rows for one, which are NULL
	// otherwise.
	ShowSmallGroups bool
	// NoIntervals says that the errors of percentiles are not asked for, so that nothing is spent on the ends of intervals.
	NoIntervals bool
	// Consistent shows counts and sums without negative cells, such that they add up.
	Consistent bool
	// Top is how the top of groups is found, one of [TopWords]; empty: auto.
	Top string
	// Target is the error that is asked for; the zero Target asks for none, so that all
	// of EpsilonPico is spent.
	Target Target
	// LeftPico is the most that noise reduction may spend, in 10⁻¹² of ρ, where that is less than EpsilonPico
	// because no more is left; 0: it may spend EpsilonPico.
	LeftPico int64
	// TypicalPico is the ε of a typical statement of the policy, in 10⁻¹²: the confidence
	// of noise reduction is tuned to it.
	TypicalPico int64
	// Mechanisms are those that the policy allows; nil allows all but recycling.
	Mechanisms []string
	// Limits bound how long the read of a block takes.
	Limits policy.Limits
	// Sample says that constants of the statement stand for others, which are not known yet: it is not for them to say that no row
	// meets the conditions.
	Sample bool
}

// Contributions are the ways to find limits of contributions that a session can ask for: a limit is
// chosen with a part of the budget, or it is a number of the policy or of the session.
func Contributions() []string { return []string{ChosenContribution, FixedContribution} }

// The words of [Contributions].
const (
	ChosenContribution = "auto"
	FixedContribution  = "fixed"
)

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
	case m == exponential && !s.allows(m):
		return pgerr.New(pgerr.InvalidParameterValue, "the policy does not allow the mechanism exponential here").
			WithHint("SET dp.mechanism = auto. dp.suggest_bounds has no other: ask the administrator.")
	case !s.allows(m):
		return pgerr.New(pgerr.InvalidParameterValue, "the policy does not allow the mechanism %s here", m).
			WithHint("SET dp.mechanism = auto.")
	case m != laplace && m != gaussian && m != exponential && !s.Target.asked():
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
