package planner

import (
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A form is a resolved aggregate function with its arguments. All differences between aggregates are in their forms and in the estimators
// that these become.
type form interface {
	// resultType returns the type of the value in Postgres, and whether the value is an array of it.
	resultType() (t pgtype.Type, array bool)
	// reports says which errors of the value can be asked for.
	reports() reports
	// overRows are the expressions that are computed for each row.
	overRows() []scalar.Expr
	// specialize adds the statistics from which the value is computed, for known constants.
	specialize(c *collector) (estimator, error)
}

// reports says which errors of a value can be asked for.
type reports uint8

const (
	allReports reports = iota
	// endsOnly: the noise is in ranks, so only dp.lower and dp.upper are meaningful.
	endsOnly
	// noReports: the value is not a number.
	noReports
)

// An overRow is the common part of most forms: an argument that is computed for each row, and a filter; either can be nil.
type overRow struct {
	arg, filter scalar.Expr
	at          int
}

func (f overRow) overRows() []scalar.Expr { return []scalar.Expr{f.arg, f.filter} }

// A function resolves calls of an aggregate function.
type function func(*call) (form, error)
