package realized

import (
	"fmt"
	"math"
)

// Scorer returns the function that computes a score of an object, whose columns are numbers, or categories by their position. The
// score must have a Range, and the numbers lie between their bounds: any other object is an error. It is not for concurrent use.
func (d *Domain) Scorer(e Expr) (func(object []float64) (float64, error), error) {
	columns, err := d.mentioned(e)
	if err != nil {
		return nil, err
	}
	t := newTape(e.node, len(columns), Question{columns: columns}.place)
	box := make([]span, len(columns))
	return func(object []float64) (float64, error) {
		if len(object) != len(d.columns) {
			return 0, fmt.Errorf("%w: an object with %d values for %d columns", ErrParameter, len(object), len(d.columns))
		}
		for i, column := range columns {
			c, x := d.columns[column], object[column]
			switch {
			case c.category() && x >= 0 && x < float64(c.Values) && x == math.Trunc(x):
				box[i] = c.part(int(x), int(x))
			case !c.category() && x >= c.Low && x <= c.High:
				box[i] = span{low: x, high: x}
			default:
				return 0, fmt.Errorf("%w: no value of column %d", ErrParameter, column)
			}
		}
		v, _ := t.enclose(box)
		return v.low + (v.high-v.low)/2, nil
	}, nil
}
