package words

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Split returns the words of a name, small, without accents and digits, and in the singular. Words end at underscores, blanks, digits
// and capitals; the rest is taken apart if it is made of known words (passwordhash).
func Split(name string) []string {
	var all []string
	for _, chunk := range chunks(name) {
		all = append(all, segment(chunk)...)
	}
	if kept := slices.DeleteFunc(slices.Clone(all), stop); len(kept) > 0 {
		return kept
	}
	return all
}

// chunks are the parts of a name that it shows itself.
func chunks(name string) []string {
	var b strings.Builder
	small := false
	for _, r := range norm.NFC.String(name) {
		if unicode.IsUpper(r) && small {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		if !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	all := strings.Fields(b.String())
	for i := range all {
		all[i] = fold(all[i])
	}
	return all
}

// singular returns the known word that a text is a form of; "" if there is none.
func singular(word string) string {
	if l := known().lemmas[word]; l != "" {
		return l
	}
	if stem, ok := strings.CutSuffix(word, "ies"); ok && known().lemmas[stem+"y"] != "" {
		return known().lemmas[stem+"y"]
	}
	for _, ending := range []string{"s", "es", "n", "en", "e", "er"} {
		if stem, ok := strings.CutSuffix(word, ending); ok && len(stem) > 2 && known().lemmas[stem] != "" {
			return known().lemmas[stem]
		}
	}
	return ""
}

// Singular is a word's singular: that of a known word, or else that of an English one.
func Singular(word string) string {
	if l := singular(word); l != "" {
		return l
	}
	switch {
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		return word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && len(word) > 3:
		return word[:len(word)-1]
	}
	return word
}

// Lengths of the parts of an unknown run-together word: a known end or beginning, and the rest.
const shortestEnd, shortestBeginning, shortestRest = 4, 6, 3

// segment takes a run-together word apart: into the fewest known words, or else into a known one and the rest, or not at all.
func segment(chunk string) []string {
	if l := singular(chunk); l != "" {
		return []string{l}
	}
	if pieces := apart(chunk); pieces != nil {
		return pieces
	}
	for n := len(chunk) - shortestRest; n >= shortestEnd; n-- {
		if end := ending(chunk[len(chunk)-n:]); end != nil {
			return append([]string{Singular(chunk[:len(chunk)-n])}, end...)
		}
		if before := apart(chunk[:n]); before != nil && n >= shortestBeginning {
			return append(before, Singular(chunk[n:]))
		}
	}
	return []string{Singular(chunk)}
}

// ending returns the words of a text that a run-together name ends with: one known word, or several of which the last is an identifier
// or a name. Others are too often parts of longer words.
func ending(text string) []string {
	if l := known().lemmas[strings.TrimSuffix(text, "s")]; l != "" {
		return []string{l}
	}
	all := apart(text)
	if n := len(all); n > 1 && Is(all[n-1], Identifier, Name) {
		return all
	}
	return nil
}

// longest bounds the names that are taken apart: Postgres's own limit.
const longest = 63

// apart returns the fewest known words that a text is made of, nil if it is not. Of equally many, those are taken whose first is longest.
func apart(chunk string) []string {
	if len(chunk) > longest {
		return nil
	}
	best := make([][]string, len(chunk)+1)
	best[len(chunk)] = []string{}
	for from := len(chunk) - 1; from >= 0; from-- {
		for to := len(chunk); to > from; to-- {
			rest := best[to]
			if rest == nil || best[from] != nil && len(rest)+1 >= len(best[from]) {
				continue
			}
			if l := piece(chunk[from:to], from == 0); l != "" {
				best[from] = append([]string{l}, rest...)
			}
		}
	}
	return best[0]
}

// piece returns the word that a part of a run-together name is. Short ones are too often parts of others, as age is at the end of many.
func piece(text string, first bool) string {
	if len(text) == 2 {
		if slices.Contains([]string{"id", "no", "nr", "ip", "by", "to", "is", "of", "sk", "pk", "fk"}, text) {
			return text
		}
		return ""
	}
	if len(text) < 3 || text == "age" && !first {
		return ""
	}
	return singular(text)
}
