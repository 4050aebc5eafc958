package planner

import (
	"math"
	"math/big"
	"strconv"
	"time"

	"dpproxy/estimate"
	"dpproxy/planner/scalar"
)

// text computes one aggregate from the released integers of a partition; nil is NULL.
func (o *output) text(p *Part, row numbers) *string {
	if o.report != "" {
		return o.reportText(p, row)
	}
	var v *big.Rat
	digits := o.values.digits
	switch o.kind {
	case countStar, countArg, countUnits, countDistinct:
		s := clampInt64(row.ints[p.place(o, 0)]).String()
		return &s
	case sumOf:
		v, digits = o.sumValue(p, row)
	case averageOf:
		v, digits = p.average(o, row).Value(row.ints[p.place(o, 0)], row.ints[p.place(o, 1)]), digits+6
	case varPop, varSamp, stddevPop, stddevSamp:
		v, digits = o.spread(p, row), 2*digits+6
	case minimum, maximum, percentileCont, percentileDisc:
		return o.rank(p, row)
	}
	if v == nil {
		return nil
	}
	s := numberText(v, o.result.OID, digits)
	return &s
}

// place returns where measure i of an output is among the integers of a partition.
func (p *Part) place(o *output, i int) int { return p.measures[o.measures[i]].first }

func (o *output) sumValue(p *Part, row numbers) (*big.Rat, int) {
	n := new(big.Rat).SetInt(row.ints[p.place(o, 0)])
	if o.factor == nil {
		return n.Mul(n, o.values.step), o.values.digits
	}
	digits := 0
	for f := new(big.Rat).Set(o.factor); !f.IsInt() && digits < maxDigits; digits++ {
		f.Mul(f, big.NewRat(10, 1))
	}
	return n.Mul(n, o.factor), digits
}

// bounds returns what is public about the values of an average.
func (o *output) bounds() estimate.Values {
	return estimate.Values{
		Low: o.values.value(o.values.low), High: o.values.value(o.values.high),
		Unit: new(big.Rat).Mul(o.values.step, big.NewRat(1, 2)),
	}
}

// noise returns what is known of the noise of measure i: by the mechanism, or by the chain
// that ended in the row.
func (p *Part) noise(o *output, i int, row numbers) estimate.Noise {
	if row.margins != nil {
		return row.margins[p.place(o, i)]
	}
	return p.measures[o.measures[i]].levels[0]
}

func (p *Part) average(o *output, row numbers) estimate.Average {
	return must(estimate.NewAverage(o.bounds(), p.noise(o, 0, row), p.noise(o, 1, row), p.alpha))
}

func (p *Part) variance(o *output, row numbers) estimate.Variance {
	m := p.measures[o.measures[0]]
	unit := o.bounds().Unit
	square := new(big.Rat).Mul(unit, unit)
	s := estimate.Squares{Unit: square.Mul(square, new(big.Rat).SetInt64(m.unit)), Rounding: new(big.Rat)}
	if m.unit > 1 { // rounding down, and the offset
		s.Rounding = new(big.Rat).Mul(s.Unit, big.NewRat(2, 1))
	}
	noise := estimate.MomentNoise{Squares: p.noise(o, 0, row), Sum: p.noise(o, 1, row), Count: p.noise(o, 2, row)}
	return must(estimate.NewVariance(o.bounds(), s, noise, p.alpha))
}

// must returns an estimator: what the planner describes always has one.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err) //nolint:forbidigo // what is wrong was decided before the charge
	}
	return v
}

func (o *output) moments(p *Part, row numbers) estimate.Moments {
	return estimate.Moments{Squares: row.ints[p.place(o, 0)], Sum: row.ints[p.place(o, 1)], Count: row.ints[p.place(o, 2)]}
}

// spread is a variance or standard deviation, nil for the sample of one row.
func (o *output) spread(p *Part, row numbers) *big.Rat {
	v := p.variance(o, row)
	x := v.Population(o.moments(p, row))
	if o.kind == varSamp || o.kind == stddevSamp {
		var ok bool
		if x, ok = v.Sample(o.moments(p, row)); !ok {
			return nil
		}
	}
	if o.kind == stddevPop || o.kind == stddevSamp {
		return estimate.Sqrt(x)
	}
	return x
}

// tree returns the estimator of quantiles.
func (p *Part) tree(o *output) *estimate.Tree {
	m := p.measures[o.measures[0]]
	noise := make([]estimate.Noise, len(m.levels))
	for i, l := range m.levels {
		noise[i] = l
	}
	return must(estimate.NewTree(m.shape, noise, nil))
}

func (o *output) distribution(p *Part, row numbers) *estimate.Distribution {
	m := p.measures[o.measures[0]]
	var counts [][]*big.Int
	at := m.first
	for level := range m.shape.Levels() {
		n := m.shape.Nodes(level)
		counts = append(counts, row.ints[at:at+n])
		at += n
	}
	return must(p.tree(o).Fit(counts, nil))
}

// rank is MIN, MAX or percentiles.
func (o *output) rank(p *Part, row numbers) *string {
	d := o.distribution(p, row)
	switch o.kind { //nolint:exhaustive // percentiles follow
	case minimum, maximum:
		x, ok := p.extreme(o).Value(d)
		if !ok {
			return nil
		}
		return o.valueText(new(big.Rat).SetInt64(x))
	}
	cells := make([]*string, len(o.fractions))
	for i, f := range o.fractions {
		if f != nil {
			cells[i] = o.quantile(d, *f)
		}
	}
	if !o.array {
		return cells[0]
	}
	s := ArrayText(cells)
	return &s
}

func (o *output) quantile(d *estimate.Distribution, q float64) *string {
	if o.descending {
		q = 1 - q
	}
	if o.kind == percentileDisc {
		if x, ok := d.QuantileDisc(q); ok {
			return o.valueText(new(big.Rat).SetInt64(x))
		}
		return nil
	}
	if x, ok := d.Quantile(q); ok {
		return o.valueText(x)
	}
	return nil
}

// valueText writes a value given in steps of the lattice.
func (o *output) valueText(x *big.Rat) *string {
	var s string
	switch o.result.Family() { //nolint:exhaustive // numbers follow
	case scalar.DateFamily, scalar.InstantFamily:
		n, _ := toInt64(floorRat(x))
		s = timeOf(o.result, n)
	case scalar.IntFamily:
		s = floorRat(x).String()
	default:
		s = numberText(new(big.Rat).Mul(x, o.values.step), o.result.OID, o.values.digits)
	}
	return &s
}

// numberText writes a number as a type's input takes it.
func numberText(v *big.Rat, oid uint32, digits int) string {
	switch oid {
	case oidInt8:
		return clampInt64(floorRat(new(big.Rat).Add(v, big.NewRat(1, 2)))).String()
	case oidFloat4:
		f, _ := v.Float32()
		f = min(max(f, -math.MaxFloat32), math.MaxFloat32)
		return strconv.FormatFloat(float64(f), 'g', -1, 32)
	case oidFloat8:
		f, _ := v.Float64()
		f = min(max(f, -math.MaxFloat64), math.MaxFloat64)
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return v.FloatString(digits)
}

func clampInt64(n *big.Int) *big.Int {
	if n.IsInt64() {
		return n
	}
	if n.Sign() < 0 {
		return big.NewInt(math.MinInt64)
	}
	return big.NewInt(math.MaxInt64)
}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// timeOf writes a number of days or microseconds since 2000 as a date or timestamp.
func timeOf(t scalar.Type, n int64) string {
	if t.OID == oidDate {
		return epoch.AddDate(0, 0, int(n)).Format(time.DateOnly)
	}
	const day = 86_400_000_000
	at := epoch.AddDate(0, 0, int(n/day)).Add(time.Duration(n%day) * time.Microsecond) // a Duration has 292 years
	s := at.Format("2006-01-02 15:04:05.999999")
	if t.OID == oidTimestamptz {
		s += "+00"
	}
	return s
}

// timeText writes it as a constant of the type.
func timeText(t scalar.Type, n int64) string {
	return "CAST('" + timeOf(t, n) + "' AS " + t.SQL() + ")"
}
