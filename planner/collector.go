package planner

import (
	"slices"

	"dpproxy/planner/scalar"
)

// A collector collects the statistics that the aggregates of a grouping set need, equal ones once.
type collector struct {
	arguments
	*aggregation
}

// add returns the index of a statistic with a norm of its own; aggregates share equal statistics.
func (c *collector) add(form statisticForm, filter scalar.Expr, at int) (int, error) {
	if c.bounds.unique {
		return c.addTo(nil, form, filter, at)
	}
	return c.addTo(&Measure{weighting: alone{}, Vectors: 1}, form, filter, at)
}

// addTo returns the index of a statistic of a measure, which is nil if each unit has one row.
func (c *collector) addTo(m *Measure, form statisticForm, filter scalar.Expr, at int) (int, error) {
	s := &statistic{statisticForm: form, filter: filter, measure: m, each: 1}
	if i := slices.IndexFunc(c.statistics, s.equal); i >= 0 {
		return i, nil
	}
	change, err := form.ofOneRow(c.bounds)
	if err != nil {
		return 0, tooWide(at)
	}
	if m == nil {
		s.sensitivity = change
	} else {
		s.each = m.weighting.each(change)
		c.join(m)
		s = s.bounding()
		m.statistics = append(m.statistics, len(c.statistics))
	}
	c.statistics = append(c.statistics, s)
	return len(c.statistics) - 1, nil
}

// join adds a measure to the set unless the set has it.
func (c *collector) join(m *Measure) {
	if !slices.Contains(c.Measures, m) {
		m.at, m.keyed = len(c.Measures), len(c.keys) > 0
		c.Measures = append(c.Measures, m)
	}
}

// weighted returns the measure of a weighting, or nil if each unit has one row.
func (c *collector) weighted(w weighting) *Measure {
	if c.bounds.unique {
		return nil
	}
	m := &Measure{weighting: w, Vectors: 1}
	if i := slices.IndexFunc(c.Measures, m.sameWeights); i >= 0 {
		return c.Measures[i]
	}
	return m
}

// countedBy returns the measure whose weights follow from the count of the values of an argument, and the index of that count. Rows are
// counted if the argument is never NULL.
func (c *collector) countedBy(x, filter scalar.Expr, at int) (*Measure, int, error) {
	form := c.countOf(x)
	var arg scalar.Expr
	if of := form.terms(); of != nil {
		arg = x
	}
	m := c.weighted(byCount{ofValues: ofValues{arg, filter}})
	i, err := c.addTo(m, form, filter, at)
	return m, i, err
}

// valueCount adds the count of the values of an argument.
func (c *collector) valueCount(x, filter scalar.Expr, at int) (int, error) {
	return c.add(c.countOf(x), filter, at)
}

// countOf returns the count of the values of an argument, or of rows if it is never NULL.
func (c *collector) countOf(x scalar.Expr) statisticForm {
	if !c.nullable(x) {
		return rowCount{}
	}
	return valueCount{arg: x}
}
