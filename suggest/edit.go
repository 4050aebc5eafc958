package suggest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// An Edit of a policy file takes the place of some of its lines.
type Edit struct {
	// Line is the first that goes, counted from one, or that new ones come before; Drop is how many go.
	Line, Drop int
	Lines      []string
}

// Apply returns the text with the edits, which do not overlap. Edits of one line keep their order.
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

// context is how many lines a diff shows around a change.
const context = 3

// Diff is a unified diff of a file, as patch takes it; it is empty if nothing changes.
func Diff(name, before, after string) (string, error) {
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(before), B: difflib.SplitLines(after), FromFile: name, ToFile: name, Context: context,
	})
}
