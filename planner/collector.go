package planner

import (
	"slices"

	"dpproxy/planner/scalar"
)

// A collector takes the statistics that the aggregates of a grouping set need, equal ones once.
type collector struct {
	arguments
	*aggregation
}

// add returns the index of a statistic, which is new or the same as one of another aggregate.
func (c *collector) add(form statisticForm, filter scalar.Expr, at int) (int, error) {
	s := &statistic{statisticForm: form, filter: filter}
	if i := slices.IndexFunc(c.statistics, s.equal); i >= 0 {
		return i, nil
	}
	var err error
	if s.sensitivity, err = form.sensitivityFor(c.contribution); err != nil {
		return 0, tooWide(at)
	}
	c.statistics = append(c.statistics, s)
	return len(c.statistics) - 1, nil
}

// valueCount returns the statistic that counts the values of an argument: the rows, if it
// is never NULL.
func (c *collector) valueCount(x, filter scalar.Expr, at int) (int, error) {
	if !c.nullable(x) {
		return c.add(rowCount{}, filter, at)
	}
	return c.add(valueCount{arg: x}, filter, at)
}
