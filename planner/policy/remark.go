package policy

import (
	"fmt"
	"strings"

	"dpproxy/catalog"
)

// A Remark tells the administrator about a table. Remarks that are alike can be told once, of all their tables.
type Remark struct {
	Table catalog.Name
	// Said is the whole remark about the table alone.
	Said string
	// Alike is the part that remarks about other tables have as well, and Own the rest.
	Alike, Own string
}

// beside is how many tables with the same remark stand behind it; the names of more are on lines of their own.
const beside = 3

// Together writes remarks, those that are alike as one: a line, and one of each table where they are many.
func Together(all []Remark) (lines []string) {
	for len(all) > 0 {
		first, others := all[0], []Remark(nil)
		alike := []string{}
		for _, r := range all {
			if r.Alike != first.Alike {
				others = append(others, r)
				continue
			}
			own := r.Table.String()
			if r.Own != "" {
				own += " (" + r.Own + ")"
			}
			alike = append(alike, own)
		}
		switch {
		case len(alike) == 1:
			lines = append(lines, fmt.Sprintf("%v: %s", first.Table, first.Said))
		case len(alike) <= beside:
			lines = append(lines, fmt.Sprintf("%s: %s", first.Alike, strings.Join(alike, ", ")))
		default:
			lines = append(lines, fmt.Sprintf("%s:\n    %s", first.Alike, strings.Join(alike, "\n    ")))
		}
		all = others
	}
	return lines
}
