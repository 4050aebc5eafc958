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

// TestForgottenHistory holds that an analyst whom the policy names again is another one, who sees nothing of the former.
func TestForgottenHistory(t *testing.T) {
	h := &history{}
	for _, analyst := range []string{"ana", "bob"} {
		h.add(analyst, &account{text: "SELECT 1"})
	}
	h.forget(func(analyst string) bool { return analyst == "bob" })
	h.add("ana", &account{text: "SELECT 2"})
	if rows := h.answered("ana"); len(rows) != 1 || rows[0].Number != 1 || rows[0].Statement != "SELECT 2" {
		t.Errorf("the next ana reads %+v", rows)
	}
	if rows := h.answered("bob"); len(rows) != 1 {
		t.Errorf("bob reads %+v", rows)
	}
}
