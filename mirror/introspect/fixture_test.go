package introspect_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/mirrortest"
)

// The fixtures that package mirror has too.
var (
	name    = mirrortest.Name
	start   = mirrortest.Start
	connect = mirrortest.Connect
	run     = mirrortest.Run
	since   = mirrortest.RunSince
	value   = mirrortest.Value
	clinic  = mirrortest.Clinic
)

// read reads tables in a snapshot of their own.
func read(t testing.TB, conn *pgx.Conn, names ...catalog.Name) (*catalog.Schema, error) {
	t.Helper()
	tx, err := conn.BeginTx(t.Context(), introspect.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	return introspect.Read(t.Context(), tx, introspect.Relations{Names: names})
}
