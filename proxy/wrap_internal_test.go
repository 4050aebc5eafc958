package proxy

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestWrapped holds that lines of plans are no wider than they may be where they have blanks, lose no word, and hang where
// they did.
func TestWrapped(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 60))
	lines := []string{
		"plan", " ├── " + long, " │   └── at most 20 rows, " + long, " └── " + strings.Repeat("x", 300) + " and more",
		" └── " + strings.Repeat("y", 119),
	}
	got := wrapped(lines)
	for _, line := range got {
		text := strings.TrimLeft(line, branches)
		if utf8.RuneCountInString(line) > shownWidth && strings.Contains(text, " ") {
			t.Errorf("too wide: %s", line)
		}
	}
	words := func(lines []string) []string {
		return strings.Fields(strings.NewReplacer("│", "", "├", "", "└", "", "─", "").Replace(strings.Join(lines, " ")))
	}
	if !slices.Equal(words(got), words(lines)) {
		t.Errorf("words are lost or added:\n%s", strings.Join(got, "\n"))
	}
	if want := " │       word"; !strings.HasPrefix(got[2], want) {
		t.Errorf("the second line hangs elsewhere: %s", got[2])
	}
	if short := []string{"plan", " └── cost: nothing"}; !slices.Equal(wrapped(short), short) {
		t.Errorf("short lines are changed: %q", wrapped(short))
	}
}
