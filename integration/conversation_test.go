package integration_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/wiretest"
)

// TestConversations plays each script with dpproxy and with the tables on a plain Postgres of
// the mirror's version: every message of the two must be the same. The scripts ask with so large
// an ε that the noise of a count is zero but for once in ten thousand million answers.
func TestConversations(t *testing.T) {
	t.Parallel()
	s := newSite(t, clinicSchema, shownPolicy)
	r := s.run(t)
	plain := startMirror(t)
	must(t, dial(t, plain.URL("postgres", pgtemp.Superuser)), clinicSchema)
	open := func(t *testing.T, url string) *wiretest.Conn {
		t.Helper()
		config, err := pgconn.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		config.RuntimeParams["dp.epsilon"] = "120"
		config.RuntimeParams["dp.notice"] = "off"
		return wiretest.Open(t, config)
	}
	datadriven.Walk(t, "testdata/conversation", func(t *testing.T, path string) {
		ours, theirs := open(t, r.url("ana")), open(t, plain.URL("postgres", pgtemp.Superuser))
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return wiretest.Compare(t, d, theirs, ours)
		})
	})
	r.silent(t)
}
