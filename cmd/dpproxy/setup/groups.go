package setup

import (
	"errors"
	"fmt"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// groups says which groups GROUP BY each open column of a table makes, in a line for each kind of groups. The planner tells it of
// the statement that an analyst would write, so that it follows from the policy and the schema alone.
func (e effects) groups(t *policy.Table) (lines []string) {
	var public, private, reasons []string
	refused, s := map[string][]string{}, e.settings(t.Name)
	s.MaxRows, s.MaxPartitions = 1, 1 // which groups there are does not depend on the limit that is chosen, which takes time
	for _, k := range keysOf(t) {
		plan, err := e.plan(t.Name, "count(*)", " GROUP BY "+k.sql, s)
		if err != nil {
			why := err.Error()
			if refusal, ok := errors.AsType[*pgerr.Error](err); ok {
				why = refusal.Message
			}
			if refused[why] == nil {
				reasons = append(reasons, why)
			}
			refused[why] = append(refused[why], k.name)
			continue
		}
		if n, known := planner.PublicGroups(plan); known {
			public = append(public, fmt.Sprintf("%s %d", k.name, n))
		} else {
			private = append(private, k.name)
		}
	}
	if public != nil {
		lines = append(lines, "public groups, all of them shown: "+strings.Join(public, ", "))
	}
	if private != nil {
		lines = append(lines, fmt.Sprintf("private groups, shown where enough %ss are in one: %s", e.model.Unit(),
			strings.Join(private, ", ")))
	}
	for _, why := range reasons {
		lines = append(lines, fmt.Sprintf("no groups of %s: %s", strings.Join(refused[why], ", "), why))
	}
	return lines
}

// A groupKey is what a table can be grouped by.
type groupKey struct{ name, sql string }

// keysOf are the columns of a table that analysts see, and the expressions that have bounds.
func keysOf(t *policy.Table) (keys []groupKey) {
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.Hidden {
			keys = append(keys, groupKey{c.Name, ast.QuoteIdent(c.Name)})
		}
	}
	for _, b := range t.Bounded {
		if b.Plain() {
			keys = append(keys, groupKey{b.Text, "(" + b.Text + ")"})
		}
	}
	return keys
}
