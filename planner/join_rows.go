package planner

import (
	"errors"
	"slices"

	"dpproxy/pgerr"
	"dpproxy/planner/source"
)

// leastJoinRows is how many rows of a unit a join takes at least, where that is not stated.
const leastJoinRows = 15

func tooMuchWork(err error) bool {
	e, ok := errors.AsType[*pgerr.Error](err)
	return ok && (e.Code == pgerr.StatementTooComplex || e.Code == pgerr.ProgramLimitExceeded)
}

// takesJoinRows reports whether the number of rows that joins take of a unit matters.
func (q *Query) takesJoinRows() bool {
	return slices.ContainsFunc(q.blocks, func(b *block) bool {
		return slices.ContainsFunc(b.source.Cuts(), func(c source.Cut) bool {
			return c.Elements || !c.Grouped && c.Rows >= q.cat.JoinRows()
		})
	})
}
