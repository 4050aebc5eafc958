package pgtemp_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
)

func TestStart(t *testing.T) {
	s, err := pgtemp.Start(t.Context(), pgtemp.Options{Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	for _, url := range []string{s.URL("postgres", pgtemp.Superuser), s.TCP("postgres", pgtemp.Superuser)} {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		var one int
		if err := conn.QueryRow(t.Context(), "SELECT 1").Scan(&one); err != nil || one != 1 {
			t.Errorf("SELECT 1 = %d, %v", one, err)
		}
		conn.Close(t.Context())
	}
}
