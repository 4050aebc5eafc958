package proxy

import (
	"strings"
	"unicode/utf8"
)

// shownWidth is how wide a line of a plan may be: psql makes all lines as wide as the widest.
const shownWidth = 120

// branches are the characters before the text of a line of a plan, which show where it hangs.
const branches = " │├└─"

// wrapped breaks lines of a plan that are too wide at blanks. The rest of a line hangs where the line does, further in.
func wrapped(lines []string) []string {
	var out []string
	for _, line := range lines {
		text := strings.TrimLeft(line, branches)
		first := line[:len(line)-len(text)]
		next := strings.NewReplacer("├", "│", "└", " ", "─", " ").Replace(first) + "    "
		for room := shownWidth - utf8.RuneCountInString(first); ; room = shownWidth - utf8.RuneCountInString(next) {
			end := breakAt(text, room)
			out = append(out, first+text[:end])
			if text = strings.TrimLeft(text[end:], " "); text == "" {
				break
			}
			first = next
		}
	}
	return out
}

// breakAt returns where a text ends that fits so many characters: behind a comma in the second half of them, or at the last
// blank. A word that is too long stays whole.
func breakAt(text string, room int) int {
	if utf8.RuneCountInString(text) <= room {
		return len(text)
	}
	comma, blank, n := 0, 0, 0
	for i, c := range text {
		if c == ' ' && i > 0 {
			if n > room && blank > 0 {
				break
			}
			if blank = i; text[i-1] == ',' {
				comma = i
			}
			if n > room {
				break
			}
		}
		n++
	}
	switch {
	case comma > blank/2:
		return comma
	case blank > 0:
		return blank
	}
	return len(text)
}
