package planner

import (
	"math"
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// reports says which errors of a value can be asked for.
type reports uint8

const (
	allReports reports = iota
	// endsOnly: the noise is in ranks, so that dp.lower and dp.upper alone say something.
	endsOnly
	// noReports: the value is no number.
	noReports
)

// asReport makes the aggregate one that asks for its error, as a double.
func (a *aggregate) asReport(call *ast.Aggregate) error {
	odd := a.array || a.result.Dated()
	a.report, a.result, a.array = call.Report, pgtype.Of(pgtype.Float8), false
	if a.form.reports() == endsOnly && (odd || a.report != "lower" && a.report != "upper") {
		return pgerr.New(pgerr.FeatureNotSupported, "dp.%s of %s is not supported", a.report, a.label).At(a.at).
			WithHint("MIN, MAX and percentiles have dp.lower and dp.upper, of one number; count, sum, avg, variance and stddev have all of them.")
	}
	if a.form.reports() == noReports {
		return pgerr.New(pgerr.FeatureNotSupported, "dp.%s of %s is not supported", a.report, call.Func).At(a.at).
			WithHint("Ask for the rows that decide it: count(*) FILTER (WHERE NOT x), which has an error.")
	}
	if call.Level == nil {
		return nil
	}
	c, ok := call.Level.(*ast.Const)
	if ok {
		a.level, _ = strconv.ParseFloat(c.Text, 64)
	}
	if !(a.level >= 0.5 && a.level <= 0.999999) {
		return pgerr.New(pgerr.InvalidParameterValue, "the confidence of dp.%s is a constant from 0.5 to 0.999999", a.report).At(call.Level.Pos())
	}
	return nil
}

// checkLevels refuses a confidence that a chain was not begun for: it is chosen before
// anything is measured.
func (b *block) checkLevels(s Settings) error {
	for _, a := range b.aggregates {
		if s.Target.asked() && a.level > 1-s.Alpha {
			return pgerr.New(pgerr.InvalidParameterValue, "with an error to reach, dp.%s has at most the confidence of the statement", a.report).At(a.at).
				WithHint("SET dp.confidence = %s.", strconv.FormatFloat(a.level, 'g', -1, 64))
		}
	}
	return nil
}

// text writes an output of a partition, its value or its error; nil is NULL.
func (p *GroupingSet) text(output int, row integers) *string {
	o, r := &p.outputs[output], p.observed(row)
	if o.report == "" {
		return o.text(r)
	}
	if o.level > 0 {
		r.alpha = 1 - o.level
	}
	f := o.reported(r)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	return &s
}

// reported is the error of an output.
func (o *output) reported(r observation) float64 {
	switch o.report {
	case "lower":
		low, _ := o.ends(r)
		return low
	case "upper":
		_, high := o.ends(r)
		return high
	}
	return o.standardError(r)
}
