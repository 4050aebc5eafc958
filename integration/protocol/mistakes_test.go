package protocol_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestMistakes sends statements that Postgres refuses when it parses them: its error is
// shown, also where dpproxy would refuse the statement for another reason.
func TestMistakes(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	r := s.Run(t)
	ana, plain := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	for _, sql := range []string{
		"SELECT nosuch FROM patients",
		"SELECT nosuch(region) FROM patients",
		"SELECT region, count(*) FROM patients",
		"SELECT region, count(*) FROM patients GROUP BY 7",
		"SELECT region FROM patients ORDER BY 7",
		"SELECT region FROM patients WHERE count(*) > 1",
		"SELECT p.region FROM patients",
		"SELECT x.* FROM patients",
		"SELECT region FROM patients, patients",
		"SELECT region + 1 FROM patients",
		"SELECT count(*) FROM patients WHERE birth_year = 'x'",
		"SELECT count(*) FROM patients JOIN visits USING (nosuch)",
		"SELECT count(*) FROM patients UNION SELECT 'x'",
		"SELECT count(*) FROM patients FOR UPDATE",
		"SELECT sum(count(*)) FROM patients",
		"SELECT count(*) FROM other.public.patients",
		"SELECT region FROM other.public.patients",
		"SELECT other.public.patients.region FROM patients",
		"INSERT INTO patients (nosuch) VALUES (1)",
		"UPDATE patients SET nosuch = 1",
		"DELETE FROM patients WHERE nosuch",
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
			got, want := mistake(t, ana, sql, mode), mistake(t, plain, sql, mode)
			if got.Code != want.Code || got.Message != want.Message || got.Position != want.Position || got.Hint != want.Hint {
				t.Errorf("%s (%v): %s %s at %d, in Postgres %s %s at %d", sql, mode, got.Code, got.Message, got.Position,
					want.Code, want.Message, want.Position)
			}
		}
	}
	r.Silent(t)
}

func mistake(t *testing.T, conn *pgx.Conn, sql string, mode pgx.QueryExecMode) *pgconn.PgError {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql, mode)
	said, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		t.Fatalf("%s: %v", sql, err)
	}
	return said
}
