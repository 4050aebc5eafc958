package operations_test

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

	"dpproxy/internal/redistemp"
	"dpproxy/internal/sitetest"
)

// ledgerPolicy needs no database: the commands about the ledger do not ask it.
const ledgerPolicy = `data: postgres://127.0.0.1:1/clinic
mirror: postgres://mirror/clinic
ledger: {dir: DIR}
privacy_unit: {name: patient, budget: {epsilon: 3, delta: 1e-6}}
tables: {patients: {unit: id, budget: {epsilon: 1}}}
`

// newLedgerSite is a site without databases and without a ledger.
func newLedgerSite(t *testing.T) *sitetest.Site {
	t.Helper()
	s := &sitetest.Site{Dir: t.TempDir()}
	s.Policy = filepath.Join(s.Dir, "policy.yaml")
	text := strings.Replace(ledgerPolicy, "DIR", filepath.Join(s.Dir, "ledger"), 1)
	if err := os.WriteFile(s.Policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// eachLedger tests both kinds of ledgers.
func eachLedger(t *testing.T, test func(t *testing.T, s *sitetest.Site)) {
	t.Run("embedded", func(t *testing.T) { test(t, newLedgerSite(t)) })
	t.Run("Redis", func(t *testing.T) {
		test(t, newLedgerSite(t).OnRedis(t, redistemp.Start(t, redistemp.Durable...), ""))
	})
}

func balances(t *testing.T, s *sitetest.Site) (table, unit sitetest.Balance) {
	t.Helper()
	var all []sitetest.Balance
	s.JSON(t, &all, "budget", "list", s.Policy)
	if len(all) != 2 || all[0].Kind != "table" || all[0].Name != "public.patients" || all[1].Kind != "unit" || all[1].Name != "patient" {
		t.Fatalf("balances %+v", all)
	}
	return all[0], all[1]
}

func TestBudgetCommands(t *testing.T) {
	eachLedger(t, func(t *testing.T, s *sitetest.Site) {
		s.Refuses(t, "dpproxy init makes it, once", "budget", "list", s.Policy)
		s.Command(t, "ledger", "init", s.Policy)
		s.Refuses(t, "there is a ledger", "init", s.Policy)
		table, unit := balances(t, s)
		if table.Limit != "1" || table.Measure != "pure" || table.Remaining != "1" || table.PolicyLimit != "1" ||
			unit.Limit != "0.175749908689" || unit.DeltaLimit != "0.0000005" || unit.DeltaRemaining != "0.0000005" {
			t.Errorf("%+v, %+v", table, unit)
		}
		decide := func(command, scope string, more ...string) []string {
			return append([]string{"budget", command, s.Policy, "--scope", scope, "--reason", "a study"}, more...)
		}
		s.Says(t, "set tables.patients.budget to {epsilon: 2.5}",
			decide("raise", "table:patients", "--epsilon", "2.5", "--who", "carol")...)
		s.Says(t, "dpproxy would not start", decide("lower", "unit:patient", "--epsilon", "2", "--delta", "1e-6")...)
		s.Says(t, "unit:patient is frozen", decide("freeze", "unit:patient")...)
		s.Says(t, "frozen; the policy says", "budget", "list", s.Policy)
		if table, unit = balances(t, s); table.Limit != "2.5" || table.PolicyLimit != "1" ||
			unit.Limit != "0.083441717833" || !unit.Frozen {
			t.Errorf("%+v, %+v", table, unit)
		}
		s.Says(t, "unit:patient is charged again", decide("thaw", "unit:patient")...)
		s.Says(t, "the policy says the same", decide("raise", "unit:patient", "--epsilon", "3", "--delta", "1e-6")...)
		s.Says(t, "table:public.patients is limited to ε=1", decide("lower", "table:public.patients", "--epsilon", "1")...)
		for _, c := range []struct {
			want string
			args []string
		}{
			{"is not a raise", decide("raise", "unit:patient", "--epsilon", "3", "--delta", "1e-6")},
			{"give --delta as well", decide("raise", "unit:patient", "--epsilon", "4")}, // another measure
			{"does not lower it", decide("lower", "unit:patient", "--epsilon", "4", "--delta", "1e-6")},
			{"is not frozen", decide("thaw", "unit:patient")},
			{"dpproxy budget list shows the budgets", decide("freeze", "analyst:nobody")},
			{"unit:NAME, table:NAME, local:NAME or analyst:NAME", decide("freeze", "patient")},
			{"epsilon: \"x\" is no decimal number", decide("raise", "unit:patient", "--epsilon", "x")},
			{"delta: must be below 1", decide("raise", "unit:patient", "--epsilon", "4", "--delta", "1")},
			{"missing flags: --reason", []string{"budget", "freeze", s.Policy, "--scope", "unit:patient"}},
			{"must say who made it and why", append(decide("freeze", "unit:patient"), "--reason", "")},
		} {
			s.Refuses(t, c.want, c.args...)
		}
		if table, unit = balances(t, s); table.Limit != "1" || unit.Limit != "0.175749908689" || unit.Frozen {
			t.Errorf("%+v, %+v", table, unit)
		}
	})
}

// export returns the lines of the ledger and the message about the last.
func export(t *testing.T, s *sitetest.Site) (lines [][]byte, said string) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), sitetest.Program(t), "ledger", "export", s.Policy)
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
	Marks                                             []struct{ Place, Error string }
	Balances                                          []sitetest.Balance
}

// TestExport checks the exported lines as anybody can, with SHA-256 alone, and
// compares them with the findings of verify.
func TestExport(t *testing.T) {
	eachLedger(t, func(t *testing.T, s *sitetest.Site) {
		s.Command(t, "init", s.Policy)
		s.Command(t, "budget", "freeze", s.Policy, "--scope", "unit:patient", "--who", "carol", "--reason", "an <audit>")
		var v verdict
		s.JSON(t, &v, "ledger", "verify", s.Policy)
		lines, said := export(t, s)
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
		s.Says(t, head, "ledger", "verify", s.Policy)
		var runs []struct{ Run string }
		if s.JSON(t, &runs, "ledger", "runs", s.Policy); len(runs) != v.Running {
			t.Errorf("runs %+v, verify says %+v", runs, v)
		}
		s.Says(t, "RUN", "ledger", "runs", s.Policy)
	})
}

func TestVerifyFindsDamageToTheLog(t *testing.T) {
	s := newLedgerSite(t)
	s.Command(t, "init", s.Policy)
	log := filepath.Join(s.Dir, "ledger", "ledger.log")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(text, []byte("patient"), []byte("pATIENT"), 1)
	if err := os.WriteFile(log, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"verify", "export", "runs"} {
		s.Refuses(t, s.Dir, "ledger", command, s.Policy)
	}
}

func TestVerifyFindsDamageToRedis(t *testing.T) {
	r := redistemp.Start(t, redistemp.Durable...)
	s := newLedgerSite(t).OnRedis(t, r, "")
	s.Command(t, "init", s.Policy)
	good, err := r.Client.HGetAll(t.Context(), "dp:clinic").Result()
	if err != nil {
		t.Fatal(err)
	}
	head := func(line string) string {
		sum := sha256.Sum256([]byte(line))
		return hex.EncodeToString(sum[:])
	}
	forged := strings.Replace(good["x:5"], "the process ended", "it was stopped", 1)
	for _, damage := range []struct {
		change map[string]string
		want   string
	}{
		{map[string]string{"x:4": strings.Replace(good["x:4"], `"pico":1`, `"pico":2`, 1)}, "the chain of hashes is broken"},
		{map[string]string{"seq": "2", "head": head(good["x:2"])}, "went backwards: it ends with entry 2"},
		{map[string]string{"x:5": forged, "head": head(forged)}, "entry 5 differs"},
	} {
		if err := r.Client.HSet(t.Context(), "dp:clinic", damage.change).Err(); err != nil {
			t.Fatal(err)
		}
		s.Refuses(t, damage.want, "ledger", "verify", s.Policy)
		if err := r.Client.HSet(t.Context(), "dp:clinic", good).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Client.Del(t.Context(), "dp:clinic").Err(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"init", "run"} {
		s.Refuses(t, "is gone, and this proxy has its journal", command, s.Policy)
	}
	s.Says(t, "5 were put back", "ledger", "repair", s.Policy, "--journal", s.Journal(), "--reason", "the disk is new")
	s.Says(t, "journal", "ledger", "verify", s.Policy)
}

// TestInitOnASecondProxy makes no second ledger, and wants the secret of the first.
func TestInitOnASecondProxy(t *testing.T) {
	r := redistemp.Start(t, redistemp.Durable...)
	first := newLedgerSite(t)
	s := first.OnRedis(t, r, "")
	s.Command(t, "init", s.Policy)
	before, err := r.Client.HGet(t.Context(), "dp:clinic", "id").Result()
	if err != nil {
		t.Fatal(err)
	}
	other := newLedgerSite(t)
	p := other.OnRedis(t, r, "")
	secret := filepath.Join(other.Dir, "ledger", "secret")
	p.Refuses(t, "copy the secret of the proxy that made it to "+secret, "init", p.Policy)

	other.Command(t, "init", other.Policy) // its own embedded ledger, with a secret of its own
	for _, command := range []string{"init", "run"} {
		p.Refuses(t, "this proxy has another secret than the one that made the ledger: copy", command, p.Policy)
	}
	text, err := os.ReadFile(filepath.Join(first.Dir, "ledger", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p.Refuses(t, "this proxy has its secret, so that dpproxy run can start here", "init", p.Policy)
	p.Refuses(t, "the protected database", "run", p.Policy, "--wait", "0s") // which does not exist: the ledger was opened
	if after, err := r.Client.HGet(t.Context(), "dp:clinic", "id").Result(); err != nil || after != before {
		t.Errorf("the ledger is %s, was %s, %v", after, before, err)
	}
}

// TestEmbeddedHasNoRepair names the commands that only Redis has.
func TestEmbeddedHasNoRepair(t *testing.T) {
	s := newLedgerSite(t)
	s.Command(t, "init", s.Policy)
	s.Refuses(t, "for a ledger in Redis", "ledger", "fence", s.Policy, "--reason", "x")
	s.Refuses(t, "for a ledger in Redis", "ledger", "repair", s.Policy, "--journal", s.Dir, "--reason", "x")
}
