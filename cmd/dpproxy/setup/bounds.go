package setup

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/config"
	"dpproxy/mirror"
	"dpproxy/planner/policy"
)

// boundsOf says which columns of a table, and which expressions over them, have bounds, and where the policy states them.
func boundsOf(t *policy.Table) (lines []string) {
	var own, followed, byDefault, fields []string
	for _, c := range withFields(t) {
		switch {
		case c.Bounds == nil || c.Hidden:
		case c.ByDefault:
			byDefault = append(byDefault, c.Name)
		case c.Follows != "":
			followed = append(followed, fmt.Sprintf("%s [%s, %s] of %s", c.Name, c.Bounds.LowText, c.Bounds.HighText, c.Follows))
		default:
			own = append(own, fmt.Sprintf("%s [%s, %s]", c.Name, c.Bounds.LowText, c.Bounds.HighText))
		}
	}
	if own != nil {
		lines = append(lines, "bounds of their own: "+strings.Join(own, ", "))
	}
	if followed != nil {
		lines = append(lines, "bounds of the column that a foreign key refers to: "+strings.Join(followed, ", "))
	}
	if byDefault != nil {
		lines = append(lines, fmt.Sprintf("bounds by %s, from %s to %s: %s", t.Dates.Of, t.Dates.First, t.Dates.Last,
			strings.Join(byDefault, ", ")))
	}
	for i := range t.Columns {
		for _, f := range t.Columns[i].Fields {
			said := f.Name + " " + f.Type.Display
			if f.Values != nil {
				said += fmt.Sprintf(" of %d values", len(f.Values))
			}
			fields = append(fields, said)
		}
	}
	if fields != nil {
		lines = append(lines, "fields: "+strings.Join(fields, ", "))
	}
	var expressions []string
	for _, b := range t.Bounded {
		expressions = append(expressions, fmt.Sprintf("%s (%s) [%s, %s]", b.Name, b.Text, b.Bounds.LowText, b.Bounds.HighText))
	}
	if expressions != nil {
		lines = append(lines, "bounds of expressions: "+strings.Join(expressions, ", "))
	}
	return lines
}

// withFields are the columns of a table and their fields.
func withFields(t *policy.Table) (all []policy.Column) {
	for _, c := range t.Columns {
		all = append(all, c)
		for _, f := range c.Fields {
			all = append(all, f.Column)
		}
	}
	return all
}

// idleDates warns of defaults for dates that bound no column.
func idleDates(p *config.Policy, cat *policy.Model) (lines []string) {
	stated := []*policy.Dates{p.Defaults.Dates}
	for _, schema := range p.Schemas {
		stated = append(stated, schema.Dates)
	}
	used := map[string]bool{}
	for _, t := range p.Tables.Tables {
		if stated = append(stated, t.Dates); len(policy.ByDefault(cat.Table(t.Name))) > 0 {
			used[t.Dates.Of] = true
		}
	}
	for _, d := range stated {
		if d != nil && !used[d.Of] {
			used[d.Of] = true
			lines = append(lines, mirror.Warning+d.Of+" bounds no column: each open column of dates has bounds or values of its own")
		}
	}
	slices.Sort(lines)
	return lines
}
