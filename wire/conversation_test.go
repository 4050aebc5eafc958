package wire_test

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/internal/wiretest"
	"dpproxy/wire"
)

// TestConversation sends each script to Postgres and through the relay; every
// message of the two must be the same.
func TestConversation(t *testing.T) {
	p := start(t, nil)
	datadriven.Walk(t, "testdata/conversation", func(t *testing.T, path string) {
		ours, theirs := openRaw(t, p.config(t)), direct(t, "mirror")
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return wiretest.Compare(t, d, theirs, ours)
		})
	})
}

// TestInterception does the same with statements that are rewritten: Postgres
// has the rows in its table, the mirror gets them in the statement.
func TestInterception(t *testing.T) {
	p := start(t, func(c *wire.Config) { c.Handler = newFakeHandler() })
	datadriven.Walk(t, "testdata/interception", func(t *testing.T, path string) {
		ours, theirs := openRaw(t, p.config(t)), direct(t, "plain")
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return wiretest.Compare(t, d, theirs, ours)
		})
	})
}

// TestRefusal runs scripts for which Postgres has no equal.
func TestRefusal(t *testing.T) {
	h := newFakeHandler()
	p := start(t, func(c *wire.Config) {
		c.Handler = h
		c.Limits.Statements, c.Limits.Portals, c.Limits.SQLBytes = 3, 2, 300
	})
	datadriven.Walk(t, "testdata/refusal", func(t *testing.T, path string) {
		ours := openRaw(t, p.config(t))
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			before := h.runs.Load()
			out := ours.Talk(t, d)
			return fmt.Sprintf("%sruns: %d\n", out, h.runs.Load()-before)
		})
	})
}
