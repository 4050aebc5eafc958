package planner

import "math"

// An ErrorBar is the error of one aggregate at the plan's confidence, for each row
// of the released relation alone.
type ErrorBar struct {
	Label string // e.g. "avg(cost)"
	// Least and Most are the half-widths of the narrowest and the widest interval
	// over the rows, in units of the value (days or seconds of times). They are negative
	// where they are known with the answer only, or not at all.
	Least, Most float64
}

// String writes the error as "count(*) ± 20" or "avg(cost) ± 2.5 to 31".
func (e ErrorBar) String() string {
	if e.Least < 0 {
		return e.Label + " within bounds"
	}
	s := e.Label + " ± " + Number(e.Least)
	if most := Number(e.Most); most != Number(e.Least) {
		s += " to " + most
	}
	return s
}

// Errors returns the error of each aggregate, over all parts. Released is what was
// released, or nil for a plan that was not run. Clamping bias is not part of it.
func (b *BlockPlan) Errors(released []*Released) []ErrorBar {
	var bars []ErrorBar
	for i, a := range b.block.aggregates {
		if a.report != "" {
			continue
		}
		var bar ErrorBar
		for j, p := range b.Parts {
			var rows []numbers
			if released != nil {
				rows = released[j].numbers()
			}
			one := p.errorBar(&p.outputs[i], rows)
			if j == 0 {
				bar = one
				continue
			}
			bar.Least, bar.Most = min(bar.Least, one.Least), max(bar.Most, one.Most)
		}
		bars = append(bars, bar)
	}
	return bars
}

// errorBar is the error of one output of the part.
func (p *Part) errorBar(o *output, rows []numbers) ErrorBar {
	bar := ErrorBar{Label: o.label, Least: -1, Most: -1}
	switch {
	case o.linear() && p.Chain == nil:
		bar.Least = p.halfWidth(o, numbers{})
		bar.Most = bar.Least
	default:
		for i, row := range rows {
			half := p.halfWidth(o, row)
			if i == 0 {
				bar.Least = half
			}
			bar.Least, bar.Most = min(bar.Least, half), max(bar.Most, half)
		}
	}
	return bar
}

// linear reports whether an aggregate is a number that is released times a constant, so
// that its error does not depend on the answer.
func (o *output) linear() bool {
	switch o.kind {
	case countStar, countArg, countUnits, countDistinct, sumOf:
		return true
	case averageOf, varPop, varSamp, stddevPop, stddevSamp, minimum, maximum, percentileCont, percentileDisc:
	}
	return false
}

// unit is what one of the released number of a linear aggregate stands for.
func (o *output) unit() float64 {
	step := o.values.step
	switch {
	case o.kind != sumOf:
		return 1
	case o.factor != nil:
		step = o.factor
	}
	f, _ := step.Float64()
	return math.Abs(f)
}

// halfWidth is the largest distance of an answer from the ends of its interval.
func (p *Part) halfWidth(o *output, row numbers) float64 {
	if o.linear() {
		return p.noise(o, 0, row).Quantile(p.alpha) * o.unit()
	}
	switch o.kind { //nolint:exhaustive // the others are linear, or quantiles
	case averageOf:
		a, sum, count := p.average(o, row), row.ints[p.place(o, 0)], row.ints[p.place(o, 1)]
		return a.Interval(sum, count).Radius(a.Value(sum, count))
	case varPop, stddevPop, varSamp, stddevSamp:
		return p.spreadError(o, row)
	case minimum, maximum:
		e, d := p.extreme(o), o.distribution(p, row)
		x, ok := e.Value(d)
		low, high := e.Interval(d)
		return p.distance(o, x, ok, low, high)
	}
	return p.quantileError(o, row)
}

func (p *Part) spreadError(o *output, row numbers) float64 {
	v, m := p.variance(o, row), o.moments(p, row)
	x := o.spread(p, row)
	in := v.PopulationInterval(m)
	if o.kind == varSamp || o.kind == stddevSamp {
		in = v.SampleInterval(m)
	}
	if o.kind == stddevPop || o.kind == stddevSamp {
		in = in.Sqrt()
	}
	if x == nil {
		x = in.Lower
	}
	return in.Radius(x)
}

// quantileError is the widest error of the fractions.
func (p *Part) quantileError(o *output, row numbers) float64 {
	d, widest := o.distribution(p, row), 0.0
	for _, f := range o.fractions {
		if f == nil {
			continue
		}
		q := *f
		if o.descending {
			q = 1 - q
		}
		low, high := p.rankError(o, *f).Interval(d)
		x, ok := d.QuantileDisc(q)
		widest = max(widest, p.distance(o, x, ok, low, high))
	}
	return widest
}

// distance is how far an interval of lattice integers reaches from a value in it.
func (p *Part) distance(o *output, x int64, ok bool, low, high int64) float64 {
	if !ok {
		x = low
	}
	step, _ := o.values.step.Float64()
	if t := o.result; isTime(t) && t.OID != oidDate {
		step = 1e-6 // in seconds
	}
	return max(float64(high)-float64(x), float64(x)-float64(low)) * step
}
