package faulttest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpproxy/internal/await"
	"dpproxy/internal/redistemp"
)

// patience is how long a test waits for processes that are killed and started on a busy machine.
const patience = 40 * time.Second

// A redisServer is a Redis of a test's own.
type redisServer struct {
	*redistemp.Server
	t *testing.T
}

// startRedis starts a Redis with the settings that the ledger requires, one that lets a replica
// catch up at once, and more.
func startRedis(t *testing.T, more ...string) *redisServer {
	t.Helper()
	args := slices.Concat(redistemp.Durable, []string{"--repl-diskless-sync-delay", "0"}, more)
	return &redisServer{redistemp.Start(t, args...), t}
}

// quiet waits until every connection but the test's own has been served to its
// end, so that nothing is on its way any more.
func (s *redisServer) quiet() {
	s.t.Helper()
	await.Within(s.t, patience, "Redis has served all connections", func() bool {
		list, err := s.Client.ClientList(context.Background()).Result()
		return err == nil && strings.Count(list, "id=") == 1
	})
}

// aof is the folder of the append-only file.
func (s *redisServer) aof() string { return filepath.Join(s.Dir, "appendonlydir") }

// saveAOF copies the append-only file while the server is down.
func (s *redisServer) saveAOF(to string) {
	s.t.Helper()
	if err := os.CopyFS(to, os.DirFS(s.aof())); err != nil {
		s.t.Fatal(err)
	}
}

// restoreAOF puts a copy in the place of the append-only file while the server is
// down.
func (s *redisServer) restoreAOF(from string) {
	s.t.Helper()
	if err := os.RemoveAll(s.aof()); err != nil {
		s.t.Fatal(err)
	}
	if err := os.CopyFS(s.aof(), os.DirFS(from)); err != nil {
		s.t.Fatal(err)
	}
}

// incremental returns the file to which commands are appended, in a copy of the
// folder.
func incremental(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.incr.aof"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the append-only files in %s are %v, %v", dir, found, err)
	}
	return found[0]
}

// pretendDurable sets the settings that the ledger checks, on a server that was
// started without it.
func (s *redisServer) pretendDurable() {
	s.t.Helper()
	if err := s.Client.ConfigSet(context.Background(), "aof-load-truncated", "no").Err(); err != nil {
		s.t.Fatal(fmt.Errorf("CONFIG SET: %w", err))
	}
}
