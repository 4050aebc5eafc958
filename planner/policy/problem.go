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
	// Kind is the same of problems that are alike, "" if none is. Words are those that the message puts into it, as many of each.
	Kind  string
	Words []string
}

// problemOf writes a problem: those of one format are alike.
func problemOf(path []string, format string, args ...any) Problem {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = fmt.Sprint(a)
	}
	return Problem{path, fmt.Sprintf(format, args...), format, words}
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

// Own are the words of a problem that not all those alike have, with commas.
func (p Problem) Own(alike []Problem) string {
	var own []string
	for i, word := range p.Words {
		if slices.ContainsFunc(alike, func(other Problem) bool { return other.Words[i] != word }) {
			own = append(own, word)
		}
	}
	return strings.Join(own, ", ")
}

// String returns the problem as one line, e.g. "tables.visits.unit: ...".
func (p Problem) String() string { return strings.Join(p.Path, ".") + ": " + p.Message }
