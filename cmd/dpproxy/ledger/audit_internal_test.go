package ledger

import (
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/dp"
	"dpproxy/planner/policy"
)

func budgetOf(t *testing.T, epsilon string) accountant.Budget {
	t.Helper()
	b, err := config.ParseBudget(epsilon, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func lossOf(t *testing.T, epsilon string) dp.Loss {
	t.Helper()
	l, err := budgetOf(t, epsilon).Limit()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func tableScope(n string) accountant.Scope {
	return accountant.Scope{Kind: accountant.TableScope, Name: n}
}

// booksOf are those of a policy whose tables have budgets of 2 under one of 9.
func booksOf(t *testing.T, tables ...string) *Books {
	t.Helper()
	p := &config.Policy{Unit: budgetOf(t, "9"), Tables: policy.Policy{Unit: "person"}, TableBudgets: map[catalog.Name]accountant.Budget{}}
	for _, text := range tables {
		schema, name, _ := strings.Cut(text, ".")
		n := catalog.Name{Schema: schema, Name: name}
		p.Tables.Tables = append(p.Tables.Tables, policy.TablePolicy{Name: n})
		p.TableBudgets[n] = budgetOf(t, "2")
	}
	return &Books{Policy: p}
}

// entry is the one of the policy, whose tables have these IDs.
func (s *Books) entry(t *testing.T, ids ...string) history.PolicyEntry {
	t.Helper()
	limits, err := s.Policy.Scopes()
	if err != nil {
		t.Fatal(err)
	}
	e := history.PolicyEntry{Limits: limits}
	for i, id := range ids {
		scope := limits[i+1].Scope
		e.Links = append(e.Links, accountant.Link{Scope: scope, Table: accountant.Table{Name: scope.Name, ID: id}})
	}
	return e
}

// lists fails unless the list of budgets has these scopes, each with its note.
func (s *Books) lists(t *testing.T, state *history.State, want ...string) {
	t.Helper()
	balances, notes, err := s.balances(state)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.balanceRows(state, balances, notes)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range rows[1:] {
		got = append(got, strings.TrimSpace(row[0]+" "+row[len(row)-1]))
	}
	if text := strings.Join(got, "\n"); text != strings.Join(want, "\n") {
		t.Errorf("the list is\n%s\nwant\n%s", text, strings.Join(want, "\n"))
	}
}

// movedBudgets returns a state in which two tables have swapped their names and a third one has moved, with the policy of now.
func movedBudgets(t *testing.T) (state *history.State, now *Books) {
	t.Helper()
	state, now = history.NewState(), booksOf(t, "public.labs", "public.tests", "archive.notes")
	first := booksOf(t, "public.labs", "public.tests", "public.notes")
	apply(t, state, "", history.BeginEntry{Boot: "run", Sole: true})
	apply(t, state, "", history.FormatEntry(history.Format))
	apply(t, state, "run", first.entry(t, "1", "2", "3"))
	first.lists(t, state, "table:public.labs", "table:public.notes", "table:public.tests", "unit:person")
	apply(t, state, "run", now.entry(t, "2", "1", "3"))
	return state, now
}

func apply(t *testing.T, state *history.State, run string, e history.Entry) {
	t.Helper()
	if err := state.Apply(run, e); err != nil {
		t.Fatal(err)
	}
}

// TestListedBudgets holds that the list of budgets says what each of them is in the policy, after tables have been moved and have swapped
// their names, and after decisions.
func TestListedBudgets(t *testing.T) {
	state, now := movedBudgets(t)
	const both = " charged for public.labs, public.tests"
	const moved = "table:public.notes table:archive.notes in the policy"
	now.lists(t, state, "table:public.labs"+both, moved, "table:public.tests"+both, "unit:person")
	e := history.RenameEntry{From: tableScope("public.tests"), To: tableScope("public.exams"), Who: "carol", Reason: "why"}
	apply(t, state, "", e)
	const exams = "table:public.exams table:public.tests in the policy;" + both
	now.lists(t, state, exams, "table:public.labs"+both, moved, "unit:person")
	less := booksOf(t, "public.labs", "public.tests")
	less.lists(t, state, exams, "table:public.labs"+both, "table:public.notes not in the policy", "unit:person")
	notes, err := state.Balances(tableScope("public.notes"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := now.balancesJSON(state, notes)
	if err != nil || all[0].Name != "public.notes" || all[0].PolicyName != "archive.notes" || all[0].PolicyLimit != "2" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestBudgetsLeft holds that the rest of a budget is known by its name in the policy, under the lower one of two limits.
func TestBudgetsLeft(t *testing.T) {
	state, now := movedBudgets(t)
	unit, half := accountant.Scope{Kind: accountant.UnitScope, Name: "person"}, lossOf(t, "0.5")
	apply(t, state, "run", history.ChargeEntry{
		Analyst: "ana", Tables: []accountant.Table{{Name: "archive.notes", ID: "3"}},
		Debits: []accountant.Debit{{Scope: tableScope("public.notes"), Loss: half}, {Scope: unit, Loss: half}},
	})
	left, err := now.left(state)
	if err != nil || left[tableScope("archive.notes")] != lossOf(t, "1.5") || left[unit] != lossOf(t, "8.5") {
		t.Errorf("%v are left: %v", left, err)
	}
	lower := booksOf(t, "archive.notes")
	lower.Policy.TableBudgets[catalog.Name{Schema: "archive", Name: "notes"}] = budgetOf(t, "0.4")
	if left, err := lower.left(state); err != nil || !left[tableScope("archive.notes")].IsZero() {
		t.Errorf("under a lower limit %v are left: %v", left, err)
	}
}
