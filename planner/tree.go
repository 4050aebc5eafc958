package planner

import (
	"fmt"
	"strings"
)

// tree draws lines as an indented tree with branches.
type tree struct {
	depths []int
	texts  []string
}

func (t *tree) line(depth int, format string, args ...any) {
	t.depths = append(t.depths, depth)
	t.texts = append(t.texts, fmt.Sprintf(format, args...))
}

func (t *tree) draw() []string {
	lines := make([]string, len(t.texts))
	for i, text := range t.texts {
		var b strings.Builder
		for d := 1; d < t.depths[i]; d++ {
			b.WriteString(map[bool]string{true: " │  ", false: "    "}[t.goesOn(i, d)])
		}
		if t.depths[i] > 0 {
			b.WriteString(map[bool]string{true: " ├── ", false: " └── "}[t.goesOn(i, t.depths[i])])
		}
		lines[i] = b.String() + text
	}
	return lines
}

// goesOn reports whether a later line continues the branch at the depth.
func (t *tree) goesOn(i, depth int) bool {
	for _, d := range t.depths[i+1:] {
		if d == depth {
			return true
		}
		if d < depth {
			return false
		}
	}
	return false
}
