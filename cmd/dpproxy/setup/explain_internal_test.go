package setup

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

// TestEffectsOfMinimum holds that check --explain states errors beside the number of people, which is paid for, by the larger minimum.
func TestEffectsOfMinimum(t *testing.T) {
	tables := plannertest.ClinicPolicy()
	cat := plannertest.CheckedBy(t, tables, plannertest.ClinicSchema())
	e := effects{&config.Policy{Tables: tables, Allowances: map[catalog.Name]config.Allowance{}}, cat}
	e.policy.Limits.MaxWork, e.policy.Limits.MaxPublicFanout = 1000, 1000
	e.policy.Defaults.EpsilonPico, e.policy.Defaults.Mechanism = 1e11, "gaussian"
	of := func(table, aggregate string) string {
		x, err := e.of(plannertest.Name(table), aggregate)
		if err != nil {
			t.Fatal(err)
		}
		return x.Error
	}
	visits, patients := of("visits", "count(*)"), of("patients", "count(*)")
	e.policy.Allowances[plannertest.Name("visits")] = config.Allowance{MinimumPeople: 10}
	if got := of("visits", "count(*)"); got == visits {
		t.Errorf("with a minimum of people the error is %s", got)
	}
	delete(e.policy.Allowances, plannertest.Name("visits"))
	e.policy.MinimumPeople = 10
	if got := of("visits", "count(*)"); got == visits {
		t.Errorf("with a minimum for all the error is %s", got)
	}
	if got := of("patients", "count(*)"); got != patients { // which counts them
		t.Errorf("a count of people has the error %s, without a minimum %s", got, patients)
	}
}
