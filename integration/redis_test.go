package integration_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// durable are the settings that a ledger requires of Redis.
var durable = []string{
	"--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "no",
	"--aof-load-truncated", "no", "--maxmemory-policy", "noeviction", "--save", "",
}

// redisServer is a Redis of a test's own, on a socket.
type redisServer struct {
	dir    string
	args   []string
	cmd    *exec.Cmd
	client *redis.Client // of the user that may do everything
}

// startRedis starts a Redis with the given arguments, of which the first can be a
// configuration file.
func startRedis(t testing.TB, args ...string) *redisServer {
	t.Helper()
	dir, err := os.MkdirTemp("", "redis") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &redisServer{dir: dir, args: args}
	r.client = redis.NewClient(&redis.Options{Network: "unix", Addr: r.socket(), DisableIdentity: true})
	t.Cleanup(func() { r.client.Close() })
	r.start(t)
	t.Cleanup(func() { r.kill() })
	return r
}

func (r *redisServer) socket() string { return filepath.Join(r.dir, "redis.sock") }

// start starts the server and waits until it answers, be it with a refusal.
func (r *redisServer) start(t testing.TB) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is not installed: make setup-test installs it")
	}
	r.cmd = exec.Command(path, append(r.args, "--port", "0", "--unixsocket", r.socket(), "--dir", r.dir,
		"--daemonize", "no", "--pidfile", "", "--logfile", filepath.Join(r.dir, "log"))...)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-tick.C {
		err := r.client.Ping(context.Background()).Err()
		if err == nil || redis.HasErrorPrefix(err, "NOAUTH") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server does not answer: %v", err)
		}
	}
}

// kill kills the server as a crash would.
func (r *redisServer) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// url is the URL for a user; empty: the default one.
func (r *redisServer) url(user string) string {
	if user != "" {
		user += "@"
	}
	return "unix://" + user + r.socket()
}

// onRedis returns another proxy of the site: the same databases and the same secret,
// a journal of its own, and the ledger "clinic" in Redis.
func (s *site) onRedis(t testing.TB, r *redisServer, user string, more ...string) *site {
	t.Helper()
	text, err := os.ReadFile(s.policy)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	dir := t.TempDir()
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "ledger:") {
			line = "ledger: {" + strings.Join(append([]string{
				"dir: " + filepath.Join(dir, "journal"), `redis: "` + r.url(user) + `"`, "name: clinic",
			}, more...), ", ") + "}\nsecret_file: " + filepath.Join(s.dir, "ledger", "secret") + "\n"
		}
		if !strings.HasPrefix(line, "secret_file:") {
			lines = append(lines, line)
		}
	}
	v := *s
	v.policy = filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(v.policy, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return &v
}

// journal is the folder of the proxy's journal.
func (s *site) journal() string { return filepath.Join(filepath.Dir(s.policy), "journal") }

// json runs a command with -o json and reads what it says.
func (s *site) json(t testing.TB, into any, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t), append(args, "-o", "json")...).Output()
	if err != nil {
		t.Fatalf("dpproxy %s: %v", strings.Join(args, " "), err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("dpproxy %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
