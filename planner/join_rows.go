package planner

import (
	"errors"
	"slices"

	"dpproxy/pgerr"
	"dpproxy/planner/source"
)

// leastJoinRows is the smallest number of rows of a unit that a join takes if none is stated.
const leastJoinRows = 15

func tooMuchWork(err error) bool {
	e, ok := errors.AsType[*pgerr.Error](err)
	return ok && (e.Code == pgerr.StatementTooComplex || e.Code == pgerr.ProgramLimitExceeded)
}

// takesJoinRows reports whether the default number of rows that joins take of a unit matters.
func (q *Query) takesJoinRows() bool {
	return slices.ContainsFunc(q.blocks, func(b *block) bool {
		return slices.ContainsFunc(b.source.Cuts(), func(c source.Cut) bool {
			return c.Elements || !c.Grouped && c.Rows >= q.cat.JoinRows()
		})
	})
}
