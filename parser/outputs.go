package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
)

// noisyOutputs lists the output columns with noise, by the places of aggregates.
func noisyOutputs(columns []column, places map[*pg.Node]ast.Place) (out []ast.Output) {
	calls, names := map[ast.Place]int{}, map[string]int{}
	for _, c := range columns {
		names[c.name]++
		for _, n := range c.value.of {
			calls[places[n]]++
		}
	}
	for _, c := range columns {
		v := c.value
		if !v.further && !v.chosen && v.plus == 0 && len(v.of) == 0 {
			continue
		}
		one := ast.Output{Name: c.name, Plus: v.plus, Chosen: v.chosen}
		for _, n := range v.of {
			at, ok := places[n]
			if v.further = v.further || !ok; ok {
				one.Of = append(one.Of, at)
			}
		}
		if v.further {
			one = ast.Output{Name: c.name, Plus: v.plus}
		}
		one.Titled = c.titled && len(one.Of) == 1 && one.Plus == 0 && names[c.name] == 1 && calls[one.Of[0]] == 1
		out = append(out, one)
	}
	return out
}
