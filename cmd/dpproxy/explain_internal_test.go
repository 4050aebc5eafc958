package main

import (
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// TestGroups holds that check --explain tells of each open column whether groups by it are public, and how many there are.
func TestGroups(t *testing.T) {
	tables := plannertest.ClinicPolicy()
	tables.Tables[1].Derived = []policy.DerivedPolicy{{Name: "walk", Is: "steps * steps", Bounds: plannertest.Bounds("0", "60").Bounds}}
	cat := plannertest.CheckedBy(t, tables, plannertest.ClinicSchema())
	e := effects{&config.Policy{Tables: tables, Allowances: map[catalog.Name]config.Allowance{}}, cat}
	e.policy.Limits.MaxWork, e.policy.Limits.MaxPublicFanout = 1000, 1000
	e.policy.Defaults.EpsilonPico, e.policy.Defaults.DeltaAtto, e.policy.Defaults.Mechanism = 1e11, 1e8, "auto"
	for table, want := range map[string]string{
		"patients": `public groups, all of them shown: sex 3, birth_year 91, region 2, smoker 3, mood 4
private groups, shown where enough patients are in one: weight
no groups of id: one row per privacy unit of protected table "patients" cannot be read
no groups of notes: protected rows cannot be grouped by values of type jsonb`,
		"visits": `public groups, all of them shown: day 1827, diagnosis 3, steps * steps 62
private groups, shown where enough patients are in one: hospital_id, at, cost, tip, score, steps
no groups of id: a group for each value of this key would be rows of one patient
no groups of patient_id: one row per privacy unit of protected table "visits" cannot be read
no groups of place: protected rows cannot be grouped by values of type place`,
	} {
		if got := strings.Join(e.groups(cat.Table(plannertest.Name(table))), "\n"); got != want {
			t.Errorf("%s:\n%s", table, got)
		}
	}
}

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
	said := (&site{policy: p}).annotate(problems).Error()
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
	said := (&site{policy: p}).annotate(m.Advice(map[catalog.Name]int64{plannertest.Name("patients"): 50})).Error()
	for _, want := range []string{"likewise tables.public.visits (line 8) of cost, steps\n", "likewise tables.public.visits (line 8)\n"} {
		if !strings.Contains(said+"\n", want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if strings.Contains(said, ", patient") {
		t.Errorf("the unit is among the columns:\n%s", said)
	}
}
