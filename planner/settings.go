package planner

import (
	"fmt"
	"math/big"
	"slices"

	"dpproxy/pgerr"
	"dpproxy/planner/policy"
)

// Settings are the settings of the analyst and of the policy for a statement.
type Settings struct {
	// EpsilonPico is the most that the statement may spend, in 10⁻¹² of ε; in a budget of zCDP it is ρ = ε²/2. With a target the statement
	// may spend less, otherwise it spends all.
	EpsilonPico int64
	// DeltaAtto is the most that the statement may spend on partition selection, in 10⁻¹⁸ of δ. If it is 0, groups must be public.
	DeltaAtto int64
	// Mechanism is one of [MechanismNames].
	Mechanism string
	// Pure says that one of the budgets is of pure differential privacy, so that only mechanisms with a finite ε can be used.
	Pure bool
	// Alpha is one minus the confidence of statements about errors.
	Alpha float64
	// MaxRows and MaxPartitions lower the limits of the policy; 0 does not.
	MaxRows, MaxPartitions int64
	// MaxSum bounds what a unit adds to each sum of a group, in the unit of the value; nil is no bound.
	MaxSum *big.Rat
	// Contribution says how limits of contributions are found: one of [Contributions], or empty for the policy's way.
	Contribution string
	// LimitRetry chooses a limit once more, with a larger share of the budget, if the first leaves out too much.
	LimitRetry bool
	// ShowSmallGroups shows values of groups that may have too few rows for a value; otherwise they are NULL.
	ShowSmallGroups bool
	// MinimumPeople is how many people a group must have, by a released count, to be shown; 0 is no minimum.
	MinimumPeople int64
	// Judgment is the confidence at which groups are judged by a released count; 0 is [DefaultJudgment].
	Judgment float64
	// EmptyGroups says what becomes of public groups that have no row, by a released count: one of [EmptyGroupWords]; empty is show.
	EmptyGroups string
	// NoIntervals says that errors of percentiles are not asked for, so that nothing is spent on the ends of their intervals.
	NoIntervals bool
	// Consistent shows counts and sums without negative cells, and such that they add up.
	Consistent bool
	// Top says how the top groups are found: one of [TopWords]; empty is auto.
	Top string
	// Totals says when groups are measured such that their running totals are precise: one of [TotalsWords]; empty is auto.
	Totals string
	// Target is the error that is asked for. The zero Target asks for none, so that all of EpsilonPico is spent.
	Target Target
	// LeftPico, if not 0, is the most that noise reduction may spend, in 10⁻¹² of ρ, because less than EpsilonPico is left.
	LeftPico int64
	// TypicalPico is the ε of a typical statement of the policy, in 10⁻¹². Noise reduction is most efficient at that price.
	TypicalPico int64
	// Mechanisms are the mechanisms that the policy allows; nil allows all except recycling.
	Mechanisms []string
	// Limits bound the time of the read of a block.
	Limits policy.Limits
}

// Contributions are the ways to find limits of contributions that a session can ask for: a limit is chosen with a part of the budget, or is
// a number of the policy or the session.
func Contributions() []string { return []string{ChosenContribution, FixedContribution} }

// The values of [Contributions].
const (
	ChosenContribution = "auto"
	FixedContribution  = "fixed"
)

// DefaultJudgment is the confidence at which groups are judged, 1 − β, unless the policy says otherwise.
const DefaultJudgment = 0.95

// The values of dp.empty_groups.
const (
	showEmpty = "show"
	nullEmpty = "null"
	hideEmpty = "hide"
)

// EmptyGroupWords are the values of the setting dp.empty_groups.
func EmptyGroupWords() []string { return []string{showEmpty, nullEmpty, hideEmpty} }

// allows reports whether the policy allows a mechanism.
func (s Settings) allows(mechanism string) bool {
	if s.Mechanisms == nil {
		return !Recycles(mechanism)
	}
	return slices.Contains(s.Mechanisms, mechanism)
}

// checkMechanism refuses a mechanism that the policy does not allow, or that needs a target if there is none.
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

// limiting writes the settings on which limits of contributions depend.
func (s Settings) limiting() string {
	most := ""
	if s.MaxSum != nil {
		most = s.MaxSum.RatString()
	}
	return fmt.Sprintf("%s %d %d %s %t", s.Contribution, s.MaxRows, s.MaxPartitions, most, s.LimitRetry)
}
