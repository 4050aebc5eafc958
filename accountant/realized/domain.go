package realized

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

var (
	// ErrParameter is wrapped by the errors for arguments that make no sense.
	ErrParameter = errors.New("realized: invalid parameter")
	// ErrUnbounded is wrapped by the errors for a score that is not a number for all objects there may be.
	ErrUnbounded = errors.New("realized: the score is not bounded")
)

const (
	// maxCategories bounds the categories of a column.
	maxCategories = 1 << 20
	// maxColumns bounds the columns of a domain.
	maxColumns = 1 << 10
	// maxNumber bounds the numbers of a computation.
	maxNumber = 1e300
)

// A Column is all that one private column of an object can hold: one of several categories, or a
// number between bounds. The policy says so, and nothing else does.
type Column struct {
	// Values is how many categories there are, at least 2; 0 stands for a number.
	Values int
	// Numbers stand for the categories in scores, in their order; without them no score may
	// mention the column.
	Numbers []float64
	// Low and High are the bounds of a number, Low < High.
	Low, High float64
}

// A Domain is all that an object can be: a value of each column.
type Domain struct{ columns []Column }

// NewDomain returns the product of columns, which scores and questions name by their position.
func NewDomain(columns ...Column) (*Domain, error) {
	if len(columns) == 0 || len(columns) > maxColumns {
		return nil, fmt.Errorf("%w: a domain of %d columns", ErrParameter, len(columns))
	}
	d := &Domain{slices.Clone(columns)}
	for i, c := range d.columns {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("column %d: %w", i, err)
		}
		d.columns[i].Numbers = slices.Clone(c.Numbers)
	}
	return d, nil
}

func (c Column) check() error {
	if c.Values == 0 {
		if !(c.Low < c.High) || !numbers(c.Low, c.High) {
			return fmt.Errorf("%w: bounds %g and %g", ErrParameter, c.Low, c.High)
		}
		return nil
	}
	if c.Values < 2 || c.Values > maxCategories {
		return fmt.Errorf("%w: %d categories", ErrParameter, c.Values)
	}
	if c.Numbers != nil && len(c.Numbers) != c.Values || !numbers(c.Numbers...) {
		return fmt.Errorf("%w: %d numbers for %d categories", ErrParameter, len(c.Numbers), c.Values)
	}
	return nil
}

// numbers reports whether all xs can be computed with.
func numbers(xs ...float64) bool {
	return !slices.ContainsFunc(xs, func(x float64) bool { return !(math.Abs(x) <= maxNumber) })
}

// category reports whether a column is categorical.
func (c Column) category() bool { return c.Values > 0 }

// A span is a part of a column: numbers between two bounds, or consecutive categories. Scores
// see its numbers.
type span struct {
	low, high   float64 // of a category: of the numbers it counts as
	first, last int     // categories
}

// whole returns all of a column.
func (c Column) whole() span {
	if !c.category() {
		return span{low: c.Low, high: c.High}
	}
	return c.part(0, c.Values-1)
}

// part returns the categories from first to last.
func (c Column) part(first, last int) span {
	s := span{first: first, last: last}
	if c.Numbers != nil {
		some := c.Numbers[first : last+1]
		s.low, s.high = slices.Min(some), slices.Max(some)
	}
	return s
}
