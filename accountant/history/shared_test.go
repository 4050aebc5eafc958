package history_test

import (
	"errors"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

var third = accountant.Scope{Kind: accountant.TableScope, Name: "public.third"}

// wantLeft expects a statement over a table to be refused for want of one budget, and one that costs 1 less to be charged.
func wantLeft(t *testing.T, s *history.State, table []accountant.Table, pico int64, short accountant.Scope, scopes ...accountant.Scope) {
	t.Helper()
	err := s.Apply(first, spends(t, "dan", table, pico+1, scopes...))
	if e, is := errors.AsType[*accountant.InsufficientError](err); !is || e.Scope != short {
		t.Errorf("%d of %v: %v, want too little of %v", pico+1, table, err, short)
	}
	mustApply(t, s, spends(t, "dan", table, pico, scopes...))
}

// TestShared holds that the limit which a policy states of a table holds for all that was spent of it, by whatever names: the budget that
// the limit is for had others of the table before, and missed charges.
func TestShared(t *testing.T) {
	people, one := stated{unit, 100, ""}, of("public.labs", "1")
	base := []stated{people, {labs, 25, "1"}, {tests, 25, "2"}}
	swapped := policyOf(t, people, stated{labs, 25, "2"}, stated{tests, 5, "1"})
	eachFrom(t, base, map[string]func(*testing.T, *history.State){
		"swapped": func(t *testing.T, s *history.State) {
			mustApply(t, s, spends(t, "dan", one, 1, unit, labs))
			mustApply(t, s, swapped)
			wantLeft(t, s, of("public.tests", "1"), 4, tests, unit, labs, tests)
			wantSpentOf(t, s, labs, 5)
		},
		"the one that is linked has spent more": func(t *testing.T, s *history.State) {
			mustApply(t, s, spends(t, "dan", of("public.tests", "2"), 3, unit, tests))
			mustApply(t, s, spends(t, "dan", one, 1, unit, labs))
			mustApply(t, s, swapped)
			wantSpentOf(t, s, labs, 3)
			wantLeft(t, s, of("public.tests", "1"), 2, tests, unit, labs, tests)
		},
		"a new budget of a known table": func(t *testing.T, s *history.State) {
			mustApply(t, s, spends(t, "dan", one, 3, unit, labs))
			mustApply(t, s, spends(t, "dan", of("public.tests", "2"), 1, unit, tests))
			mustApply(t, s, history.RetireEntry{Scope: tests, Who: "carol", Reason: "it becomes labs"})
			moved := policyOf(t, people, stated{labs, 25, "2"}, stated{third, 5, "1"}) // and labs becomes third
			mustApply(t, s, moved)
			mustApply(t, s, spends(t, "dan", of("public.labs", "2"), 9, unit, labs))
			mustApply(t, s, moved) // the next start, which makes no table a budget's
			wantLeft(t, s, of("public.third", "1"), 2, third, unit, labs, third)
			wantSpentOf(t, s, labs, 14)
		},
		"held": func(t *testing.T, s *history.State) {
			hold := history.HoldEntry(spends(t, "dan", one, 3, unit, labs))
			mustApply(t, s, hold)
			id := accountant.ChargeID(s.Seq())
			mustApply(t, s, swapped)
			mustApply(t, s, history.StepEntry{Hold: id, Events: []string{"e"}, Debits: hold.Debits})
			mustApply(t, s, history.SettleEntry{Hold: id})
			wantLeft(t, s, of("public.tests", "1"), 2, tests, unit, labs, tests)
		},
		"repaired": func(t *testing.T, s *history.State) {
			mustApply(t, s, swapped)
			lost := spends(t, "dan", nil, 3, unit, labs).Debits
			mustApply(t, s, history.RestoreEntry{Debits: lost, Who: "carol", Reason: "lost"})
			wantLeft(t, s, of("public.tests", "1"), 2, tests, unit, labs, tests)
		},
	})
}

// TestSharedByDecision decides on budgets that share a table.
func TestSharedByDecision(t *testing.T) {
	people := stated{unit, 100, ""}
	base := []stated{people, {labs, 25, "1"}, {tests, 25, "2"}}
	swapped := policyOf(t, people, stated{labs, 25, "2"}, stated{tests, 5, "1"})
	eachFrom(t, base, map[string]func(*testing.T, *history.State){
		"retired, and revived": func(t *testing.T, s *history.State) {
			mustApply(t, s, swapped)
			mustApply(t, s, history.RetireEntry{Scope: tests, Who: "carol", Reason: "one will do"})
			mustApply(t, s, spends(t, "dan", of("public.tests", "1"), 3, unit, labs))
			mustApply(t, s, policyOf(t, people, stated{labs, 25, "2"}))
			wantSpentOf(t, s, tests, 0)
			mustApply(t, s, swapped)
			wantLeft(t, s, of("public.tests", "1"), 2, tests, unit, labs, tests)
		},
		"retired, and revived by a decision": func(t *testing.T, s *history.State) {
			mustApply(t, s, policyOf(t, people, stated{labs, 25, "2"}, stated{tests, 5, "1"}, stated{third, 25, "3"}))
			mustApply(t, s, history.RetireEntry{Scope: tests, Who: "carol", Reason: "one will do"})
			mustApply(t, s, spends(t, "dan", of("public.tests", "1"), 3, unit, labs))
			mustApply(t, s, history.RenameEntry{From: tests, To: third, Who: "carol", Reason: "third becomes tests"})
			mustApply(t, s, swapped)
			wantLeft(t, s, of("public.tests", "1"), 2, third, unit, labs, third)
		},
		"united with one that was retired": func(t *testing.T, s *history.State) {
			mustApply(t, s, policyOf(t, people, stated{labs, 25, "2"}, stated{tests, 5, "1"}, stated{third, 25, "3"}))
			mustApply(t, s, history.RetireEntry{Scope: tests, Who: "carol", Reason: "one will do"})
			mustApply(t, s, spends(t, "dan", of("public.tests", "1"), 3, unit, labs))
			mustApply(t, s, history.RenameEntry{From: third, To: tests, Who: "carol", Reason: "third becomes tests"})
			mustApply(t, s, swapped)
			wantLeft(t, s, of("public.tests", "1"), 2, tests, unit, labs, tests)
		},
		"named by a decision": func(t *testing.T, s *history.State) {
			mustApply(t, s, policyOf(t, people, stated{third, 25, "1"}, base[2])) // labs has another name
			mustApply(t, s, spends(t, "dan", of("public.third", "1"), 3, unit, labs))
			mustApply(t, s, history.RenameEntry{From: tests, To: third, Who: "carol", Reason: "it becomes third"})
			mustApply(t, s, policyOf(t, people, stated{labs, 25, "2"}, stated{third, 5, "1"}))
			wantLeft(t, s, of("public.third", "1"), 2, third, unit, labs, third)
		},
	})
}

// eachFrom begins each case with a ledger that has these budgets, and expects the snapshot of its end to hold the same.
func eachFrom(t *testing.T, base []stated, cases map[string]func(*testing.T, *history.State)) {
	t.Helper()
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			s := ruled(t, base...)
			c(t, s)
			wantSame(t, s)
		})
	}
}

// wantSame expects a state to be the one that its snapshot holds.
func wantSame(t *testing.T, s *history.State) {
	t.Helper()
	text, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := history.Restore(text); err != nil {
		t.Error(err)
	}
}

// TestSpare holds that each budget takes a limit of its own: after tables have swapped their names, both budgets are of both tables, and a
// policy that states one of them alone, by a name that is no budget's, lacks the other. Its table may have another name and another ID.
func TestSpare(t *testing.T) {
	people, fourth := stated{unit, 100, ""}, accountant.Scope{Kind: accountant.TableScope, Name: "public.fourth"}
	s := ruled(t, people, stated{labs, 25, "1"}, stated{tests, 25, "2"})
	mustApply(t, s, policyOf(t, people, stated{third, 25, "1"}, stated{tests, 25, "2"})) // labs is third
	mustApply(t, s, policyOf(t, people, stated{third, 25, "2"}, stated{tests, 25, "1"})) // swapped
	alone := policyOf(t, people, stated{third, 25, "12"})                                // restored from a dump
	moved := policyOf(t, people, stated{third, 25, "12"}, stated{fourth, 25, "11"})      // and tests is fourth
	refuses(t, s, "one of two tables", alone, accountant.ErrPolicy)
	refuses(t, s, "an unknown table beside it", moved, accountant.ErrPolicy)
	for what, c := range map[string]struct {
		decision history.Entry
		left     []accountant.Scope
	}{
		"renamed": {history.RenameEntry{From: tests, To: fourth, Who: "carol", Reason: "why"}, []accountant.Scope{fourth, labs}},
		"retired": {history.RetireEntry{Scope: tests, Who: "carol", Reason: "fourth is new"}, []accountant.Scope{labs}},
	} {
		t.Run(what, func(t *testing.T) {
			s.Try()
			defer s.Rollback()
			mustApply(t, s, c.decision)
			mustApply(t, s, moved)
			mustApply(t, s, moved) // the next start
			mustApply(t, s, spends(t, "dan", of("public.third", "12"), 1, append(c.left, unit)...))
			mustApply(t, s, spends(t, "dan", of("public.fourth", "11"), 1, unit, fourth))
		})
	}
}

// TestClaims holds that limits find a budget each, whatever their order, if their tables have enough, and prefer one that has the limit.
func TestClaims(t *testing.T) {
	people := stated{unit, 100, ""}
	early := accountant.Scope{Kind: accountant.TableScope, Name: "public.a"}
	late := accountant.Scope{Kind: accountant.TableScope, Name: "public.z"}
	claims := func(t *testing.T, s *history.State, labsTo, thirdTo int64, all ...stated) {
		t.Helper()
		mustApply(t, s, policyOf(t, append([]stated{people}, all...)...))
		b, err := s.Balances(labs, third)
		if err != nil || b[0].Limit.Pico() != labsTo || b[1].Limit.Pico() != thirdTo {
			t.Errorf("%v: %v, %v", all, b, err)
		}
		if _, err := s.Balances(early, late); !errors.Is(err, accountant.ErrUnknownScope) {
			t.Errorf("%v: a table that was renamed has a budget of its own: %v", all, err)
		}
	}
	for _, labsIs := range []accountant.Scope{early, late} {
		thirdIs := map[accountant.Scope]accountant.Scope{early: late, late: early}[labsIs]

		s := ruled(t, people, stated{labs, 25, "1"}, stated{tests, 25, "2"})
		mustApply(t, s, history.RetireEntry{Scope: tests, Who: "carol", Reason: "it becomes labs"})
		mustApply(t, s, policyOf(t, people, stated{labs, 25, "2"}, stated{third, 25, "1"})) // and labs becomes third, of both budgets
		claims(t, s, 20, 20, stated{labsIs, 20, "2"}, stated{thirdIs, 20, "1"})

		s = ruled(t, people, stated{labs, 25, "1"}, stated{third, 25, "2"})
		mustApply(t, s, policyOf(t, people, stated{labs, 5, "2"}, stated{third, 20, "1"})) // swapped
		claims(t, s, 5, 20, stated{labsIs, 5, "2"}, stated{thirdIs, 20, "1"})
		claims(t, s, 5, 15, stated{thirdIs, 15, "1"}, stated{labsIs, 5, "2"})
	}
}

// TestSharedMeasures holds that budgets which share a table and are counted in ε and in ρ count for each other: ε as ρ, rounded up, and
// of ρ, which has no finite ε, all that is left.
func TestSharedMeasures(t *testing.T) {
	s := history.NewState()
	mustApply(t, s, history.BeginEntry{Boot: first, Sole: true})
	mustApply(t, s, history.FormatEntry(history.Format))
	policy := func(labsID, testsID string) history.PolicyEntry {
		link := func(scope accountant.Scope, id string) accountant.Link {
			return accountant.Link{Scope: scope, Table: accountant.Table{Name: scope.Name, ID: id}}
		}
		return history.PolicyEntry{
			Limits: []accountant.Limit{
				{Scope: unit, Loss: zcdp(t, 9e12, 0)}, {Scope: labs, Loss: pure(t, 9e12)}, {Scope: tests, Loss: zcdp(t, 9e12, 0)},
			},
			Links: []accountant.Link{link(labs, labsID), link(tests, testsID)},
		}
	}
	mustApply(t, s, policy("1", "2"))
	c := accountant.Charge{Analyst: "dan", Tables: of("public.labs", "1")}
	c.Debits = []accountant.Debit{{Scope: unit, Loss: zcdp(t, 1, 0)}, {Scope: labs, Loss: pure(t, 2e12+1)}}
	mustApply(t, s, history.ChargeEntry(c))
	mustApply(t, s, spends(t, "dan", of("public.tests", "2"), 1, unit, tests))
	mustApply(t, s, policy("2", "1"))
	wantSpentOf(t, s, tests, 2e12+2+1) // (2+1e-12)²/2 is 2 + 2e-12 and a little
	wantSpentOf(t, s, labs, 9e12)
	mustApply(t, s, policy("2", "1")) // the next start
}

// TestTakenOverShared takes over budgets of the format before, which have missed charges of the tables that they share. Replayed, they
// count as they did; raised, each has spent the sum.
func TestTakenOverShared(t *testing.T) {
	s := history.NewState()
	mustApply(t, s, history.BeginEntry{Boot: first, Sole: true})
	mustApply(t, s, history.FormatEntry(3))
	visits := stated{accountant.Scope{Kind: accountant.TableScope, Name: "public.visits"}, 25, "3"}
	people := stated{unit, 100, ""}
	mustApply(t, s, policyOf(t, people, stated{labs, 25, "1"}, stated{tests, 25, "2"}, visits))
	mustApply(t, s, spends(t, "dan", of("public.labs", "1"), 3, unit, labs))
	mustApply(t, s, spends(t, "dan", of("public.visits", "3"), 5, unit, visits.scope))
	swapped := policyOf(t, people, stated{labs, 25, "2"}, stated{tests, 25, "1"}, visits)
	mustApply(t, s, swapped)
	wantSpentOf(t, s, tests, 0)
	mustApply(t, s, spends(t, "dan", of("public.tests", "1"), 4, unit, labs, tests))
	mustApply(t, s, history.RestoreEntry{Debits: spends(t, "dan", nil, 1, labs).Debits, Who: "carol", Reason: "lost"})
	wantSpentOf(t, s, labs, 8)
	wantSpentOf(t, s, tests, 4)
	if err := history.Allows(s, swapped); err != nil {
		t.Error(err)
	}
	wantSpentOf(t, s, tests, 4)
	s.Try()
	mustApply(t, s, policyOf(t, people, stated{third, 25, "1"}, visits)) // one limit for both
	s.Rollback()
	mustApply(t, s, history.FormatEntry(history.Format))
	refuses(t, s, "one limit for both", policyOf(t, people, stated{third, 25, "1"}, visits), accountant.ErrPolicy)
	for range 2 {
		for scope, pico := range map[accountant.Scope]int64{labs: 12, tests: 12, visits.scope: 5, unit: 12} {
			wantSpentOf(t, s, scope, pico)
		}
		mustApply(t, s, swapped) // the next starts
	}
	wantSame(t, s)
}
