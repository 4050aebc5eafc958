package suggest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// An Edit replaces lines of a policy file.
type Edit struct {
	// Line is the number of the first line that is dropped, from one, or before which lines are inserted; Drop is the number of dropped
	// lines.
	Line, Drop int
	Lines      []string
}

// Apply returns the text with the edits, which must not overlap. Edits of one line keep their order.
func Apply(text string, edits []Edit) string {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Line, b.Line) })
	lines := strings.SplitAfter(text, "\n")
	var b strings.Builder
	next := 0
	for _, e := range edits {
		for ; next < e.Line-1 && next < len(lines); next++ {
			b.WriteString(lines[next])
		}
		for _, l := range e.Lines {
			b.WriteString(l + "\n")
		}
		next += e.Drop
	}
	for ; next < len(lines); next++ {
		b.WriteString(lines[next])
	}
	return b.String()
}

// context is the number of unchanged lines that a diff shows around a change.
const context = 3

// Diff returns a unified diff of a file, as patch reads it; it is empty if nothing changes.
func Diff(name, before, after string) (string, error) {
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(before), B: difflib.SplitLines(after), FromFile: name, ToFile: name, Context: context,
	})
}
