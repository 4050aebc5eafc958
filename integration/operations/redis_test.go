package operations_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/redisledger"
	remembered "dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/internal/redistemp"
)

// conf returns the configuration of Redis that docs/operations.md shows.
func conf(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, opened := strings.Cut(string(text), "```conf\n")
	found, _, closed := strings.Cut(rest, "```\n")
	if !opened || !closed {
		t.Fatal("docs/operations.md shows no configuration of Redis")
	}
	return found
}

// startDocumented starts a Redis with the documented configuration, which it edits
// first.
func startDocumented(t *testing.T, edits ...string) *redistemp.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "redis.conf")
	if err := os.WriteFile(file, []byte(strings.NewReplacer(edits...).Replace(conf(t))), 0o600); err != nil {
		t.Fatal(err)
	}
	return redistemp.Start(t, file)
}

// TestDocumentedRedis goes through the commands as the documented user, with its
// password from a file and from the environment.
func TestDocumentedRedis(t *testing.T) {
	r := startDocumented(t)
	file := filepath.Join(t.TempDir(), "redis.password")
	if err := os.WriteFile(file, []byte("CHANGE-THIS-TOO\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newLedgerSite(t).OnRedis(t, r, "dpproxy", "redis_password_file: "+file)
	s.Command(t, "init", s.Policy)
	s.Command(t, "budget", "freeze", s.Policy, "--scope", "unit:patient", "--reason", "x")
	s.Command(t, "ledger", "verify", s.Policy)
	s.Command(t, "incidents", "clear", s.Policy, "--reason", "x")
	s.Command(t, "ledger", "fence", s.Policy, "--reason", "x")
	s.Command(t, "ledger", "repair", s.Policy, "--journal", s.Journal(), "--reason", "x")
	t.Setenv("DPPROXY_REDIS_PASSWORD", "wrong")
	s.Refuses(t, "the password in DPPROXY_REDIS_PASSWORD", "budget", "list", s.Policy)
	t.Setenv("DPPROXY_REDIS_PASSWORD", "CHANGE-THIS-TOO")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	s.Says(t, "frozen", "budget", "list", s.Policy)
}

// redisOptions are the options of the documented user.
func redisOptions(t *testing.T, r *redistemp.Server, name string) redisledger.Options {
	return redisledger.Options{
		URL: r.URL("dpproxy"), Password: "CHANGE-THIS-TOO", Name: name, Dir: filepath.Join(t.TempDir(), "journal"),
		Patience: 2 * time.Second,
	}
}

// TestDocumentedUser holds that the documented user may do all that is needed, nothing
// besides, and nothing that destroys.
func TestDocumentedUser(t *testing.T) {
	r := startDocumented(t)
	admin := redis.NewClient(&redis.Options{
		Network: "unix", Addr: r.Socket(), Username: "admin", Password: "CHANGE-THIS", DisableIdentity: true,
	})
	defer admin.Close()
	if err := exercise(t, r, admin, "all"); err != nil {
		t.Fatalf("the documented user: %v", err)
	}
	testDocumentedAnswers(t, r, admin)
	rules := regexp.MustCompile(`user dpproxy .*-@all ([^(]*)\(`).FindStringSubmatch(conf(t))
	for rule := range strings.FieldsSeq(rules[1]) {
		set := func(rule string) {
			t.Helper()
			if err := admin.Do(t.Context(), "ACL", "SETUSER", "dpproxy", rule).Err(); err != nil {
				t.Fatal(err)
			}
		}
		set("-" + rule[1:])
		if err := exercise(t, r, admin, "without"+strings.ReplaceAll(rule, "|", "")); err == nil {
			t.Errorf("%s is not needed", rule)
		}
		set(rule)
	}
	user := redis.NewClient(&redis.Options{
		Network: "unix", Addr: r.Socket(), Username: "dpproxy", Password: "CHANGE-THIS-TOO", DisableIdentity: true,
	})
	defer user.Close()
	for _, command := range []string{"FLUSHALL", "DEL dp:all", "CONFIG SET appendfsync no", "HDEL dp:all x:1", "HGET other x"} {
		var args []any
		for word := range strings.FieldsSeq(command) {
			args = append(args, word)
		}
		if err := user.Do(t.Context(), args...).Err(); !redis.HasErrorPrefix(err, "NOPERM") {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// testDocumentedAnswers remembers answers with each of the commands that are
// documented for it, and without.
func testDocumentedAnswers(t *testing.T, r *redistemp.Server, admin *redis.Client) {
	t.Helper()
	selector := regexp.MustCompile(`user dpproxy .*\((.*)\)`).FindStringSubmatch(conf(t))
	probe := func(rules string) error {
		if err := admin.Do(t.Context(), "ACL", "SETUSER", "dpproxy", "clearselectors", "("+rules+")").Err(); err != nil {
			t.Fatal(err)
		}
		client := redis.NewClient(&redis.Options{
			Network: "unix", Addr: r.Socket(), Username: "dpproxy", Password: "CHANGE-THIS-TOO", DisableIdentity: true,
		})
		store, err := remembered.NewRedis(client, "clinic", 10, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		return store.Probe(t.Context())
	}
	if err := probe(selector[1]); err != nil {
		t.Errorf("the documented user remembers nothing: %v", err)
	}
	for rule := range strings.FieldsSeq(selector[1]) {
		if rule[0] == '+' && rule != "+exists" && probe(strings.Replace(selector[1], rule, "", 1)) == nil {
			t.Errorf("%s is not needed for answers", rule)
		}
	}
	if err := probe(selector[1]); err != nil {
		t.Error(err)
	}
}

// exercise uses a ledger in every way that sends another command.
func exercise(t *testing.T, r *redistemp.Server, admin *redis.Client, name string) error {
	t.Helper()
	if err := admin.ScriptFlush(t.Context()).Err(); err != nil { // EVALSHA finds nothing at first
		t.Fatal(err)
	}
	o := redisOptions(t, r, name)
	if err := redisledger.Init(t.Context(), o); err != nil {
		return err
	}
	unit := accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}
	loss, err := dp.NewLoss(dp.PureDP, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := redisledger.Open(t.Context(), []accountant.Limit{{Scope: unit, Loss: loss}}, o)
	if err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	// A replica is waited for in vain, which takes the right to wait.
	waiting := o
	waiting.Replicas = 1
	w, err := redisledger.OpenReader(t.Context(), waiting, func(history.Record) {})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Decide(t.Context(), history.NoteEntry{Who: "carol", Text: "x"}); !strings.Contains(fmt.Sprint(err), "too few replicas") {
		return fmt.Errorf("without a replica: %w", err)
	}
	_, err = redisledger.RepairFrom(t.Context(), o, []string{o.Dir}, "carol", "x")
	return err
}

// TestDebiansRedisIsRefused starts Redis as Debian's package configures it.
func TestDebiansRedisIsRefused(t *testing.T) {
	args := []string{"--appendonly", "no", "--appendfsync", "everysec", "--aof-load-truncated", "yes", "--no-appendfsync-on-rewrite", "no"}
	const file = "/etc/redis/redis.conf"
	if f, err := os.Open(file); err == nil { // the very file, where its reader may
		f.Close()
		args = []string{file}
	}
	s := newLedgerSite(t).OnRedis(t, redistemp.Start(t, args...), "")
	out, failed := s.Attempt(t, "init", s.Policy)
	for _, want := range []string{
		`appendonly is "no" and must be "yes"`, `appendfsync is "everysec" and must be "always"`,
		`aof-load-truncated is "yes" and must be "no"`, "docs/operations.md",
	} {
		if !failed || !strings.Contains(out, want) {
			t.Errorf("init says %s, want %s", out, want)
		}
	}
}

// TestHiddenSettings lets an operator vouch for settings that a managed Redis hides, and
// records it.
func TestHiddenSettings(t *testing.T) {
	r := redistemp.Start(t, append(slices.Clone(redistemp.Durable), "--rename-command", "CONFIG", "")...)
	bare := newLedgerSite(t)
	s := bare.OnRedis(t, r, "")
	s.Refuses(t, "appendfsync is hidden", "init", s.Policy)
	s = bare.OnRedis(t, r, "", `asserted_durable: "carol has asked the provider"`)
	s.Command(t, "init", s.Policy)
	lines, _ := export(t, s)
	if !slices.ContainsFunc(lines, func(line []byte) bool { return strings.Contains(string(line), "carol has asked the provider") }) {
		t.Errorf("the ledger does not tell who vouches: %s", lines)
	}
}

// TestMoveToRedis repairs an empty Redis from an embedded ledger, which goes on
// there as the first journal.
func TestMoveToRedis(t *testing.T) {
	s := newLedgerSite(t)
	s.Command(t, "init", s.Policy)
	s.Command(t, "budget", "freeze", s.Policy, "--scope", "unit:patient", "--reason", "x")
	moved := s.OnRedis(t, redistemp.Start(t, redistemp.Durable...), "")
	text, err := os.ReadFile(moved.Policy)
	if err != nil {
		t.Fatal(err)
	}
	ledger := filepath.Join(s.Dir, "ledger")
	if err := os.WriteFile(moved.Policy, []byte(strings.Replace(string(text), "dir: "+moved.Journal(), "dir: "+ledger, 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	moved.Refuses(t, "dpproxy ledger repair", "init", moved.Policy)
	moved.Command(t, "ledger", "repair", moved.Policy, "--journal", ledger, "--reason", "moved to Redis")
	moved.Says(t, "frozen", "budget", "list", moved.Policy)
	moved.Refuses(t, "the protected database", "run", moved.Policy, "--wait", "0s") // which does not exist: the ledger was opened
	moved.Says(t, "agrees, up to entry", "ledger", "verify", moved.Policy)
}
