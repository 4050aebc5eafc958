package suggest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dpproxy/catalog"
)

var (
	plain    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.$/:@=?&%+-]*$|^/[A-Za-z0-9_./-]*$|^[0-9.]+:[0-9]+$`)
	reserved = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
)

// shortName omits the schema public.
func shortName(n catalog.Name) string {
	if n.Schema == "public" {
		return n.Name
	}
	return n.String()
}

// shortNames writes names separated by commas.
func shortNames(all []catalog.Name) string {
	list := make([]string, len(all))
	for i, n := range all {
		list[i] = oneLine(shortName(n))
	}
	return strings.Join(list, ", ")
}

// scalar writes a text such that YAML reads the same text.
func scalar(s string) string {
	if plain.MatchString(s) && !slices.Contains(reserved, strings.ToLower(s)) && !strings.HasSuffix(s, ":") {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // every string can be encoded
	return strings.TrimSpace(b.String())
}

func quoted(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = scalar(s)
	}
	return out
}

// oneLine replaces characters that would end a comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) || r == 0x2028 || r == 0x2029 || r == 0x85 {
			return ' '
		}
		return r
	}, s)
}

// name writes the name of a relation as a key.
func name(n catalog.Name) string { return scalar(shortName(n)) }

// list writes a list for people.
func list(all []string) string {
	for i, s := range all {
		all[i] = oneLine(s)
	}
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return fmt.Sprintf("%s and %s", strings.Join(all[:len(all)-1], ", "), all[len(all)-1])
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f }
