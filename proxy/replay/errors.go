package replay

import (
	"encoding/json"
	"math"
	"slices"
)

// Bars are the error of a value as numbers in JSON, in the order of the sides of [parser.Side]: the ends of its interval by their distances
// from it. null is unknown.
type bars [4]*float64

// ErrorsOf writes the errors of a column as an object in JSON, by the keys of rows; "" if there are none. Of rows that nothing tells apart
// each has the largest error.
func (a Account) ErrorsOf(column string) string {
	at := slices.IndexFunc(a.Columns, func(c Column) bool { return c.Name == column })
	if at < 0 {
		return ""
	}
	all := map[string][4]float64{}
	for i, c := range a.Columns[at].Cells {
		key := a.Columns[at].Keys[i]
		of := all[key]
		all[key] = [4]float64{
			max(of[0], c.Value-c.Low), max(of[1], c.High-c.Value), max(of[2], c.StdDev), max(of[3], c.Half()),
		}
	}
	written := map[string]bars{}
	for key, sides := range all {
		written[key] = bars{Known(sides[0]), Known(sides[1]), Known(sides[2]), Known(sides[3])}
	}
	text, err := json.Marshal(written)
	if err != nil || len(written) == 0 {
		return ""
	}
	return string(text)
}

// Known is a number, nil if it is none or infinite.
func Known(f float64) *float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil
	}
	return &f
}
