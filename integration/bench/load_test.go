package bench_test

import (
	"os"
	"strings"
	"testing"
)

// load is how many processes of the machine had work in the last minute, in the mean: a time that was measured beside others is theirs too.
func load(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))[0]
}
