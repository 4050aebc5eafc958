package main

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

// TestListedBudgets holds that the list of budgets says what each of them is in the policy, after tables have been moved and have swapped
// their names, and after decisions.
func TestListedBudgets(t *testing.T) {
	budget := func(epsilon string) *accountant.Budget {
		b, err := config.ParseBudget(epsilon, "", "")
		if err != nil {
			t.Fatal(err)
		}
		return &b
	}
	loss := func(epsilon string) dp.Loss {
		l, err := budget(epsilon).Limit()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	unit := accountant.Scope{Kind: accountant.UnitScope, Name: "person"}
	of := func(tables ...string) *books {
		p := &config.Policy{Unit: *budget("9"), Tables: policy.Policy{Unit: "person"}, TableBudgets: map[catalog.Name]accountant.Budget{}}
		for _, text := range tables {
			schema, name, _ := strings.Cut(text, ".")
			n := catalog.Name{Schema: schema, Name: name}
			p.Tables.Tables = append(p.Tables.Tables, policy.TablePolicy{Name: n})
			p.TableBudgets[n] = *budget("2")
		}
		return &books{policy: p}
	}
	state := history.NewState()
	apply := func(run string, e history.Entry) {
		t.Helper()
		if err := state.Apply(run, e); err != nil {
			t.Fatal(err)
		}
	}
	set := func(s *books, ids ...string) {
		t.Helper()
		limits, err := s.policy.Scopes()
		if err != nil {
			t.Fatal(err)
		}
		e := history.PolicyEntry{Limits: limits}
		for i, id := range ids {
			scope := limits[i+1].Scope
			e.Links = append(e.Links, accountant.Link{Scope: scope, Table: accountant.Table{Name: scope.Name, ID: id}})
		}
		apply("run", e)
	}
	apply("", history.BeginEntry{Boot: "run", Sole: true})
	apply("", history.FormatEntry(history.Format))
	first, now := of("public.labs", "public.tests", "public.notes"), of("public.labs", "public.tests", "archive.notes")
	set(first, "1", "2", "3")
	want := func(s *books, want ...string) {
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
	want(first, "table:public.labs", "table:public.notes", "table:public.tests", "unit:person")
	set(now, "2", "1", "3")
	const both = " charged for public.labs, public.tests"
	want(now, "table:public.labs"+both, "table:public.notes table:archive.notes in the policy", "table:public.tests"+both, "unit:person")
	scope := func(n string) accountant.Scope { return accountant.Scope{Kind: accountant.TableScope, Name: n} }
	apply("", history.RenameEntry{From: scope("public.tests"), To: scope("public.exams"), Who: "carol", Reason: "why"})
	want(now, "table:public.exams table:public.tests in the policy; charged for public.labs, public.tests", "table:public.labs"+both,
		"table:public.notes table:archive.notes in the policy", "unit:person")
	want(of("public.labs", "public.tests"), "table:public.exams table:public.tests in the policy; charged for public.labs, public.tests",
		"table:public.labs"+both, "table:public.notes not in the policy", "unit:person")
	moved, err := state.Balances(scope("public.notes"))
	if err != nil {
		t.Fatal(err)
	}
	apply("run", history.ChargeEntry{
		Analyst: "ana", Tables: []accountant.Table{{Name: "archive.notes", ID: "3"}},
		Debits: []accountant.Debit{{Scope: scope("public.notes"), Loss: loss("0.5")}, {Scope: unit, Loss: loss("0.5")}},
	})
	left, err := now.left(state)
	if rest := left[scope("archive.notes")]; err != nil || rest != loss("1.5") || left[unit] != loss("8.5") {
		t.Errorf("%v are left: %v", left, err)
	}
	lower := of("archive.notes")
	lower.policy.TableBudgets[catalog.Name{Schema: "archive", Name: "notes"}] = *budget("0.4")
	if left, err := lower.left(state); err != nil || !left[scope("archive.notes")].IsZero() {
		t.Errorf("under a lower limit %v are left: %v", left, err)
	}
	all, err := now.balancesJSON(state, moved)
	if err != nil || all[0].Name != "public.notes" || all[0].PolicyName != "archive.notes" || all[0].PolicyLimit != "2" {
		t.Errorf("%+v, %v", all, err)
	}
}
