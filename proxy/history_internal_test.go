package proxy

import (
	"strings"
	"testing"
)

// TestAbridged holds that the kept part of a statement is bounded, and a text.
func TestAbridged(t *testing.T) {
	if got := abridged(" SELECT 1\n"); got != "SELECT 1" {
		t.Errorf("%q", got)
	}
	for _, long := range []string{strings.Repeat("x", 1<<20), strings.Repeat("é", 1<<19), "x" + strings.Repeat("é", 1<<19)} {
		got := abridged(long)
		if len(got) > textKept || len(got) < textKept-4 || !strings.HasSuffix(got, "…") || strings.ToValidUTF8(got, "") != got {
			t.Errorf("%d bytes that end with %q", len(got), got[len(got)-6:])
		}
	}
}
