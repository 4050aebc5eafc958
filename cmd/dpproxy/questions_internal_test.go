package main

import (
	"fmt"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/dp"
	"dpproxy/planner/policy"
)

// TestQuestions counts what analysts can ask: by the budget that is exhausted first. A budget of a table counts for those
// who may ask about it.
func TestQuestions(t *testing.T) {
	budget := func(text ...string) accountant.Budget {
		t.Helper()
		b, err := config.ParseBudget(text[0], strings.Join(text[1:], ""), "")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	visits := catalog.Name{Schema: "public", Name: "visits"}
	own, small := budget("100"), budget("0.3")
	p := &config.Policy{
		Unit: budget("30"), TableBudgets: map[catalog.Name]accountant.Budget{visits: budget("2")},
		Defaults: config.Defaults{EpsilonPico: dp.PicoPerUnit / 10},
		Analysts: []config.Analyst{
			{Name: "ana", Tables: []catalog.Name{visits}, Budget: &own},
			{Name: "bob", Tables: []catalog.Name{{Schema: "public", Name: "patients"}}},
			{Name: "eve", Tables: []catalog.Name{visits}, Budget: &small},
			{Name: "idle"},
		},
	}
	p.Tables.Unit, p.Tables.Tables = "patient", append(p.Tables.Tables, policy.TablePolicy{Name: visits})
	lines, err := questions(p)
	if err != nil {
		t.Fatal(err)
	}
	const each = "at epsilon 0.1, each like a count of patients ± 30 (95 %); then"
	want := fmt.Sprintf(`analyst "ana": 20 questions %[1]s table:public.visits is exhausted
warning: these are few for an afternoon; raise tables.visits.budget, or set defaults.epsilon to 0.02: 100 questions, ± 150
analyst "bob": 300 questions %[1]s unit:patient is exhausted
analyst "eve": 3 questions %[1]s analyst:eve is exhausted
warning: these are few for an afternoon; raise analysts.eve.budget, or set defaults.epsilon to 0.003: 100 questions, ± 999`, each)
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}
