// Package redistemp starts throwaway Redis servers for tests.
package redistemp

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dpproxy/internal/await"
)

// Durable are the settings that a ledger requires.
var Durable = []string{
	"--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "no",
	"--aof-load-truncated", "no", "--maxmemory-policy", "noeviction", "--save", "",
}

// ErrRefused is the error of a server that ends instead of answering.
var ErrRefused = errors.New("redis-server refused to start")

// patience is how long a start may take.
const patience = 40 * time.Second

// A Server is a Redis of a test's own, on a socket. It ends with the test.
type Server struct {
	Dir    string        // its files and its socket
	Client *redis.Client // of the user that may do everything
	args   []string
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start starts a server with the given arguments, of which the first can be a configuration file.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{Dir: dir, args: args}
	s.Client = redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket(), DisableIdentity: true, MaxRetries: -1})
	t.Cleanup(func() { s.Client.Close() })
	t.Cleanup(s.Kill)
	s.Start(t)
	return s
}

// Socket is the path of its socket.
func (s *Server) Socket() string { return filepath.Join(s.Dir, "redis.sock") }

// URL is the URL for a user; empty: the default one.
func (s *Server) URL(user string) string {
	if user != "" {
		user += "@"
	}
	return "unix://" + user + s.Socket()
}

// Start starts the server again after [Server.Kill], with more arguments for this time.
func (s *Server) Start(t testing.TB, more ...string) {
	t.Helper()
	if err := s.TryStart(t, more...); err != nil {
		t.Fatal(err)
	}
}

// TryStart is [Server.Start] for files that Redis may not load: it returns [ErrRefused] then.
func (s *Server) TryStart(t testing.TB, more ...string) error {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is not installed: make setup-test installs it")
	}
	cmd := exec.Command(path, slices.Concat(s.args, []string{
		"--port", "0", "--unixsocket", s.Socket(), "--dir", s.Dir,
		"--daemonize", "no", "--pidfile", "", "--logfile", filepath.Join(s.Dir, "log"),
	}, more)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	s.cmd, s.exited = cmd, exited
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	refused := false
	await.Within(t, patience, "redis-server answers", func() bool {
		select {
		case <-exited:
			refused = true
		default:
		}
		return refused || s.answers()
	})
	if refused {
		return ErrRefused
	}
	return nil
}

// answers says whether the server answers, be it with a refusal. It tries the socket by itself at
// first: a client that finds nobody there is slow to try again.
func (s *Server) answers() bool {
	conn, err := net.Dial("unix", s.Socket())
	if err != nil {
		return false
	}
	conn.Close()
	err = s.Client.Ping(context.Background()).Err()
	return err == nil || redis.HasErrorPrefix(err, "NOAUTH")
}

// Kill kills the server as a crash would.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.exited
}
