package attacks_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// A recipe is an attack on the budget (K), on remembered answers (J) or on the
// protocol (P) that needs more than one statement.
type recipe struct {
	id, title string
	test      func(*testing.T, *kitchen)
}

// A kitchen is where recipes are tried: a site whose ledger can be read.
type kitchen struct {
	*sitetest.Site
	t     *testing.T // of all recipes
	r     *sitetest.Running
	looks []int64 // see attacker
}

// closed stops the site's dpproxy until the recipe ends, since no other ledger of its secret may be charged meanwhile.
func (k *kitchen) closed(t *testing.T) {
	t.Helper()
	k.r.Stop()
	t.Cleanup(func() { k.r = k.Run(k.t) })
}

// withLedger is the site with another policy and an empty ledger of its own, which has the secret of this one, whose the mirror is:
// the kitchen is closed meanwhile.
func (k *kitchen) withLedger(t *testing.T, edits ...string) *sitetest.Site {
	t.Helper()
	secret := fmt.Sprintf("secret_file: %q\n", filepath.Join(k.Dir, "ledger", "secret"))
	s := k.Variant(t, edits...).Variant(t, "ledger: {dir: \""+k.Dir, secret+"ledger: {dir: \""+t.TempDir())
	k.closed(t)
	s.InitAgain(t)
	return s
}

func (k *kitchen) dial(t *testing.T, user string) *pgx.Conn {
	t.Helper()
	return sitetest.Dial(t, k.r.URL(user))
}

// charged fails the test unless f causes so many charges.
func (k *kitchen) charged(t *testing.T, want int, f func()) {
	t.Helper()
	meter := sitetest.NewMeter(t, k.Site)
	f()
	meter.Ticks(t.Name(), want)
}

// unread fails the test if the protected database sees a statement while f runs.
func (k *kitchen) unread(t *testing.T, f func()) {
	t.Helper()
	conn := sitetest.Dial(t, k.Data.URL("template1", pgtemp.Superuser))
	watch := &attacker{counter: conn, looks: k.looks}
	before := watch.sent(t)
	k.charged(t, 0, f)
	if n := watch.sent(t) - before; n != 0 {
		t.Errorf("the protected database saw %d statements", n)
	}
}

// cook tries recipes on one site.
func cook(t *testing.T, policy string, recipes []recipe) {
	t.Helper()
	data, err := pgtemp.Start(t.Context(), pgtemp.Options{Settings: []string{"shared_preload_libraries=pg_stat_statements"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(data.Stop)
	counter := sitetest.Dial(t, data.URL("template1", pgtemp.Superuser))
	sitetest.Exec(t, counter, "CREATE EXTENSION pg_stat_statements")
	s := sitetest.Make(t, sitetest.Options{Data: data, Schema: sitetest.ClinicSchema, Policy: policy}).Gated(t)
	k := &kitchen{Site: s, t: t, r: s.Run(t)}
	k.looks = looks(t, counter)
	for _, rec := range recipes {
		t.Run(rec.id+" "+rec.title, func(t *testing.T) { rec.test(t, k) })
	}
	k.r.Silent(t)
}

// kitchenPolicy gives one analyst a budget for each recipe that spends it all.
func kitchenPolicy(answers string) string {
	policy := strings.Replace(sitetest.ClinicPolicy, "privacy_unit: {name: patient, budget: {epsilon: 9000}}",
		"limits: {connections: 250, reply_grid: 0}\nprivacy_unit: {name: patient, budget: {epsilon: 5000, delta: 0.01}}", 1)
	policy = strings.Replace(policy, "  labs:\n", "  labs:\n    budget: {epsilon: 0.5}\n", 1)
	add := func(format string, args ...any) { policy += fmt.Sprintf(format, args...) }
	for name, epsilon := range map[string]string{"once": "0.1", "ten": "1", "tiny": "1e-7", "many": "100", "bob": "100"} {
		add("  %s: {password: \"VERIFIER\", tables: [patients, visits], budget: {epsilon: %s}}\n", name, epsilon)
	}
	for i := range sybils {
		add("  sybil%d: {password: \"VERIFIER\", tables: [labs], budget: {epsilon: 0.1}}\n", i)
	}
	for _, name := range []string{"slow", "cancels"} {
		add("  %s: {password: \"VERIFIER\", tables: [patients, visits]}\n", name)
	}
	add("  stranger: {password: \"VERIFIER\", tables: [labs]}\n")
	return policy + "\n" + answers + "\n"
}

const sybils = 20
