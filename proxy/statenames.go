package proxy

import "strings"

// stateNames are those of the views of the schema dp that every analyst has.
var stateNames = []string{"budget", "tables", "columns", "history"}

// mentionsState reports whether a text may read dp.budget or its kin, also by the names that they have where
// search_path finds them.
func mentionsState(sql string) bool {
	return strings.Contains(strings.ToLower(sql), "dp.") || strings.Contains(sql, `"dp"`) || namesState(sql)
}

// namesState reports whether a text may have such a name behind no dot. The word last is one of SQL's own: only in FROM
// is it a relation. Published is a schema, too. Every text that is passed on is looked at, and many have one of the words in names of
// their own, for which a regular expression takes longer than all else that is done for them.
func namesState(sql string) bool {
	for i := range len(sql) {
		if i > 0 && (isWordByte(sql[i-1]) || sql[i-1] == '.') {
			continue
		}
		for _, name := range stateNames {
			if beginsWith(sql[i:], name) {
				return true
			}
		}
		if beginsWith(sql[i:], "last") && endsInFrom(sql[:i]) {
			return true
		}
		const published = "published"
		if beginsWith(sql[i:], published) && endsInFrom(sql[:i]) &&
			!strings.HasPrefix(strings.TrimPrefix(sql[i+len(published):], `"`), ".") {
			return true
		}
	}
	return false
}

// beginsWith reports whether a text begins with a word, in letters of either case.
func beginsWith(text, word string) bool {
	n := len(word)
	return len(text) >= n && text[0]|0x20 == word[0] && strings.EqualFold(text[:n], word) && (len(text) == n || !isWordByte(text[n]))
}

// endsInFrom reports whether a text ends where a relation's name may follow.
func endsInFrom(text string) bool {
	text = strings.TrimSuffix(text, `"`)
	spaced := len(text)
	text = strings.TrimRight(text, "\t\n\f\r ")
	start := len(text) - len("from")
	if start < 0 || len(text) == spaced || start > 0 && isWordByte(text[start-1]) {
		return false
	}
	return strings.EqualFold(text[start:], "from") || strings.EqualFold(text[start:], "join")
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
