package ast

import (
	"regexp"
	"strings"
)

// plainKey is a key that a path has without quotes.
var plainKey = regexp.MustCompile(`^[^".\s]+$`)

// FieldPath writes the keys that lead to a field as a policy does: with dots between them, and quotes around one that has a dot, a quote or
// a blank.
func FieldPath(keys []string) string {
	list := make([]string, len(keys))
	for i, k := range keys {
		if list[i] = k; !plainKey.MatchString(k) {
			list[i] = QuoteIdent(k)
		}
	}
	return strings.Join(list, ".")
}

// KeysOf reads what [FieldPath] writes; ok is false of anything else.
func KeysOf(path string) (keys []string, ok bool) {
	for {
		var key string
		if rest, quoted := strings.CutPrefix(path, `"`); quoted {
			for {
				part, after, closed := strings.Cut(rest, `"`)
				if key += part; !closed {
					return nil, false
				}
				if rest = after; !strings.HasPrefix(rest, `"`) {
					break
				}
				key, rest = key+`"`, rest[1:]
			}
			path = rest
		} else {
			end := strings.IndexByte(path, '.')
			if end < 0 {
				end = len(path)
			}
			if key, path = path[:end], path[end:]; !plainKey.MatchString(key) {
				return nil, false
			}
		}
		if keys = append(keys, key); path == "" {
			return keys, true
		}
		rest, more := strings.CutPrefix(path, ".")
		if path = rest; !more {
			return nil, false
		}
	}
}
