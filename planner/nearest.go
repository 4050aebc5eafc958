package planner

import (
	"slices"
	"strings"
)

// nearest sorts texts by their distance from the nearest of some others.
func nearest(texts, to []string) []string {
	if len(to) == 0 || len(texts)*len(to) > mostCompared {
		return texts
	}
	type measured struct {
		text string
		far  int
	}
	var all []measured
	for _, text := range texts {
		far := -1
		for _, other := range to {
			if d := editsBetween(text, other); far < 0 || d < far {
				far = d
			}
		}
		all = append(all, measured{text, far})
	}
	slices.SortStableFunc(all, func(a, b measured) int { return a.far - b.far })
	out := make([]string, len(all))
	for i, m := range all {
		out[i] = m.text
	}
	return out
}

// mostCompared bounds the pairs of texts that are compared, and longestCompared how much of a text is.
const (
	mostCompared    = 1000
	longestCompared = 40
)

// editsBetween is how many characters have to be put in, taken out or replaced to make one text of another, without regard to case.
func editsBetween(a, b string) int {
	runes := func(s string) []rune { r := []rune(strings.ToLower(s)); return r[:min(len(r), longestCompared)] }
	x, y := runes(a), runes(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range x {
		last := row[0]
		row[0] = i + 1
		for j, s := range y {
			changed := last
			if r != s {
				changed++
			}
			last, row[j+1] = row[j+1], min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}
