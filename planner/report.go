package planner

import (
	"math"
	"math/big"
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// reports makes the aggregate one that asks for its error, as a double.
func (a *aggregate) reports(call *ast.Aggregate) error {
	odd := a.array || isTime(a.result)
	a.report, a.result, a.array = call.Report, scalar.Builtin(oidFloat8), false
	if a.ranked() && (odd || a.report != "lower" && a.report != "upper") {
		return pgerr.New(pgerr.FeatureNotSupported, "dp.%s of %s is not supported", a.report, a.label).At(a.at).
			WithHint("MIN, MAX and percentiles have dp.lower and dp.upper, of one number; count, sum, avg, variance and stddev have all of them.")
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

// ranked reports whether an aggregate is one of the values themselves.
func (a *aggregate) ranked() bool {
	return a.kind == minimum || a.kind == maximum || a.kind == percentileCont || a.kind == percentileDisc
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

// reportText is the error of an aggregate in a row; nil is NULL.
func (o *output) reportText(p *Part, row numbers) *string {
	at := *p
	if o.level > 0 {
		at.alpha = 1 - o.level
	}
	var f float64
	switch o.report {
	case "lower":
		f, _ = at.ends(o, row)
	case "upper":
		_, f = at.ends(o, row)
	default:
		f = at.standardError(o, row)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	return &s
}

// ends are those of the interval of an output, NaN where its value is NULL.
func (p *Part) ends(o *output, row numbers) (low, high float64) {
	if !o.ranked() {
		value, half := p.signed(o, row), p.halfWidth(o, row)
		return value - half, value + half
	}
	d := o.distribution(p, row)
	var from, to int64
	if o.kind == minimum || o.kind == maximum {
		e := p.extreme(o)
		if _, ok := e.Value(d); !ok {
			return math.NaN(), math.NaN()
		}
		from, to = e.Interval(d)
	} else {
		if _, ok := d.QuantileDisc(0.5); !ok || o.fractions[0] == nil {
			return math.NaN(), math.NaN()
		}
		from, to = p.rankError(o, *o.fractions[0]).Interval(d)
	}
	step, _ := o.values.step.Float64()
	return float64(from) * step, float64(to) * step
}

// signed is the value that is shown.
func (p *Part) signed(o *output, row numbers) float64 {
	var v *big.Rat
	switch o.kind { //nolint:exhaustive // others have no report
	case averageOf:
		v = p.average(o, row).Value(row.ints[p.place(o, 0)], row.ints[p.place(o, 1)])
	case varPop, varSamp, stddevPop, stddevSamp:
		v = o.spread(p, row)
	case sumOf:
		v, _ = o.sumValue(p, row)
	default:
		v = new(big.Rat).SetInt(row.ints[p.place(o, 0)])
	}
	if v == nil {
		return math.NaN()
	}
	f, _ := v.Float64()
	return f
}

// standardError is the standard deviation of the noise in what is shown: of an average to
// first order in the noise; of a variance and its root what it would be if the interval
// were of a normal error.
func (p *Part) standardError(o *output, row numbers) float64 {
	if o.linear() {
		return p.noise(o, 0, row).StdDev() * o.unit()
	}
	if o.kind != averageOf {
		return p.halfWidth(o, row) / (math.Sqrt2 * math.Erfinv(1-p.alpha))
	}
	sum, _ := new(big.Float).SetInt(row.ints[p.place(o, 0)]).Float64()
	count, _ := new(big.Float).SetInt(row.ints[p.place(o, 1)]).Float64()
	count = math.Max(count, 1)
	unit, _ := o.bounds().Unit.Float64()
	return unit * math.Hypot(p.noise(o, 0, row).StdDev(), sum/count*p.noise(o, 1, row).StdDev()) / count
}
