package words

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// fold writes a word small and without accents: of those, German umlauts are written as they are without them (ae).
func fold(word string) string { return plain(umlauts.Replace(norm.NFC.String(strings.ToLower(word)))) }

var umlauts = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss")

// plain leaves accents out.
func plain(word string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(strings.ReplaceAll(strings.ToLower(word), "ß", "ss")))
}

// stop reports whether a word says nothing by itself.
func stop(word string) bool {
	return slices.Contains([]string{"of", "the", "de", "del", "du", "des", "der", "da", "do"}, word)
}
