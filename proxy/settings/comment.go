package settings

import (
	"maps"
	"slices"
	"strings"

	"dpproxy/parser"
	"dpproxy/pgerr"
)

// ReadComments reads the settings in the comments at the beginning of a statement, and
// before the query of an EXPLAIN, for tools that can send nothing but one statement:
//
//	/* dp: epsilon=0.5, mechanism=laplace */ SELECT count(*) FROM visits
//
// They hold for that statement alone, and so do those that calls in it make. Comments that do not begin with dp: are
// anybody's. Positions are in the statement.
func (s *Settings) ReadComments(st *parser.Statement) *pgerr.Error {
	if err := s.parseComments(st.Text); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, c := range st.Comments {
		size, end := commentSize(c.Text)
		body := c.Text[len("--") : size-end]
		if _, ours := settingsIn(body); ours && !c.Query {
			return pgerr.New(pgerr.Syntax, "a comment that begins with dp: stands where it sets nothing").At(c.At).
				WithHint("Write it before the statement, or, with EXPLAIN, before the query.")
		}
		if err := s.parseComment(c.At+len("--"), body, seen); err != nil {
			return err
		}
	}
	for _, own := range st.Own {
		if err := s.Parse(own.Name, own.Value); err != nil {
			return err.At(own.At)
		}
	}
	return nil
}

// RefuseComments refuses EXECUTE with a comment that would set something: it runs
// another statement, which has comments of its own.
func RefuseComments(st *parser.Statement) error {
	places := map[int]string{}
	for at, body := range leadingComments(st.Text) {
		places[at-len("--")] = body
	}
	for _, c := range st.Comments {
		places[c.At] = c.Text[len("--"):]
	}
	for _, at := range slices.Sorted(maps.Keys(places)) {
		if _, ours := settingsIn(places[at]); ours {
			return pgerr.New(pgerr.Syntax, "EXECUTE takes no settings from a comment").At(at).
				WithHint("Use SET, or send the statement itself with the comment before it.")
		}
	}
	return nil
}

// parseComments reads the settings at the beginning of a statement.
func (s *Settings) parseComments(statement string) *pgerr.Error {
	seen := map[string]bool{}
	for at, body := range leadingComments(statement) {
		if err := s.parseComment(at, body, seen); err != nil {
			return err
		}
	}
	return nil
}

// settingsIn returns the list in a comment of ours.
func settingsIn(body string) (list string, ours bool) {
	return cutPrefixFold(strings.TrimLeft(body, spaces), "dp:")
}

// parseComment reads the inside of one comment.
func (s *Settings) parseComment(at int, body string, seen map[string]bool) *pgerr.Error {
	list, ours := settingsIn(body)
	if !ours {
		return nil
	}
	s.Commented = true
	at += len(body) - len(list)
	for entry := range strings.SplitSeq(list, ",") {
		if err := s.parseEntry(entry, seen); err != nil {
			return err.At(at + len(entry) - len(strings.TrimLeft(entry, spaces)))
		}
		at += len(entry) + len(",")
	}
	return nil
}

// parseEntry reads name = value.
func (s *Settings) parseEntry(entry string, seen map[string]bool) *pgerr.Error {
	name, value, assigned := strings.Cut(entry, "=")
	name, value = strings.ToLower(strings.Trim(name, spaces)), strings.Trim(value, spaces)
	if !assigned || value == "" || seen[name] {
		return pgerr.New(pgerr.Syntax, "a comment that begins with dp: holds settings, each once").
			WithHint("Write /* dp: epsilon=0.5, mechanism=laplace */.")
	}
	seen[name] = true
	return s.Parse(name, value)
}

// spaces separate words for Postgres's lexer.
const spaces = " \t\n\r\f\v"

// leadingComments yields the insides of the comments before the first word of a
// statement, each with its place. An unfinished one is none: Postgres refuses it.
func leadingComments(statement string) func(yield func(at int, body string) bool) {
	return func(yield func(int, string) bool) {
		for at := 0; ; {
			at = len(statement) - len(strings.TrimLeft(statement[at:], spaces))
			size, end := commentSize(statement[at:])
			if size == 0 || !yield(at+len("--"), statement[at+len("--"):at+size-end]) {
				return
			}
			at += size
		}
	}
}

// commentSize returns how long the comment is that a text begins with, 0 for none, and
// how much of that is its end mark. Comments of the kind that ends with a mark nest.
func commentSize(s string) (size, end int) {
	if strings.HasPrefix(s, "--") {
		if i := strings.IndexAny(s, "\n\r"); i >= 0 {
			return i, 0
		}
		return len(s), 0
	}
	if !strings.HasPrefix(s, "/*") {
		return 0, 0
	}
	for i, depth := len("/*"), 1; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			return i + 1, len("*/")
		}
	}
	return 0, 0
}

// cutPrefixFold is strings.CutPrefix for ASCII text in any case.
func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
