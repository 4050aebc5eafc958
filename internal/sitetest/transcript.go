package sitetest

import (
	"regexp"
	"strings"
	"testing"
)

var (
	figures = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?(e-[0-9]+)?`)
	gaps    = regexp.MustCompile(`[ \t-]+|\+-+`)
)

// SameTranscript compares what a client prints with what a document shows, but for numbers and the room that they take.
func SameTranscript(t testing.TB, got, want string) {
	t.Helper()
	shape := func(s string) string {
		return strings.TrimSpace(gaps.ReplaceAllString(figures.ReplaceAllString(s, "#"), " "))
	}
	if shape(got) != shape(want) {
		t.Errorf("it prints\n%s\nthe document shows\n%s", got, want)
	}
}
