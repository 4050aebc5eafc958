package planner

import (
	"math/big"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// output is one aggregate of the released relation: what it is computed from.
type output struct {
	*aggregate
	// measures are indices into the part's measures, in the order that the kind says:
	// a count or a sum; sum and count; squares, sum and count; histogram and count.
	measures []int
	// factor is what a sum of constants multiplies the count with, or nil.
	factor *big.Rat
	// fractions of percentiles; nil elements are NULL.
	fractions []*float64
	values    lattice
}

// binding builds the parts of a block for known constants.
type binding struct {
	q        *Query
	b        *block
	env      *scalar.Env
	settings Settings
	domains  domains
}

// outputs says what each aggregate is computed from, and adds what it needs to the
// measures of the part.
func (bd *binding) outputs(p *Part) ([]output, error) {
	var out []output
	for _, a := range bd.b.aggregates {
		o := output{aggregate: a}
		var err error
		switch a.kind {
		case countStar, countArg, countUnits, countDistinct:
			o.measures, err = bd.count(p, a)
		case sumOf:
			err = bd.sum(p, &o)
		case averageOf:
			err = bd.moments(p, &o, false)
		case varPop, varSamp, stddevPop, stddevSamp:
			err = bd.moments(p, &o, true)
		case minimum, maximum, percentileCont, percentileDisc:
			err = bd.tree(p, &o)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// measure returns the index of a measure in the part.
func (bd *binding) measure(p *Part, m measure, at int) (int, error) {
	for i := range p.measures {
		if p.measures[i].equal(&m) {
			return i, nil
		}
	}
	if err := p.contribution.bound(&m); err != nil {
		return 0, tooWide(at)
	}
	p.measures = append(p.measures, &measureOf{measure: m})
	return len(p.measures) - 1, nil
}

func tooWide(at int) error {
	return pgerr.New(pgerr.Imprecise, "the bounds of the values are too wide to sum").At(at).
		WithHint("Narrow them: least(greatest(x, low), high). The administrator can declare narrower bounds or a lower max_rows.")
}

func (bd *binding) count(p *Part, a *aggregate) ([]int, error) {
	m := measure{kind: countRows, filter: a.filter}
	switch a.kind { //nolint:exhaustive // called for counts
	case countUnits:
		m.kind = countUnits1
	case countDistinct:
		m.kind, m.arg = countDifferent, a.arg
	case countArg:
		if value, constant := bd.env.ConstantText(a.arg); constant && value == nil {
			return nil, pgerr.New(pgerr.NotAllowed, "count of NULL is always zero").At(a.at).
				WithHint("Use count(*).")
		}
		return bd.countOf(p, a)
	}
	if m.kind == countUnits1 && p.contribution.unique {
		m.kind = countRows // one row, one unit
	}
	i, err := bd.measure(p, m, a.at)
	return []int{i}, err
}

// countOf returns the measure that counts the values of an argument: the rows, if it
// is never NULL.
func (bd *binding) countOf(p *Part, a *aggregate) ([]int, error) {
	m := measure{kind: countValues, arg: a.arg, filter: a.filter}
	if !bd.env.Narrowed(a.arg, bd.b.source.conjuncts()).Null {
		m.kind, m.arg = countRows, nil
	}
	i, err := bd.measure(p, m, a.at)
	return []int{i}, err
}

// interval returns the bounds of an argument.
func (bd *binding) interval(a *aggregate) (scalar.Interval, error) {
	in := bd.env.Narrowed(a.arg, bd.b.source.conjuncts())
	if in.Low == nil {
		return in, noBounds(a)
	}
	return in, nil
}

// lattice returns the grid of an argument's values, of which a unit adds up some rows.
func (bd *binding) lattice(a *aggregate, in scalar.Interval, rows int64) (lattice, error) {
	digits, known := bd.env.Scale(a.arg)
	l, err := latticeOf(a.arg, digits, known, in, rows)
	if err != nil {
		return l, tooWide(a.arg.Pos())
	}
	return l, nil
}

// sum is one sum, or, of a constant, the constant times a count.
func (bd *binding) sum(p *Part, o *output) error {
	in, err := bd.interval(o.aggregate)
	if err != nil {
		return err
	}
	if in.Constant() {
		o.factor = in.Low
		o.measures, err = bd.countOf(p, o.aggregate)
		return err
	}
	if o.values, err = bd.lattice(o.aggregate, in, p.contribution.Rows); err != nil {
		return err
	}
	i, err := bd.measure(p, measure{kind: sumValues, arg: o.arg, filter: o.filter, values: o.values}, o.at)
	o.measures = []int{i}
	return err
}

// moments are the squares (if they are asked for), the centred sum and the count.
func (bd *binding) moments(p *Part, o *output, squares bool) error {
	in, err := bd.interval(o.aggregate)
	if err != nil {
		return err
	}
	if o.values, err = bd.lattice(o.aggregate, in, p.contribution.Rows); err != nil {
		return err
	}
	if squares {
		// An even range has a middle on the lattice, so that no square is rounded.
		o.values.high += (o.values.high - o.values.low) % 2
		m := measure{kind: sumSquares, arg: o.arg, filter: o.filter, values: o.values}
		m.unit = squareUnit(dp.Range{Lower: 2 * m.values.low, Upper: 2 * m.values.high})
		i, err := bd.measure(p, m, o.at)
		if err != nil {
			return err
		}
		o.measures = append(o.measures, i)
	}
	sum, err := bd.measure(p, measure{kind: sumCentred, arg: o.arg, filter: o.filter, values: o.values}, o.at)
	if err != nil {
		return err
	}
	count, err := bd.countOf(p, o.aggregate)
	o.measures = append(append(o.measures, sum), count...)
	return err
}

// Sizes of histograms: the buckets of one partition, and of all.
const (
	maxBuckets   = 4096
	minBuckets   = 64
	branching    = 16
	maxAllLeaves = 1 << 18
)

// tree is a histogram over the bounds.
func (bd *binding) tree(p *Part, o *output) error {
	in, err := bd.interval(o.aggregate)
	if err != nil {
		return err
	}
	if o.values, err = bd.lattice(o.aggregate, in, 1); err != nil { // values are counted, never added up
		return err
	}
	if o.fraction != nil {
		if o.fractions, err = bd.fractions(o.aggregate); err != nil {
			return err
		}
	}
	buckets := maxBuckets
	if p.size > 0 {
		buckets = min(maxBuckets, max(minBuckets, maxAllLeaves/p.size))
	}
	m := measure{kind: histogram, arg: o.arg, filter: o.filter, values: o.values}
	if m.shape, err = estimate.NewShape(o.values.low, o.values.high, buckets, branching); err != nil {
		return tooWide(o.at)
	}
	i, err := bd.measure(p, m, o.at)
	o.measures = []int{i}
	return err
}

// fractions reads the constants of a percentile.
func (bd *binding) fractions(a *aggregate) ([]*float64, error) {
	out, err := bd.env.Floats(a.fraction)
	if err != nil {
		return nil, err
	}
	for _, f := range out {
		if f != nil && !(*f >= 0 && *f <= 1) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "percentile value %g is not between 0 and 1", *f).At(a.fraction.Pos())
		}
	}
	return out, nil
}
