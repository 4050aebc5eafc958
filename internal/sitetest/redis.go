package sitetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Durable are the settings that a ledger requires of Redis.
var Durable = []string{
	"--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "no",
	"--aof-load-truncated", "no", "--maxmemory-policy", "noeviction", "--save", "",
}

// A Redis is one of a test's own, on a socket.
type Redis struct {
	dir    string
	args   []string
	cmd    *exec.Cmd
	Client *redis.Client // of the user that may do everything
}

// StartRedis starts a Redis with the given arguments, of which the first can be a
// configuration file.
func StartRedis(t testing.TB, args ...string) *Redis {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &Redis{dir: dir, args: args}
	r.Client = redis.NewClient(&redis.Options{Network: "unix", Addr: r.Socket(), DisableIdentity: true})
	t.Cleanup(func() { r.Client.Close() })
	r.Start(t)
	t.Cleanup(func() { r.Kill() })
	return r
}

// Socket is the path of its socket.
func (r *Redis) Socket() string { return filepath.Join(r.dir, "redis.sock") }

// Start starts the server and waits until it answers, be it with a refusal.
func (r *Redis) Start(t testing.TB) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is not installed: make setup-test installs it")
	}
	r.cmd = exec.Command(path, append(r.args, "--port", "0", "--unixsocket", r.Socket(), "--dir", r.dir,
		"--daemonize", "no", "--pidfile", "", "--logfile", filepath.Join(r.dir, "log"))...)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-tick.C {
		err := r.Client.Ping(context.Background()).Err()
		if err == nil || redis.HasErrorPrefix(err, "NOAUTH") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server does not answer: %v", err)
		}
	}
}

// Kill kills the server as a crash would.
func (r *Redis) Kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// URL is the URL for a user; empty: the default one.
func (r *Redis) URL(user string) string {
	if user != "" {
		user += "@"
	}
	return "unix://" + user + r.Socket()
}

// OnRedis returns another proxy of the site: the same databases and the same secret,
// a journal of its own, and the ledger "clinic" in Redis.
func (s *Site) OnRedis(t testing.TB, r *Redis, user string, more ...string) *Site {
	t.Helper()
	var lines []string
	dir := t.TempDir()
	for line := range strings.Lines(s.read(t)) {
		if strings.HasPrefix(line, "ledger:") {
			line = "ledger: {" + strings.Join(append([]string{
				"dir: " + filepath.Join(dir, "journal"), `redis: "` + r.URL(user) + `"`, "name: clinic",
			}, more...), ", ") + "}\nsecret_file: " + filepath.Join(s.Dir, "ledger", "secret") + "\n"
		}
		if !strings.HasPrefix(line, "secret_file:") {
			lines = append(lines, line)
		}
	}
	v := *s
	v.Policy = filepath.Join(dir, "policy.yaml")
	v.write(t, strings.Join(lines, ""))
	return &v
}
