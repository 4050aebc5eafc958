package lex

import "strings"

// A Filter tells cheaply which texts cannot concern protected relations.
type Filter struct {
	// byFirst lists the needles by their first byte, folded.
	byFirst [256][]string
}

// NewFilter returns a Filter for the names of the protected relations. A text
// also matches if it holds an escaped identifier, which could spell any name,
// or mentions the dp. settings and relations.
func NewFilter(names []string) *Filter {
	f := &Filter{}
	f.add(`u&"`)
	f.add("dp.")
	for _, name := range names {
		if name != "" {
			f.add(strings.ReplaceAll(Lower(name), `"`, `""`))
		}
	}
	return f
}

func (f *Filter) add(needle string) {
	first := needle[0]
	f.byFirst[first] = append(f.byFirst[first], needle)
	if 'a' <= first && first <= 'z' {
		f.byFirst[first-'a'+'A'] = append(f.byFirst[first-'a'+'A'], needle)
	}
}

// Matches reports whether Parse must look at the text. A text that does not
// match is relayed: whatever was missed meets the row security of the mirror.
func (f *Filter) Matches(sql string) bool {
	for i := 0; i < len(sql); i++ {
		for _, needle := range f.byFirst[sql[i]] {
			if HasPrefixFold(sql[i:], needle) {
				return true
			}
		}
	}
	return false
}

// HasPrefixFold is strings.HasPrefix with ASCII letters of s folded.
func HasPrefixFold(s, needle string) bool {
	if len(s) < len(needle) {
		return false
	}
	for i := range len(needle) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != needle[i] {
			return false
		}
	}
	return true
}
