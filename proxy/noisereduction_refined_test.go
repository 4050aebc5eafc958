package proxy_test

import (
	"slices"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/proxy"
)

// TestAnalystsInTurn holds that analysts who sharpen the same answer in turn have each paid for
// all of it in the end, and for no part of it twice: the limits within which it is measured too.
func TestAnalystsInTurn(t *testing.T) {
	w := ownBudgets(t)
	ana, bob := w.client(t, "ana"), w.client(t, "bob")
	for _, turn := range []struct {
		who   *client
		error string
	}{{ana, "0.3"}, {bob, "0.2"}, {ana, "0.2"}, {ana, "0.1"}, {bob, "0.07"}, {bob, "0.05"}, {ana, "0.05"}, {bob, "0.05"}} {
		turn.who.set(t, "dp.relative_error = "+turn.error, "dp.contribution = auto")
		turn.who.number(t, "SELECT count(*) FROM patients")
		turn.who.number(t, "SELECT count(*) FROM visits")
		turn.who.number(t, "SELECT avg(cost) FROM visits")
	}
	unit := w.spent(t, accountant.UnitScope, "patient")
	for _, name := range []string{"ana", "bob"} {
		if spent := w.spent(t, accountant.AnalystScope, name); spent < unit || spent > unit+50 { // a pico for each rounding
			t.Errorf("%s has spent %d, the unit %d", name, spent, unit)
		}
	}
}

// TestLimitsAreKept holds that an answer is sharpened within the limit of its first read: no limit is
// drawn again, nor paid.
func TestLimitsAreKept(t *testing.T) {
	ledger := &entries{}
	w := accurate(t, func(cfg *proxy.Config) { ledger.Ledger, cfg.Ledger = cfg.Ledger, ledger }, large(t))
	ana := w.client(t, "ana")
	ana.set(t, "dp.contribution = auto")
	for _, where := range []string{"", " WHERE id <= 4050"} { // 49 patients have more than the others
		first := ""
		for _, target := range []string{"0.3", "0.1", "0.05"} {
			ana.set(t, "dp.relative_error = "+target)
			ledger.first = nil
			ana.number(t, "SELECT count(*) FROM visits"+where)
			drawn := slices.ContainsFunc(ledger.first, func(e string) bool { return !strings.HasPrefix(e, "refinement") })
			if ledger.first == nil || drawn != (first == "") {
				t.Errorf("%s: the entries are %v", target, ledger.first)
			}
			_, limits, _ := strings.Cut(ana.detail, "\nFor count(*), ")
			if first == "" {
				first = limits
			}
			if limits != first || first == "" {
				t.Errorf("%s: of limits is told %q, first %q", target, ana.detail, first)
			}
		}
	}
}

// TestCapBeyondWhatIsLeft holds that a statement for which the policy allows more than is left
// takes the rest of the budget, and says so, and that an analyst's own cap is not lowered.
func TestCapBeyondWhatIsLeft(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, limit(t, accountant.UnitScope, "patient", dp.ZCDP, 300))
	ana := w.client(t, "ana")
	const sql = "SELECT count(*) FROM patients"
	refused := func(sql string) {
		t.Helper()
		before := w.spent(t, accountant.UnitScope, "patient")
		var n float64
		if err := ana.QueryRow(t.Context(), sql).Scan(&n); code(err) != "PB001" {
			t.Errorf("%s: %v, %v", sql, n, err)
		}
		if after := w.spent(t, accountant.UnitScope, "patient"); after != before {
			t.Errorf("refused for %d", after-before)
		}
	}
	ana.set(t, "dp.relative_error = 0.0001", "dp.max_epsilon = 1")
	refused(sql)
	ana.set(t, "dp.max_epsilon = ''")
	rows, err := ana.Query(t.Context(), "EXPLAIN "+sql)
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	if !strings.Contains(plan.String(), "for at most ρ = 0.3, which is what is left") ||
		!strings.Contains(plan.String(), "at most 100 % of the budget of unit patient, would leave no such question") {
		t.Errorf("the plan is\n%s", &plan)
	}
	got := ana.number(t, sql)
	if spent := w.spent(t, accountant.UnitScope, "patient"); spent > 3e11 || spent < 2.99e11 {
		t.Errorf("it spends %d of 3e11", spent)
	}
	if !strings.Contains(ana.notice, "it could spend only what is left") || !strings.Contains(ana.notice, "was not reached within what") {
		t.Errorf("notice %q", ana.notice)
	}
	if again := ana.number(t, sql); again != got {
		t.Errorf("the same again: %v, not %v", again, got)
	}
	refused("SELECT count(*) FROM visits")
}

// TestManyRounds holds that a statement that has had all rounds that it may have says so, and does
// not blame its budget.
func TestManyRounds(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	ana.set(t, "dp.relative_error = 0.01", "dp.max_epsilon = 100")
	ana.number(t, "SELECT count(*) FROM patients WHERE birth_year = 1950")
	if want := "was not reached within 100 looks"; !strings.Contains(ana.notice, want) {
		t.Errorf("notice %q", ana.notice)
	}
	if spent := w.spent(t, accountant.UnitScope, "patient"); spent > 4000*dp.PicoPerUnit {
		t.Errorf("it has spent %d, nearly all it may", spent)
	}
}

// TestBudgetGivenLater holds that an analyst who gets a budget of their own pays with it for an
// answer that they asked for before they had one.
func TestBudgetGivenLater(t *testing.T) {
	store, err := answers.OpenFiles(t.TempDir(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	own := accountant.Limit{Scope: accountant.Scope{Kind: accountant.AnalystScope, Name: "ana"}, Loss: large(t).Loss}
	ask := func(t *testing.T, budget bool, limits ...accountant.Limit) *world {
		t.Helper()
		w := accurate(t, func(cfg *proxy.Config) {
			cfg.Analysts["ana"] = proxy.Analyst{Tables: cfg.Analysts["ana"].Tables, Budget: budget}
			cfg.Answers.Store = store
		}, limits...)
		ana := w.client(t, "ana")
		for _, relative := range []string{"off", "0.2"} {
			ana.set(t, "dp.relative_error = "+relative)
			ana.number(t, "SELECT count(*) FROM patients")
		}
		return w
	}
	spent := ask(t, false, large(t)).spent(t, accountant.UnitScope, "patient")
	if again := ask(t, false, large(t)).spent(t, accountant.UnitScope, "patient"); again != 0 {
		t.Errorf("without a budget of their own the same costs %d", again)
	}
	w := ask(t, true, large(t), own)
	if unit := w.spent(t, accountant.UnitScope, "patient"); unit != 0 {
		t.Errorf("the unit pays %d for what is known", unit)
	}
	if paid := w.spent(t, accountant.AnalystScope, "ana"); paid < spent {
		t.Errorf("with a budget of their own they pay %d of %d", paid, spent)
	}
}
