package source_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/planner/plannertest"
)

// server is a protected database; mirrorServer may be the same one, or another.
var server, mirrorServer *pgtemp.Server

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if server, mirrorServer, err = pgtemp.StartPair(context.Background(), pgtemp.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer server.Stop()
		if mirrorServer != server {
			defer mirrorServer.Stop()
		}
		if version, err := server.Version(); err == nil {
			plannertest.ServedVersion = version * 10000
		}
		return m.Run()
	}())
}
