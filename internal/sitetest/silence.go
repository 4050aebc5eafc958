package sitetest

import (
	"regexp"
	"strings"
	"testing"
)

// told matches all that no log may tell: SQL, names and values of the clinic, and the words of a
// database about its own troubles.
var told = regexp.MustCompile(`(?i)select|patients|visits|birth|north|syntax|statement timeout|lock timeout|` +
	`crash of another|terminating connection|does not exist|out of shared memory|no space|panic|goroutine`)

// Silent fails the test if the log of a running dpproxy tells more than outcomes.
func (r *Running) Silent(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(r.Log.String()) {
		if !strings.HasPrefix(line, "time=") || told.MatchString(line) {
			t.Errorf("the log says: %s", line)
		}
	}
}
