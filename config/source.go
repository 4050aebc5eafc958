package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/token"
)

// defaultSchema is that of tables that are named without one.
const defaultSchema = "public"

// A position is a line and a column, both counted from one.
type position struct{ line, column int }

// A source is the text of a policy file, and where the keys are in it.
type source struct {
	name   string
	lines  []string
	secret []bool              // whether a secret may stand in a line
	places map[string]position // by the key of a path
	braces map[string]braces   // of mappings and sequences that stand in them, by the key of a path
}

// braces are where a mapping in {...}, or a sequence in [...], begins and ends.
type braces struct{ from, to position }

func newSource(name string, src []byte) *source {
	lines := strings.Split(string(src), "\n")
	return &source{name: name, lines: lines, secret: secretLines(lines), places: map[string]position{}, braces: map[string]braces{}}
}

// An Error is a fault at a place in the policy file.
type Error struct {
	File         string
	Line, Column int    // from one
	Text         string // without secrets
	excerpt      string
}

// Error writes file:line:column, the fault, the line and a caret.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
	if e.excerpt == "" {
		return text
	}
	number := fmt.Sprintf("%5d | ", e.Line)
	marker := ""
	if e.excerpt != withheld {
		marker = "\n" + strings.Repeat(" ", len(number)+e.Column-1) + "^"
	}
	return text + "\n" + number + e.excerpt + marker
}

// withheld stands for a line that may hold a secret.
const withheld = "(this line is not shown: it may hold a secret)"

// longestExcerpt is how many characters of a line are shown.
const longestExcerpt = 200

// fault returns an error at a place, still without the line itself: which words are
// secret is known only when the whole file was read.
func (s *source) fault(p position, text string) *Error {
	e := &Error{File: s.name, Line: max(p.line, 1), Column: max(p.column, 1), Text: strings.Map(printableLines, redact(text))}
	e.Line = min(e.Line, len(s.lines))
	return e
}

// show adds the line to an error, unless it is secret.
func (s *source) show(e *Error) *Error {
	if s.secret[e.Line-1] {
		e.excerpt = withheld
		return e
	}
	line := []rune(strings.TrimRight(s.lines[e.Line-1], " \r"))
	e.Column = min(e.Column, len(line)+1)
	if e.Column > longestExcerpt {
		return e
	}
	e.excerpt = strings.Map(printable, string(line[:min(len(line), longestExcerpt)]))
	return e
}

// printable keeps a line from steering the terminal that shows it.
func printable(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case !unicode.IsPrint(r):
		return '?'
	}
	return r
}

// printableLines is printable for texts of several lines.
func printableLines(r rune) rune {
	if r == '\n' || r == '\t' {
		return r
	}
	return printable(r)
}

// join shows faults in the order of the file, so that the first is the first to
// mend.
func (s *source) join(faults []*Error) error {
	slices.SortStableFunc(faults, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	all := make([]error, len(faults))
	for i, f := range faults {
		all[i] = s.show(f)
	}
	return errors.Join(all...)
}

// placeKey is the same for a table with and without the schema public.
func placeKey(path []string) string {
	if len(path) > 1 && path[0] == "tables" && !strings.Contains(path[1], ".") {
		path = slices.Concat([]string{"tables", defaultSchema + "." + path[1]}, path[2:])
	}
	return strings.Join(path, "\x00")
}

// find returns the place of a path, or of the nearest one above it.
func (s *source) find(path []string) position {
	for n := len(path); n > 0; n-- {
		if p, ok := s.places[placeKey(path[:n])]; ok {
			return p
		}
	}
	return position{1, 1}
}

// label writes the path before a message.
func label(path []string, message string) string {
	if len(path) == 0 {
		return message
	}
	return strings.Join(path, ".") + ": " + message
}

func positionOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{1, 1}
	}
	return position{t.Position.Line, t.Position.Column}
}

// secretNear reports whether a secret may stand within two lines of a place: where
// the syntax is broken, texts may end elsewhere than they seem to.
func (s *source) secretNear(line int) bool {
	for i := max(line-3, 0); i < min(line+2, len(s.secret)); i++ {
		if s.secret[i] {
			return true
		}
	}
	return false
}
