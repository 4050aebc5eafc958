package planner

import (
	"fmt"
	"strings"
)

// A Target is the error that an analyst asks for: the half-width of the interval at the confidence of the statement, of each single value.
// If both kinds of error are asked for, a value meets the target if it meets one of them.
type Target struct {
	// Error is absolute, in the unit of the value shown; 0 asks for none.
	Error float64
	// Relative is a fraction of the true value, at most 1; 0 asks for none.
	Relative float64
	// Fraction is the fraction of the groups that must meet the target, above 0 and at most 1.
	Fraction float64
}

// asked reports whether there is a target.
func (t Target) asked() bool { return t.Error > 0 || t.Relative > 0 }

// String writes the target as "± 50 or 5 %".
func (t Target) String() string {
	var kinds []string
	if t.Error > 0 {
		kinds = append(kinds, "± "+Number(t.Error))
	}
	if t.Relative > 0 {
		kinds = append(kinds, "± "+Number(100*t.Relative)+" % of the value")
	}
	s := strings.Join(kinds, " or ")
	if t.Fraction > 0 && t.Fraction < 1 {
		s += fmt.Sprintf(", in %s %% of the groups", Number(100*t.Fraction))
	}
	return s
}
