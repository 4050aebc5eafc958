package integration_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ledgerPolicy needs no database: the commands about the ledger do not ask it.
const ledgerPolicy = `data: postgres://127.0.0.1:1/clinic
mirror: postgres://mirror/clinic
ledger: {dir: DIR}
privacy_unit: {name: patient, budget: {epsilon: 3, delta: 1e-6}}
tables: {patients: {unit: id, budget: {epsilon: 1}}}
`

// newLedgerSite is a site without databases and without a ledger.
func newLedgerSite(t *testing.T) *site {
	t.Helper()
	s := &site{dir: t.TempDir()}
	s.policy = filepath.Join(s.dir, "policy.yaml")
	text := strings.Replace(ledgerPolicy, "DIR", filepath.Join(s.dir, "ledger"), 1)
	if err := os.WriteFile(s.policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// eachLedger tests both kinds of ledgers.
func eachLedger(t *testing.T, test func(t *testing.T, s *site)) {
	t.Run("embedded", func(t *testing.T) { test(t, newLedgerSite(t)) })
	t.Run("Redis", func(t *testing.T) { test(t, newLedgerSite(t).onRedis(t, startRedis(t, durable...), "")) })
}

type balance struct {
	Kind, Name, Measure           string
	Limit, Spent, Held, Remaining json.Number
	DeltaLimit                    json.Number `json:"delta_limit"`
	DeltaRemaining                json.Number `json:"delta_remaining"`
	PolicyLimit                   json.Number `json:"policy_limit"`
	Frozen                        bool
}

func (s *site) balances(t *testing.T) (table, unit balance) {
	t.Helper()
	var all []balance
	s.json(t, &all, "budget", "list", s.policy)
	if len(all) != 2 || all[0].Kind != "table" || all[0].Name != "public.patients" || all[1].Kind != "unit" || all[1].Name != "patient" {
		t.Fatalf("balances %+v", all)
	}
	return all[0], all[1]
}

func (s *site) says(t *testing.T, want string, args ...string) {
	t.Helper()
	if out := s.command(t, args...); !strings.Contains(out, want) {
		t.Errorf("dpproxy %s says %s, want %q", strings.Join(args, " "), out, want)
	}
}

func (s *site) refuses(t *testing.T, want string, args ...string) {
	t.Helper()
	if out, failed := s.attempt(t, args...); !failed || !strings.Contains(out, want) {
		t.Errorf("dpproxy %s: failed is %t, it says %s, want %q", strings.Join(args, " "), failed, out, want)
	}
}

func TestBudgetCommands(t *testing.T) {
	eachLedger(t, func(t *testing.T, s *site) {
		s.refuses(t, "dpproxy init makes it, once", "budget", "list", s.policy)
		s.command(t, "ledger", "init", s.policy)
		s.refuses(t, "there is a ledger", "init", s.policy)
		table, unit := s.balances(t)
		if table.Limit != "1" || table.Measure != "pure" || table.Remaining != "1" || table.PolicyLimit != "1" || unit.Limit != "0.175749908689" || unit.DeltaLimit != "0.0000005" || unit.DeltaRemaining != "0.0000005" {
			t.Errorf("%+v, %+v", table, unit)
		}
		decide := func(command, scope string, more ...string) []string {
			return append([]string{"budget", command, s.policy, "--scope", scope, "--reason", "a study"}, more...)
		}
		s.says(t, "set tables.patients.budget to {epsilon: 2.5}", decide("raise", "table:patients", "--epsilon", "2.5", "--who", "carol")...)
		s.says(t, "dpproxy would not start", decide("lower", "unit:patient", "--epsilon", "2", "--delta", "1e-6")...)
		s.says(t, "unit:patient is frozen", decide("freeze", "unit:patient")...)
		s.says(t, "frozen; the policy says", "budget", "list", s.policy)
		if table, unit = s.balances(t); table.Limit != "2.5" || table.PolicyLimit != "1" || unit.Limit != "0.083441717833" || !unit.Frozen {
			t.Errorf("%+v, %+v", table, unit)
		}
		s.says(t, "unit:patient is charged again", decide("thaw", "unit:patient")...)
		s.says(t, "the policy says the same", decide("raise", "unit:patient", "--epsilon", "3", "--delta", "1e-6")...)
		s.says(t, "table:public.patients is limited to ε=1", decide("lower", "table:public.patients", "--epsilon", "1")...)
		for _, c := range []struct {
			want string
			args []string
		}{
			{"is not a raise", decide("raise", "unit:patient", "--epsilon", "3", "--delta", "1e-6")},
			{"is not a raise", decide("raise", "unit:patient", "--epsilon", "4")}, // another measure
			{"does not lower it", decide("lower", "unit:patient", "--epsilon", "4", "--delta", "1e-6")},
			{"already is so", decide("thaw", "unit:patient")},
			{"dpproxy budget list shows the budgets", decide("freeze", "analyst:nobody")},
			{"unit:NAME, table:NAME or analyst:NAME", decide("freeze", "patient")},
			{"epsilon: \"x\" is no decimal number", decide("raise", "unit:patient", "--epsilon", "x")},
			{"delta: must be below 1", decide("raise", "unit:patient", "--epsilon", "4", "--delta", "1")},
			{"missing flags: --reason", []string{"budget", "freeze", s.policy, "--scope", "unit:patient"}},
			{"must say who made it and why", append(decide("freeze", "unit:patient"), "--reason", "")},
		} {
			s.refuses(t, c.want, c.args...)
		}
		if table, unit = s.balances(t); table.Limit != "1" || unit.Limit != "0.175749908689" || unit.Frozen {
			t.Errorf("%+v, %+v", table, unit)
		}
	})
}

// export returns the lines of the ledger and what is said about the last.
func (s *site) export(t *testing.T) (lines [][]byte, said string) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program(t), "ledger", "export", s.policy)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	return bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n")), stderr.String()
}

type verdict struct {
	Ledger                                            string
	Entries, Charges, Voids, Runs, Running, Incidents int
	Head                                              string
	Journal                                           *uint64
	Balances                                          []balance
}

// TestExport checks the exported lines as anybody can, with SHA-256 alone, and
// compares them with what verify says.
func TestExport(t *testing.T) {
	eachLedger(t, func(t *testing.T, s *site) {
		s.command(t, "init", s.policy)
		s.command(t, "budget", "freeze", s.policy, "--scope", "unit:patient", "--who", "carol", "--reason", "an <audit>")
		var v verdict
		s.json(t, &v, "ledger", "verify", s.policy)
		lines, said := s.export(t)
		head := ""
		carol := false
		for i, line := range lines {
			var e struct {
				Seq    int
				Prev   string
				Freeze struct{ Who, Reason string }
			}
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			if e.Seq != i+1 || i > 0 && e.Prev != head {
				t.Errorf("line %d has number %d and follows %s, not %s", i+1, e.Seq, e.Prev, head)
			}
			carol = carol || e.Freeze.Who == "carol" && e.Freeze.Reason == "an <audit>"
			sum := sha256.Sum256(line)
			head = hex.EncodeToString(sum[:])
		}
		if !carol || !strings.Contains(said, head) || v.Head != head || v.Entries != len(lines) {
			t.Errorf("carol %t; the head is %s; export says %s; verify says %+v", carol, head, said, v)
		}
		s.says(t, head, "ledger", "verify", s.policy)
		var runs []struct{ Run string }
		if s.json(t, &runs, "ledger", "runs", s.policy); len(runs) != v.Running {
			t.Errorf("runs %+v, verify says %+v", runs, v)
		}
		s.says(t, "RUN", "ledger", "runs", s.policy)
	})
}

func TestVerifyFindsDamageToTheLog(t *testing.T) {
	s := newLedgerSite(t)
	s.command(t, "init", s.policy)
	log := filepath.Join(s.dir, "ledger", "ledger.log")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(text, []byte("patient"), []byte("pATIENT"), 1)
	if err := os.WriteFile(log, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"verify", "export", "runs"} {
		s.refuses(t, s.dir, "ledger", command, s.policy)
	}
}

func TestVerifyFindsDamageToRedis(t *testing.T) {
	r := startRedis(t, durable...)
	s := newLedgerSite(t).onRedis(t, r, "")
	s.command(t, "init", s.policy)
	good, err := r.client.HGetAll(t.Context(), "dp:clinic").Result()
	if err != nil {
		t.Fatal(err)
	}
	head := func(line string) string {
		sum := sha256.Sum256([]byte(line))
		return hex.EncodeToString(sum[:])
	}
	forged := strings.Replace(good["x:4"], "the process ended", "it was stopped", 1)
	for _, damage := range []struct {
		change map[string]string
		want   string
	}{
		{map[string]string{"x:3": strings.Replace(good["x:3"], `"pico":1`, `"pico":2`, 1)}, "the chain of hashes is broken"},
		{map[string]string{"seq": "2", "head": head(good["x:2"])}, "went backwards: it ends with entry 2"},
		{map[string]string{"x:4": forged, "head": head(forged)}, "entry 4 differs"},
	} {
		if err := r.client.HSet(t.Context(), "dp:clinic", damage.change).Err(); err != nil {
			t.Fatal(err)
		}
		s.refuses(t, damage.want, "ledger", "verify", s.policy)
		if err := r.client.HSet(t.Context(), "dp:clinic", good).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.client.Del(t.Context(), "dp:clinic").Err(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"init", "run"} {
		s.refuses(t, "is gone, and this proxy has its journal", command, s.policy)
	}
	s.says(t, "4 were put back", "ledger", "repair", s.policy, "--journal", s.journal(), "--reason", "the disk is new")
	s.says(t, "journal", "ledger", "verify", s.policy)
}

// TestInitOnASecondProxy makes no second ledger, and wants the secret of the first.
func TestInitOnASecondProxy(t *testing.T) {
	r := startRedis(t, durable...)
	first := newLedgerSite(t)
	s := first.onRedis(t, r, "")
	s.command(t, "init", s.policy)
	before, err := r.client.HGet(t.Context(), "dp:clinic", "id").Result()
	if err != nil {
		t.Fatal(err)
	}
	other := newLedgerSite(t)
	p := other.onRedis(t, r, "")
	secret := filepath.Join(other.dir, "ledger", "secret")
	p.refuses(t, "copy the secret of the proxy that made it to "+secret, "init", p.policy)

	other.command(t, "init", other.policy) // its own embedded ledger, with a secret of its own
	for _, command := range []string{"init", "run"} {
		p.refuses(t, "this proxy has another secret than the one that made the ledger: copy", command, p.policy)
	}
	text, err := os.ReadFile(filepath.Join(first.dir, "ledger", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p.refuses(t, "this proxy has its secret, so that dpproxy run can start here", "init", p.policy)
	p.refuses(t, "the protected database", "run", p.policy) // which does not exist: the ledger was opened
	if after, err := r.client.HGet(t.Context(), "dp:clinic", "id").Result(); err != nil || after != before {
		t.Errorf("the ledger is %s, was %s, %v", after, before, err)
	}
}

// TestEmbeddedHasNoRepair names what the commands for Redis do not do.
func TestEmbeddedHasNoRepair(t *testing.T) {
	s := newLedgerSite(t)
	s.command(t, "init", s.policy)
	s.refuses(t, "for a ledger in Redis", "ledger", "fence", s.policy, "--reason", "x")
	s.refuses(t, "for a ledger in Redis", "ledger", "repair", s.policy, "--journal", s.dir, "--reason", "x")
}
