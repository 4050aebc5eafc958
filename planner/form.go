package planner

import (
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A form is a resolved aggregate function with its arguments: an aggregate as a value. All that
// sets one aggregate apart from the others is in its form and the estimator that it becomes.
type form interface {
	// resultType is the type that Postgres gives the value, and whether it is an array of it.
	resultType() (t pgtype.Type, array bool)
	// reports says which errors of the value can be asked for.
	reports() reports
	// overRows are the expressions that are computed for each row.
	overRows() []scalar.Expr
	// specialize adds the statistics that the value is computed from, for known constants.
	specialize(c *collector) (estimator, error)
}

// reports says which errors of a value can be asked for.
type reports uint8

const (
	allReports reports = iota
	// endsOnly: the noise is in ranks, so that dp.lower and dp.upper alone say something.
	endsOnly
	// noReports: the value is no number.
	noReports
)

// An overRow is the common part of most forms: an argument that is computed for each row, nil for none,
// and a filter, nil for none.
type overRow struct {
	arg, filter scalar.Expr
	at          int
}

func (f overRow) overRows() []scalar.Expr { return []scalar.Expr{f.arg, f.filter} }

// A function resolves calls of one aggregate function.
type function func(*call) (form, error)
