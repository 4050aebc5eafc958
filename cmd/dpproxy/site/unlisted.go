package site

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/config"
	"dpproxy/mirror"
	"dpproxy/planner/policy"
)

// shownUnlisted is how many tables are named in a warning, and how many columns of each.
const shownUnlisted = 5

// Unlisted warns, in one line each, of columns that are open since the policy neither lists them nor has the key unlisted, and of tables
// that have no open column. A partition has the columns of its table.
func Unlisted(p *config.Policy, cat *policy.Model) (lines []string) {
	var open, closed []string
	for i := range p.Tables.Tables {
		t := &p.Tables.Tables[i]
		if _, partition := p.PartitionOf[t.Name]; t.Public || partition {
			continue
		}
		if names := policy.Unlisted(t, cat); len(names) > 0 {
			open = append(open, fmt.Sprintf("%s (%s)", t.Name, someOf(names)))
		}
		if !slices.ContainsFunc(cat.Table(t.Name).Columns, func(c policy.Column) bool { return !c.Hidden }) {
			closed = append(closed, t.Name.String())
		}
	}
	if open != nil && p.Unlisted == "" {
		lines = append(lines, mirror.Warning+"columns that the policy does not list are open: "+someOf(open)+
			"; list those that analysts may ask about as {}, and write unlisted: hidden, which hides the others and those to come "+
			"(or unlisted: open, if all may be asked about)")
	}
	if closed != nil && p.Unlisted != "" {
		lines = append(lines, mirror.Warning+"all columns are hidden, so that analysts can count rows alone: "+someOf(closed)+
			"; list those that they may ask about as {}")
	}
	return lines
}

// someOf writes the first names of a list, and how many more there are.
func someOf(names []string) string {
	if more := len(names) - shownUnlisted; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shownUnlisted], ", "), more)
	}
	return strings.Join(names, ", ")
}
