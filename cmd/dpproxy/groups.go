package main

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
	refused := map[string][]string{}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Hidden {
			continue
		}
		plan, err := e.plan(t.Name, "count(*)", " GROUP BY "+ast.QuoteIdent(c.Name))
		if err != nil {
			why := err.Error()
			if refusal, ok := errors.AsType[*pgerr.Error](err); ok {
				why = refusal.Message
			}
			if refused[why] == nil {
				reasons = append(reasons, why)
			}
			refused[why] = append(refused[why], c.Name)
			continue
		}
		if n, known := planner.PublicGroups(plan); known {
			public = append(public, fmt.Sprintf("%s %d", c.Name, n))
		} else {
			private = append(private, c.Name)
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
