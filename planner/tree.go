package planner

import (
	"fmt"
	"slices"
	"strings"
)

// tree draws lines as an indented tree with branches.
type tree struct {
	verbose bool // details are drawn too

	depths []int
	texts  []string
}

func (t *tree) line(depth int, format string, args ...any) {
	t.depths = append(t.depths, depth)
	t.texts = append(t.texts, fmt.Sprintf(format, args...))
}

// detail is a line for EXPLAIN VERBOSE alone.
func (t *tree) detail(depth int, format string, args ...any) {
	if t.verbose {
		t.line(depth, format, args...)
	}
}

func (t *tree) draw() []string {
	lines := make([]string, len(t.texts))
	var goesOn []bool // by depth: whether a later line continues the branch
	for i, text := range slices.Backward(t.texts) {
		depth := t.depths[i]
		for len(goesOn) <= depth {
			goesOn = append(goesOn, false)
		}
		var b strings.Builder
		for d := 1; d < depth; d++ {
			b.WriteString(map[bool]string{true: " │  ", false: "    "}[goesOn[d]])
		}
		if depth > 0 {
			b.WriteString(map[bool]string{true: " ├── ", false: " └── "}[goesOn[depth]])
		}
		lines[i] = b.String() + text
		clear(goesOn[depth:])
		goesOn[depth] = true
	}
	return lines
}
