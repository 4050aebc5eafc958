package sqlgen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// derived writes bounds of expressions over a table that statements compute: products of its numbers, and days since one. They are
// narrower than rows are.
func (t *table) derived() string {
	var numbers []string
	list := map[string]string{}
	for _, c := range t.columns {
		switch {
		case !c.bounded():
		case c.kind == date:
			list["since "+c.name] = fmt.Sprintf("%s - date '2020-01-01'", c.name)
		case slices.Contains([]kind{integer, decimal, float}, c.kind):
			numbers = append(numbers, c.name)
			for _, other := range numbers {
				list[other+" times "+c.name] = other + " * " + c.name
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("    derived:\n")
	for _, name := range slices.Sorted(maps.Keys(list)) {
		fmt.Fprintf(&b, "      %q: {is: %q, bounds: [1, 30]}\n", name, list[name])
	}
	return b.String()
}
