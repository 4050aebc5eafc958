package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dpproxy/internal/await"
)

// durable are the settings that the ledger requires, and one that lets a replica
// catch up at once.
var durable = []string{
	"--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "no",
	"--aof-load-truncated", "no", "--maxmemory-policy", "noeviction", "--save", "",
	"--repl-diskless-sync-delay", "0",
}

// patience is how long a test waits for processes that are killed and started on a busy machine.
const patience = 40 * time.Second

// A redisServer is a Redis of a test's own, on a socket.
type redisServer struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	exited chan struct{}
	admin  *redis.Client
}

// newRedis prepares a server that does not run yet.
func newRedis(t *testing.T) *redisServer {
	t.Helper()
	s := &redisServer{t: t, dir: t.TempDir()}
	t.Cleanup(s.kill)
	return s
}

func startRedis(t *testing.T, more ...string) *redisServer {
	t.Helper()
	s := newRedis(t)
	s.start(more...)
	return s
}

func (s *redisServer) socket() string { return filepath.Join(s.dir, "redis.sock") }

func (s *redisServer) url() string { return "unix://" + s.socket() }

// start starts the server with the durable settings and more, and waits until it
// answers.
func (s *redisServer) start(more ...string) {
	s.t.Helper()
	if err := s.tryStart(more...); err != nil {
		s.t.Fatal(err)
	}
}

// errRefused says that a server ended instead of answering.
var errRefused = errors.New("redis-server refused to start")

func (s *redisServer) tryStart(more ...string) error {
	s.t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		s.t.Fatal("redis-server is not installed; make setup-test installs it")
	}
	args := append([]string{
		"--port", "0", "--unixsocket", s.socket(), "--dir", s.dir, "--logfile", filepath.Join(s.dir, "log"),
	}, durable...)
	s.cmd = exec.Command(path, append(args, more...)...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	exited := make(chan struct{})
	s.exited = exited
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait()
		close(exited)
	}(s.cmd)
	s.admin = redis.NewClient(&redis.Options{Network: "unix", Addr: s.socket(), DisableIdentity: true, MaxRetries: -1, PoolSize: 1})
	refused := false
	await.Within(s.t, patience, "redis-server answers", func() bool {
		select {
		case <-exited:
			refused = true
		default:
		}
		return refused || s.listens() && s.admin.Ping(context.Background()).Err() == nil
	})
	if refused {
		_ = s.admin.Close()
		return errRefused
	}
	return nil
}

// listens says whether the server accepts connections. A client that finds that it
// does not is slow to try again.
func (s *redisServer) listens() bool {
	conn, err := net.Dial("unix", s.socket())
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// kill kills the server as a crash would.
func (s *redisServer) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.admin.Close()
	_ = s.cmd.Process.Kill()
	<-s.exited
}

// quiet waits until every connection but the test's own has been served to its
// end, so that nothing is on its way any more.
func (s *redisServer) quiet() {
	s.t.Helper()
	await.Within(s.t, patience, "Redis has served all connections", func() bool {
		list, err := s.admin.ClientList(context.Background()).Result()
		return err == nil && strings.Count(list, "id=") == 1
	})
}

// aof is the folder of the append-only file.
func (s *redisServer) aof() string { return filepath.Join(s.dir, "appendonlydir") }

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
	if err := s.admin.ConfigSet(context.Background(), "aof-load-truncated", "no").Err(); err != nil {
		s.t.Fatal(fmt.Errorf("CONFIG SET: %w", err))
	}
}
