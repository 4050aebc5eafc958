package protocol_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/sitetest"
)

// TestRowsNonePosition wants the position that Postgres gives for a name that does not exist,
// in a Query of one statement and of several.
func TestRowsNonePosition(t *testing.T) {
	r := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy).Run(t)
	defer r.Stop()
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, "SET dp.rows = none")
	for _, sql := range []string{"SELECT nope FROM visits", "  SELECT 'é', nope FROM visits", "SELECT 'é'; SELECT nope FROM visits"} {
		_, err := ana.PgConn().Exec(t.Context(), sql).ReadAll()
		before, _, _ := strings.Cut(sql, "nope")
		want := int32(len([]rune(before)) + 1)
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "42703" || e.Position != want {
			t.Errorf("%s: want position %d: %+v", sql, want, err)
		}
	}
}
