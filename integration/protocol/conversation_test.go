package protocol_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/internal/wiretest"
)

// TestConversations plays each script with dpproxy and with the tables on a plain Postgres of
// the mirror's version: every message of the two must be the same. The scripts ask with so large
// an ε that the noise of a count is zero but for once in ten thousand million answers.
func TestConversations(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ShownPolicy)
	r := s.Run(t)
	plain := sitetest.StartMirror(t)
	sitetest.Exec(t, sitetest.Dial(t, plain.URL("postgres", pgtemp.Superuser)), sitetest.ClinicSchema)
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
		ours, theirs := open(t, r.URL("ana")), open(t, plain.URL("postgres", pgtemp.Superuser))
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return wiretest.Compare(t, d, theirs, ours)
		})
	})
	r.Silent(t)
}
