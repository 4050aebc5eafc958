package replay

import (
	"encoding/json"
	"math"
	"slices"
)

// Bars are the error of a value as numbers in JSON, in the order of the sides of [parser.Side]; null is unknown.
type bars [4]*float64

// ErrorsOf writes the errors of a column as an object in JSON, by the keys of rows; "" if there are none. Of rows that nothing tells apart
// each has the largest error.
func (a Account) ErrorsOf(column string) string {
	at := slices.IndexFunc(a.Columns, func(c Column) bool { return c.Name == column })
	if at < 0 {
		return ""
	}
	all := map[string]Cell{}
	for i, c := range a.Columns[at].Cells {
		key := a.Columns[at].Keys[i]
		if of, ok := all[key]; ok {
			c.Low, c.High, c.StdDev = min(c.Low, of.Low), max(c.High, of.High), max(c.StdDev, of.StdDev)
		}
		all[key] = c
	}
	written := map[string]bars{}
	for key, c := range all {
		written[key] = bars{known(c.Low), known(c.High), known(c.StdDev), known(c.Half())}
	}
	text, err := json.Marshal(written)
	if err != nil || len(written) == 0 {
		return ""
	}
	return string(text)
}

func known(f float64) *float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil
	}
	return &f
}
