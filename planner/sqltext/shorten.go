package sqltext

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// shownConstants is how many constants of a long list are shown to people, and the last one besides. A list of longList characters or more
// is long.
const (
	shownConstants = 5
	longList       = 60
)

// lists matches lists of constants: the numbers of an array, or parameters.
var lists = regexp.MustCompile(fmt.Sprintf(`'\{(?:-?[0-9.]+,){%d,}-?[0-9.]+\}'|\((?:CAST\(\$[0-9]+ AS [a-z0-9_.]+\), ){%[1]d,}`+
	`CAST\(\$[0-9]+ AS [a-z0-9_.]+\)\)`, shownConstants+1))

// Shorten shows the first constants of a long list, how many are left out, and the last one. The text is for people: it is no SQL any more.
func Shorten(sql string) string {
	return lists.ReplaceAllStringFunc(sql, func(list string) string {
		if len(list) < longList {
			return list
		}
		separator, edge := ",", 2
		if list[0] == '(' {
			separator, edge = ", ", 1
		}
		elements := strings.Split(list[edge:len(list)-edge], separator)
		last := len(elements) - 1
		shown := slices.Concat(elements[:shownConstants], []string{fmt.Sprintf("... %d more ...", last-shownConstants), elements[last]})
		return list[:edge] + strings.Join(shown, separator) + list[len(list)-edge:]
	})
}
