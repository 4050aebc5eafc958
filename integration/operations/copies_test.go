package operations_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestOutdatedCopy adds a row to a public table of the real database: until the next sync each answer says so whose groups, or constants,
// are those of the copy.
func TestOutdatedCopy(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	r := s.Run(t)
	var told []string
	ana := sitetest.DialTold(t, r.URL("ana"), func(n *pgconn.Notice) { told = append(told, n.Message+"\n"+n.Detail) })
	const joined = "SELECT h.name, count(*) FROM visits v JOIN hospitals h ON h.id = v.hospital_id "
	groups := func(want int, newer bool) {
		t.Helper()
		for sql, of := range map[string]bool{
			joined + "GROUP BY 1": true, "SELECT hospital_id, count(*) FROM visits GROUP BY 1": true,
			joined + "WHERE h.name = 'nowhere' GROUP BY 1": true,
			"WITH h AS (SELECT id FROM hospitals ORDER BY id LIMIT 9) SELECT count(*) FROM visits JOIN h ON h.id = hospital_id": true,
			"SELECT count(*) FROM visits": false,
		} {
			told = nil
			rows, err := ana.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for rows.Next() {
				n++
			}
			if err := rows.Err(); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			if said := strings.Join(told, "\n"); strings.Contains(said, "newer ones") != (newer && of) {
				t.Errorf("%s: of a copy that is older (%t) it says %s", sql, newer, said)
			}
			if strings.HasPrefix(sql, joined+"GROUP") && n != want {
				t.Errorf("%d groups, want %d", n, want)
			}
		}
	}
	groups(5, false)
	sitetest.Exec(t, sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser)), "INSERT INTO hospitals VALUES (6, 'new')")
	r.HangUp(t, "the policy was reloaded")
	groups(5, true)
	s.Command(t, "sync", s.Policy)
	await.That(t, "the sync is taken over", func() bool { return strings.Contains(r.Log.String(), "as of the last sync was taken over") })
	groups(6, false)
}
