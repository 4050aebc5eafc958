package planner

import (
	"strings"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// A Candidate is one way to reach a target, with its price.
type Candidate struct {
	Mechanism string
	// Loss is its price under the measure of the budgets, of noise reduction at most; without a
	// measure it has no price.
	Loss dp.Loss
	// Errors are those of the values, as [Plan.ErrorsBefore] tells them. Of a way to reach a target, which all reach, they are nil.
	Errors []string
	// Note says why it is not, or cannot be, chosen, or how much it gains; it may be empty.
	Note   string
	Chosen bool

	designs [][]mechanisms.Mechanism // by grouping set and statistic
	prices  [][]int64
}

// String writes the candidate on one line.
func (c Candidate) String() string {
	s := c.Mechanism
	if c.Loss.Measure() != 0 {
		s += ": " + c.Loss.Measure().Symbol() + "=" + Number(float64(c.Loss.Pico())/dp.PicoPerUnit)
		if c.Errors == nil {
			s = strings.Replace(s, ": ", ": at most ", 1)
		}
	}
	for _, told := range c.Errors {
		s += ", " + told
	}
	if c.Note != "" {
		s += ": " + c.Note
	}
	if c.Chosen {
		s += " (chosen)"
	}
	return s
}
