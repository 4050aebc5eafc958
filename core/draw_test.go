package core_test

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/core"
)

// Draw writes a term, an operator a line.
func Draw(r core.Rel) string {
	below := func(in ...core.Rel) (s string) {
		for _, r := range in {
			s += "\n  " + strings.ReplaceAll(Draw(r), "\n", "\n  ")
		}
		return s
	}
	set := func(s core.Set) string { return fmt.Sprint(slices.Collect(s.All())) }
	conds := func(list []core.Condition) (s string) {
		for _, c := range list {
			s += fmt.Sprintf(" %s %v", set(c.Cols), c.Says.Equal)
		}
		return s
	}
	switch r := r.(type) {
	case *core.Scan:
		return fmt.Sprintf("Scan %s %v row %d unit %d", r.Table, r.Cols, r.Row, r.Unit)
	case *core.Values:
		return fmt.Sprintf("Values %v row %d", r.Cols, r.Row)
	case *core.Filter:
		return "Filter" + conds(r.If) + below(r.In)
	case *core.Map:
		return fmt.Sprintf("Map %d of %s", r.Defs[0].Out, set(r.Defs[0].Cols)) + below(r.In)
	case *core.Join:
		return []string{"Inner", "Left", "Semi", "Anti"}[r.Kind] + conds(r.On) + below(r.L, r.R)
	case *core.Group:
		return fmt.Sprintf("Group %s row %d", set(r.Keys), r.Row) + below(r.In)
	case *core.Rank:
		return fmt.Sprintf("Rank %d by %s", r.Out, set(r.By)) + below(r.In)
	case *core.Union:
		return fmt.Sprintf("Union %v of %v and %v", r.Out, r.Left, r.Also) + below(r.L, r.R)
	case *core.Unnest:
		return fmt.Sprintf("Unnest %d of %s", r.Array.Out, set(r.Array.Cols)) + below(r.In)
	case *core.Cap:
		return fmt.Sprintf("Cap %d", r.Rows) + below(r.In)
	}
	return ""
}
