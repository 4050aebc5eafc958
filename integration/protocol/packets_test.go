package protocol_test

import (
	"strings"
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// Statements that are sent often.
const (
	count   = sitetest.CountPatients
	grouped = "SELECT region, count(*) FROM patients GROUP BY 1"
)

// Messages of clients, as bytes. A Bind without values asks for text.
var (
	synced = sitetest.Message('S', "")
	flush  = sitetest.Message('H', "")
)

func query(sql string) string { return sitetest.Message('Q', sql+"\x00") }

func parse(name, sql string) string { return sitetest.Message('P', name+"\x00"+sql+"\x00\x00\x00") }

func bind(portal, name string) string { return bindRest(portal, name, "\x00\x00\x00\x00\x00\x00") }

// bound binds one value, in text.
func bound(portal, name, value string) string {
	return bindRest(portal, name, "\x00\x00\x00\x01"+sitetest.Int32(len(value))+value+"\x00\x00")
}

// bindRest binds with any bytes behind the names.
func bindRest(portal, name, rest string) string {
	return sitetest.Message('B', portal+"\x00"+name+"\x00"+rest)
}

func describe(name string) string { return sitetest.Message('D', name+"\x00") }

func execute(portal string, rows int) string {
	return sitetest.Message('E', portal+"\x00"+sitetest.Int32(rows))
}

func closing(name string) string { return sitetest.Message('C', name+"\x00") }

// sameOutcomes sends each sequence of messages in a session of its own, and holds that dpproxy
// replies as Postgres does to the same bytes.
func sameOutcomes(t *testing.T, s *sitetest.Site, r *sitetest.Running, sequences map[string]string) {
	t.Helper()
	for name, packets := range sequences {
		got, want := outcome(t, r.URL("ana"), packets), outcome(t, s.Data.URL("postgres", pgtemp.Superuser), packets)
		if got != want || strings.HasSuffix(got, "nothing more") {
			t.Errorf("%s:\n   dpproxy %s\n  Postgres %s", name, got, want)
		}
	}
}
