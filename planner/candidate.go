package planner

import (
	"strings"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// A Candidate is a way to reach a target error, with its price.
type Candidate struct {
	Mechanism string
	// Loss is the price in the measure of the budgets, for noise reduction the largest price. A Loss without a measure is no price.
	Loss dp.Loss
	// Errors are the errors of the values, as in [Plan.ErrorsBefore]. They are nil for noise reduction, which reaches the target itself.
	Errors []string
	// Note says why the candidate is not or cannot be chosen, or its advantage; it may be empty.
	Note   string
	Chosen bool

	designs [][]mechanisms.Mechanism // by grouping set and statistic
	prices  [][]int64
}

// told writes the candidate on one line, with its price as it is written by a function.
func (c Candidate) told(priced func(dp.Loss) string) string {
	s := c.Mechanism
	if c.Loss.Measure() != 0 {
		s += ": " + priced(c.Loss)
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
