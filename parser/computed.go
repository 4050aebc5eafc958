package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
)

// computed lists the output columns whose error is not that of one aggregate in one row of its block, by the places of aggregates.
func computed(columns []column, places map[*pg.Node]ast.Place) (out []ast.Computed) {
	for _, c := range columns {
		v := c.value
		if !v.further && !v.chosen && v.plus == 0 && len(v.of) < 2 {
			continue
		}
		one := ast.Computed{Name: c.name, Plus: v.plus, Chosen: v.chosen}
		for _, n := range v.of {
			at, ok := places[n]
			if v.further = v.further || !ok; ok {
				one.Of = append(one.Of, at)
			}
		}
		if v.further {
			one = ast.Computed{Name: c.name}
		}
		out = append(out, one)
	}
	return out
}

// titled lists the output columns that are aggregates as they were released, by names that the statement gives them. One that
// is the same as another column, or is called as another is, has none.
func titled(columns []column, places map[*pg.Node]ast.Place) (out []ast.Title) {
	calls, names := map[ast.Place]int{}, map[string]int{}
	for _, c := range columns {
		names[c.name]++
		for _, n := range c.value.of {
			calls[places[n]]++
		}
	}
	for _, c := range columns {
		v := c.value
		if !c.titled || v.further || v.plus > 0 || len(v.of) != 1 || names[c.name] > 1 {
			continue
		}
		if at, ok := places[v.of[0]]; ok && calls[at] == 1 {
			out = append(out, ast.Title{Name: c.name, Of: at})
		}
	}
	return out
}
