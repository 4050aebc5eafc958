package sitetest

import (
	"testing"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
)

// Crash kills a server. Earlier writes are kept, although pgtemp's servers
// do not wait for their disks.
func Crash(t *testing.T, s *pgtemp.Server) {
	t.Helper()
	conn := Dial(t, s.URL("postgres", pgtemp.Superuser))
	Exec(t, conn, "CHECKPOINT")
	s.Crash()
}

// Restart starts a crashed server again at the same address.
func Restart(t *testing.T, s *pgtemp.Server) *pgtemp.Server {
	t.Helper()
	var again *pgtemp.Server
	await.That(t, "the server starts again", func() bool {
		var err error
		again, err = pgtemp.Start(t.Context(), pgtemp.Options{Dir: s.SocketDir, Mirror: s.Mirror})
		return err == nil
	})
	t.Cleanup(again.Stop)
	return again
}

// StartPostgres starts a server for a protected database.
func StartPostgres(t testing.TB) *pgtemp.Server { return StartServer(t, pgtemp.Options{}) }

// StartMirror starts a server for a mirror.
func StartMirror(t testing.TB) *pgtemp.Server {
	return StartServer(t, pgtemp.Options{Mirror: true})
}

// StartServer starts a server that ends with the test.
func StartServer(t testing.TB, o pgtemp.Options) *pgtemp.Server {
	t.Helper()
	s, err := pgtemp.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}
