package ledger

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/dp"
	"dpproxy/internal/demo"
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
			{Name: "kim", Tables: []catalog.Name{visits}, Budget: &small, Settings: map[string]string{"dp.epsilon": "0.003"}},
			{Name: "z", Tables: []catalog.Name{visits}, Budget: &small, Settings: map[string]string{"dp.epsilon": "0.01"}},
			{Name: "idle"},
		},
	}
	p.Tables.Unit, p.Tables.Tables = "patient", append(p.Tables.Tables, policy.TablePolicy{Name: visits})
	lines, err := questions(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	const each = "at epsilon 0.1, each like a count of patients ± 30 (95 %); then"
	want := fmt.Sprintf(`analyst "ana": 20 questions %[1]s table:public.visits is exhausted
warning: these are few for an afternoon; raise tables.visits.budget, or set defaults.epsilon to 0.02: 100 questions, ± 150
analyst "bob": 300 questions %[1]s unit:patient is exhausted
analyst "eve": 3 questions %[1]s analyst:eve is exhausted
warning: these are few for an afternoon; raise analysts.eve.budget, or set defaults.epsilon to 0.003: 100 questions, ± 999
analyst "kim": 100 questions at epsilon 0.003, each like a count of patients ± 999 (95 %%); then analyst:kim is exhausted
analyst "z": 30 questions at epsilon 0.01, each like a count of patients ± 300 (95 %%); then analyst:z is exhausted
warning: these are few for an afternoon; raise analysts.z.budget, or set dp.epsilon in analysts.z.settings to 0.003: 100 questions, ± 999`,
		each)
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}

// TestQuestionsLeft counts the questions for which the ledger has something left.
func TestQuestionsLeft(t *testing.T) {
	whole, err := config.ParseBudget("30", "", "")
	if err != nil {
		t.Fatal(err)
	}
	p := &config.Policy{
		Unit: whole, Defaults: config.Defaults{EpsilonPico: dp.PicoPerUnit / 10},
		Analysts: []config.Analyst{{Name: "ana", Tables: []catalog.Name{{Schema: "public", Name: "visits"}}}},
	}
	p.Tables.Unit = "patient"
	rest, err := dp.NewLoss(dp.PureDP, 2*dp.PicoPerUnit, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := questions(p, Rests{{Kind: accountant.UnitScope, Name: "patient"}: rest})
	const want = `analyst "ana": 20 questions left at epsilon 0.1, each like a count of patients ± 30 (95 %); then unit:patient is exhausted
warning: these are few for an afternoon; raise privacy_unit.budget, or set defaults.epsilon to 0.02: 100 questions, ± 150`
	if got := strings.Join(lines, "\n"); err != nil || got != want {
		t.Errorf("it says\n%s\nwant\n%s: %v", got, want, err)
	}
}

// TestPoliciesLast holds that the policies of the demo and of the documents allow an afternoon's questions.
func TestPoliciesLast(t *testing.T) {
	verifier := "SCRAM-SHA-256$4096:AAAAAAAAAAAAAAAAAAAAAA==$" + strings.Repeat("A", 43) + "=:" + strings.Repeat("A", 43) + "="
	texts := map[string]string{}
	for _, data := range []demo.Dataset{demo.Clinic, demo.NAFLD} {
		text, err := data.Policy(demo.PolicyValues{
			Listen: "127.0.0.1:0", Data: "dbname=a", Mirror: "dbname=b", LedgerDir: "/c", Analyst: "analyst", Verifier: verifier,
		})
		if err != nil {
			t.Fatal(err)
		}
		texts[string(data)] = string(text)
	}
	for _, file := range []string{"../../../docs/policy.md", "../../../docs/first-policy.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```yaml\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			if strings.Contains(block, "\nprivacy_unit:") {
				texts[fmt.Sprintf("%s, %d", file, i)] = strings.NewReplacer("VERIFIER", verifier).Replace(block)
			}
		}
	}
	if len(texts) < 3 {
		t.Fatalf("there are %d policies", len(texts))
	}
	for name, text := range texts {
		p, err := config.Parse(name, []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		lines, err := questions(p, nil)
		if all := strings.Join(lines, "\n"); err != nil || strings.Contains(all, "warning") {
			t.Errorf("%s: %v\n%s", name, err, all)
		}
	}
}
