package site

import (
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// TestLikewise holds that problems of one kind are told once, with the other places, and others by themselves.
func TestLikewise(t *testing.T) {
	const file = `
data: postgres://db/clinic
mirror: postgres://mirror/clinic
ledger: {dir: /var/lib/dpproxy}
privacy_unit: {name: patient, budget: {epsilon: 1}}
tables:
  patients: {unit: id, columns: {colour: {}}}
  visits:
    unit: patient
    columns:
      size: {}
  labs: {unit: {via: visit_id, to: visits.id}}
`
	p, err := config.Parse("policy.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	_, problems := policy.Check(p.Tables, plannertest.ClinicSchema())
	said := (&Site{Policy: p}).Annotate(problems).Error()
	for _, want := range []string{
		"tables.public.patients.columns.colour: there is no such column; likewise tables.public.visits.columns.size (line 11)\n",
		`tables.public.visits.unit: there is no column "patient"`,
		"tables.public.labs.unit: the path does not reach the privacy unit",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if n := strings.Count(said, "there is no such column"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, said)
	}
}

// TestLikewiseOfColumns holds that another place is told with its own columns, and not with the words that all places have.
func TestLikewiseOfColumns(t *testing.T) {
	const file = `
data: postgres://db/clinic
mirror: postgres://mirror/clinic
ledger: {dir: /var/lib/dpproxy}
privacy_unit: {name: patient, budget: {epsilon: 1}}
tables:
  patients: {unit: id}
  visits: {unit: patient_id, columns: {cost: {bounds: [0, 20000]}, steps: {bounds: [0, 9]}}}
  labs: {unit: {via: visit_id, to: visits.id}, columns: {value: {bounds: [0, 9]}}}
`
	p, err := config.Parse("policy.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	m, problems := policy.Check(p.Tables, plannertest.ClinicSchema())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	said := (&Site{Policy: p}).Annotate(m.Advice(map[catalog.Name]int64{plannertest.Name("patients"): 50})).Error()
	for _, want := range []string{"likewise tables.public.visits (line 8) of cost, steps\n", "likewise tables.public.visits (line 8)\n"} {
		if !strings.Contains(said+"\n", want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if strings.Contains(said, ", patient") {
		t.Errorf("the unit is among the columns:\n%s", said)
	}
}
