package planner

import (
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// An aggregate is an aggregate call of a block, resolved. form.specialize decides its statistics, when constants have values.
type aggregate struct {
	form   form
	filter scalar.Expr // FILTER; nil without
	result pgtype.Type // of a cell: the type of the form, or float8 for an error
	// array says that a cell is an array of the result type.
	array bool
	// report names the error that is asked for, and is empty if the value is. level is the confidence of the error; 0 is the confidence of
	// the statement.
	report string
	level  float64
	// silent says that no error of the value is known, so that the report is NULL.
	silent bool
	// shares are the shares of the budget that each of its statistics gets, in millionths.
	shares int64
	call   string // as the analyst would write it
	label  string // for EXPLAIN and notices: the call, or, if that is abridged, the name of its output column if it has one
	at     int
	// abridged says that the call is written without a condition, or without an expression in it.
	abridged bool
}

// functions has the aggregates by name.
var functions = map[string]function{
	"count":           newCount,
	"sum":             newSum,
	"avg":             newAverage,
	"var_pop":         spreads(spreadOf{}),
	"var_samp":        spreads(spreadOf{sample: true}),
	"variance":        spreads(spreadOf{sample: true}),
	"stddev_pop":      spreads(spreadOf{root: true}),
	"stddev_samp":     spreads(spreadOf{sample: true, root: true}),
	"stddev":          spreads(spreadOf{sample: true, root: true}),
	"bool_and":        bools(false),
	"every":           bools(false),
	"bool_or":         bools(true),
	"covar_pop":       pairs(covarPop),
	"covar_samp":      pairs(covarSamp),
	"corr":            pairs(corr),
	"regr_slope":      pairs(regrSlope),
	"regr_intercept":  pairs(regrIntercept),
	"regr_r2":         pairs(regrR2),
	"regr_count":      newPairCount,
	"regr_avgx":       pairAverages(true),
	"regr_avgy":       pairAverages(false),
	"min":             extremes(true),
	"max":             extremes(false),
	"percentile_cont": percentiles(false),
	"percentile_disc": percentiles(true),
	"mode":            newMode,
}

func newAggregate(r *scalar.Resolver, rows *source.Rows, a *ast.Aggregate) (*aggregate, error) {
	resolve, ok := functions[a.Func]
	if !ok {
		return nil, pgerr.New(pgerr.NotAllowed, "the aggregate %s is not supported on protected data", a.Func).At(a.At).
			WithHint(aggregatesHint)
	}
	a = conditional(a)
	c := &call{Aggregate: a, resolver: r, rows: rows}
	var err error
	if a.Filter != nil {
		if c.filter, err = r.Boolean(a.Filter); err != nil {
			return nil, err
		}
	}
	out := &aggregate{at: a.At, shares: oneShare}
	if a.Weight != nil {
		if out.shares, err = sharesOf(a.Weight); err != nil {
			return nil, err
		}
	}
	if out.form, err = resolve(c); err != nil {
		return nil, err
	}
	out.filter = c.filter
	out.result, out.array = out.form.resultType()
	out.call, out.abridged = c.label()
	out.label = out.call
	if a.Report == "" {
		return out, nil
	}
	return out, out.asReport(a)
}

// asReport makes the aggregate ask for an error of its value, as a float8.
func (a *aggregate) asReport(call *ast.Aggregate) error {
	odd := a.array || a.result.Dated()
	a.report, a.result, a.array = call.Report, pgtype.Of(pgtype.Float8), false
	if a.report == "error" {
		known := a.form.reports()
		a.silent = known == noReports || known == endsOnly && odd
		return a.confident(call.Level)
	}
	if a.asksCut() {
		return a.confident(call.Level)
	}
	if a.form.reports() == endsOnly && (odd || a.report != "lower" && a.report != "upper") {
		return pgerr.New(pgerr.FeatureNotSupported, "dp.%s of %s is not supported", a.report, a.label).At(a.at).
			WithHint("MIN, MAX and percentiles have dp.lower and dp.upper, of one number; " +
				"count, sum, avg, variance and stddev have all of them.")
	}
	if _, ok := a.form.(modeOf); ok {
		return pgerr.New(pgerr.FeatureNotSupported, "dp.%s of %s is not supported", a.report, call.Func).At(a.at).
			WithHint("The notice says by how many rows the value may be less frequent than another. count(*) by x has an error.")
	}
	if a.form.reports() == noReports {
		return pgerr.New(pgerr.FeatureNotSupported, "dp.%s of %s is not supported", a.report, call.Func).At(a.at).
			WithHint("Ask for the rows that decide it: count(*) FILTER (WHERE NOT x), which has an error.")
	}
	return a.confident(call.Level)
}

// asksCut reports whether the aggregate asks for the number of units that limits cut. Every aggregate has such a number.
func (a *aggregate) asksCut() bool { return a.report == "cut" || a.report == "cut_upper" }

// confident reads the confidence of a call; nil is the confidence of the statement.
func (a *aggregate) confident(level ast.Expr) error {
	if level == nil {
		return nil
	}
	c, ok := level.(*ast.Const)
	if ok {
		a.level, _ = strconv.ParseFloat(c.Text, 64)
	}
	if !(a.level >= 0.5 && a.level <= 0.999999) {
		return pgerr.New(pgerr.InvalidParameterValue, "the confidence of dp.%s is a constant from 0.5 to 0.999999", a.report).
			At(level.Pos())
	}
	return nil
}
