package policy

import (
	"fmt"
	"slices"
	"strings"
)

// A Problem is a contradiction between the policy and the database.
type Problem struct {
	// Path is where in the policy, e.g. ["tables", "visits", "unit"].
	Path    []string
	Message string
	// Kind is the same of problems that are alike, "" if none is; Own are the words that are theirs.
	Kind, Own string
}

// problemOf writes a problem: those of one format are alike.
func problemOf(path []string, format string, args ...any) Problem {
	own := make([]string, len(args))
	for i, a := range args {
		own[i] = fmt.Sprint(a)
	}
	return Problem{path, fmt.Sprintf(format, args...), format, strings.Join(own, ", ")}
}

// Alike puts problems that are alike beside each other, in the order of the first of each kind.
func Alike(problems []Problem) (groups [][]Problem) {
	for _, p := range problems {
		i := slices.IndexFunc(groups, func(g []Problem) bool { return p.Kind != "" && g[0].Kind == p.Kind })
		if i < 0 {
			groups = append(groups, []Problem{p})
			continue
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}

// String returns the problem as one line, e.g. "tables.visits.unit: ...".
func (p Problem) String() string { return strings.Join(p.Path, ".") + ": " + p.Message }
