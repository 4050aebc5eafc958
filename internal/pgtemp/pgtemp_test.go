package pgtemp_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
)

// TestStart starts servers, of which the later ones are made in another way than the first.
func TestStart(t *testing.T) {
	identities := map[int64]bool{}
	for range 3 {
		s, err := pgtemp.Start(t.Context(), pgtemp.Options{Port: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop()
		for _, url := range []string{s.URL("postgres", pgtemp.Superuser), s.TCP("template1", pgtemp.Superuser)} {
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			var id int64
			if err := conn.QueryRow(t.Context(), "SELECT system_identifier FROM pg_control_system()").Scan(&id); err != nil {
				t.Fatal(err)
			}
			identities[id] = true
			if _, err := conn.Exec(t.Context(), "CREATE TABLE t AS SELECT generate_series(1, 1000); CHECKPOINT"); err != nil {
				t.Error(err)
			}
		}
	}
	if len(identities) != 3 {
		t.Errorf("three servers have %d identities", len(identities))
	}
}

// TestSave starts servers from the files of another one.
func TestSave(t *testing.T) {
	s, err := pgtemp.Start(t.Context(), pgtemp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(s *pgtemp.Server, sql string) string { // the last statement
		t.Helper()
		conn, err := pgx.Connect(t.Context(), s.URL("postgres", pgtemp.Superuser))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return string(results[len(results)-1].Rows[0][0])
	}
	ask(s, "CREATE ROLE ana; CREATE TABLE t AS SELECT generate_series(1, 1000) AS n; ANALYZE; SELECT count(*) FROM t")
	saved, err := s.Save()
	if err != nil {
		t.Fatal(err)
	}
	identities := map[string]bool{}
	for range 2 {
		again, err := pgtemp.Start(t.Context(), pgtemp.Options{From: saved})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Stop()
		const known = "SELECT reltuples FROM pg_class JOIN pg_roles ON rolname = 'ana' WHERE relname = 't'"
		if n, rows := ask(again, known), ask(again, "DELETE FROM t WHERE n > 900; SELECT count(*) FROM t"); n != "1000" || rows != "900" {
			t.Errorf("the server has statistics of %s rows, and %s rows less 100", n, rows)
		}
		identities[ask(again, "SELECT system_identifier FROM pg_control_system()")] = true
	}
	if len(identities) != 2 {
		t.Errorf("two servers have %d identities", len(identities))
	}
}
