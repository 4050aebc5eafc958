package logledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
)

// The budgets of the ledger in testdata/earlier, which a program wrote that gave no budget its table: of a unit, an analyst and
// three tables, one of them frozen. Five statements are charged to the unit and to the analyst.
const (
	earlierLimit   = 441726960541 // of the unit, and of each table
	earlierSpent   = 18848874206  // of the unit
	earlierAnalyst = 296131423331
	earlierDelta   = 5e11 // atto, of each limit
)

func earlierScope(kind accountant.ScopeKind, name string) accountant.Scope {
	return accountant.Scope{Kind: kind, Name: name}
}

// earlierPolicy is a policy of this version of the program, whose unit has the given name.
func earlierPolicy(unit string) history.PolicyEntry {
	limit := func(s accountant.Scope, pico int64) accountant.Limit {
		return accountant.Limit{Scope: s, Loss: accountanttest.ZCDP(pico, earlierDelta)}
	}
	p := history.PolicyEntry{Limits: []accountant.Limit{
		limit(earlierScope(accountant.UnitScope, unit), earlierLimit),
		limit(earlierScope(accountant.AnalystScope, "analyst"), earlierAnalyst),
	}}
	for i, table := range []string{"public.patients", "public.visits", "public.labs"} {
		s := earlierScope(accountant.TableScope, table)
		p.Limits = append(p.Limits, limit(s, earlierLimit))
		p.Links = append(p.Links, accountant.Link{Scope: s, Table: accountant.Table{Name: table, ID: []string{"1/1", "1/2", "1/3"}[i]}})
	}
	return p
}

// TestEarlierFormat opens a ledger of an earlier format, from its snapshot and whole: what was spent is spent, what was frozen is frozen,
// no policy that calls the unit otherwise has a fresh budget, and a policy as it was is taken and charged on.
func TestEarlierFormat(t *testing.T) {
	for name, withSnapshot := range map[string]bool{"from its snapshot": true, "whole": false} {
		t.Run(name, func(t *testing.T) {
			dir := earlier(t, "testdata/earlier", withSnapshot)
			l := mustOpen(t, dir, nil)
			if err := l.SetPolicy(t.Context(), earlierPolicy("person")); !errors.Is(err, accountant.ErrPolicy) {
				t.Errorf("another name of the unit: %v", err)
			}
			if err := l.SetPolicy(t.Context(), earlierPolicy("patient")); err != nil {
				t.Fatal(err)
			}
			chargeEarlier(t, l)
			mustClose(t, l)
			l = mustOpen(t, dir, nil)
			wantEarlier(t, l, earlierSpent+1)
			mustClose(t, l)
			verify(t, dir)
		})
	}
}

// chargeEarlier charges a statement over patients, and is refused one over visits, one without its table's budget, and one
// beyond what is left.
func chargeEarlier(t *testing.T, l *logledger.Ledger) {
	t.Helper()
	wantEarlier(t, l, earlierSpent)
	ask := func(table string, pico int64, scopes ...accountant.Scope) error {
		c := accountant.Charge{Analyst: "analyst", Shape: "shape", Events: []string{"laplace <1>"}}
		c.Tables = []accountant.Table{{Name: table}}
		for _, s := range scopes {
			c.Debits = append(c.Debits, accountant.Debit{Scope: s, Loss: accountanttest.ZCDP(pico, 0)})
		}
		_, err := l.Charge(t.Context(), c)
		return err
	}
	unit, analyst := earlierScope(accountant.UnitScope, "patient"), earlierScope(accountant.AnalystScope, "analyst")
	patients, visits := earlierScope(accountant.TableScope, "public.patients"), earlierScope(accountant.TableScope, "public.visits")
	if err := ask("public.visits", 1, unit, analyst, visits); !errors.Is(err, accountant.ErrFrozen) {
		t.Errorf("a frozen table: %v", err)
	}
	if err := ask("public.patients", 1, unit, analyst); !errors.Is(err, accountant.ErrLeftOut) {
		t.Errorf("a charge without the table's budget: %v", err)
	}
	var short *accountant.InsufficientError
	if err := ask("public.patients", earlierAnalyst-earlierSpent+1, unit, analyst, patients); !errors.As(err, &short) {
		t.Errorf("more than is left: %v", err)
	}
	if err := ask("public.patients", 1, unit, analyst, patients); err != nil {
		t.Errorf("Charge: %v", err)
	}
}

// wantEarlier expects so much to be spent of the unit and of the analyst, and the visits to be frozen.
func wantEarlier(t *testing.T, l *logledger.Ledger, pico int64) {
	t.Helper()
	unit, analyst := earlierScope(accountant.UnitScope, "patient"), earlierScope(accountant.AnalystScope, "analyst")
	balances, err := l.Balances(t.Context(), unit, analyst, earlierScope(accountant.TableScope, "public.visits"))
	if err != nil {
		t.Fatal(err)
	}
	spent := accountanttest.ZCDP(pico, 0)
	if balances[0].Spent != spent || balances[1].Spent != spent || !balances[2].Frozen {
		t.Errorf("the balances are %+v, want %v spent, and the visits frozen", balances, spent)
	}
}

// TestEarlierShared opens a ledger of format 3, from its snapshot and whole. In it labs (1/1) and tests (1/2) were charged 3 and 2, they
// swapped their names, and tests (1/1) was charged 4 from both budgets; then the budget of labs was retired, and tests was charged 1 more.
// The first start has both budgets spend their sum, since nobody noted which charges were the same. A table that shares no budget, and the
// unit, keep what they have spent.
func TestEarlierShared(t *testing.T) {
	labs, tests := earlierScope(accountant.TableScope, "public.labs"), earlierScope(accountant.TableScope, "public.tests")
	visits, unit := earlierScope(accountant.TableScope, "public.visits"), earlierScope(accountant.UnitScope, "patient")
	p := history.PolicyEntry{Limits: []accountant.Limit{{Scope: unit, Loss: accountanttest.ZCDP(60, 0)}}}
	for scope, id := range map[accountant.Scope]string{labs: "1/2", tests: "1/1", visits: "1/3"} {
		p.Limits = append(p.Limits, accountant.Limit{Scope: scope, Loss: accountanttest.ZCDP(25, 0)})
		p.Links = append(p.Links, accountant.Link{Scope: scope, Table: accountant.Table{Name: scope.Name, ID: id}})
	}
	for name, withSnapshot := range map[string]bool{"from its snapshot": true, "whole": false} {
		t.Run(name, func(t *testing.T) {
			dir := earlier(t, "testdata/shared", withSnapshot)
			l := mustOpen(t, dir, nil)
			want := func(spent ...int64) {
				t.Helper()
				all, err := l.Balances(t.Context(), unit, visits, labs, tests)
				for i, b := range all {
					if b.Spent.Pico() != spent[i] {
						t.Errorf("%v has spent %v, want %d", b.Scope, b.Spent, spent[i])
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			want(15, 5, 7, 7)
			for range 2 { // starts
				if err := l.SetPolicy(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				want(15, 5, 14, 14)
				mustClose(t, l)
				l = mustOpen(t, dir, nil)
			}
			mustClose(t, l)
			verify(t, dir)
		})
	}
}

// earlier returns a copy of an earlier ledger.
func earlier(t *testing.T, from string, withSnapshot bool) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if !withSnapshot {
		if err := os.Remove(filepath.Join(dir, "ledger.snapshot")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
