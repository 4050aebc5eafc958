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
