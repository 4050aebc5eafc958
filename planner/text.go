package planner

import (
	"strings"
)

// ArrayText writes an array literal of Postgres; nil elements are NULL.
func ArrayText(cells []*string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, c := range cells {
		if i > 0 {
			b.WriteByte(',')
		}
		if c == nil {
			b.WriteString("NULL")
			continue
		}
		b.WriteByte('"')
		b.WriteString(arrayEscaper.Replace(*c))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var arrayEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// smallInt reads a number of at most nine digits.
func smallInt(text []byte) (int, bool) {
	if len(text) == 0 || len(text) > 9 {
		return 0, false
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}
