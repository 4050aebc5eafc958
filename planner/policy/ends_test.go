package policy_test

import (
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// TestNobody: a table says which of its rows belong to no unit: where a column of its way can be NULL, its own or one of a table on
// the way, and where no foreign key holds that the way goes on.
func TestNobody(t *testing.T) {
	for _, c := range []struct {
		what         string
		spoil        func(p *policy.Policy, s *catalog.Schema)
		visits, labs string
	}{
		{"nothing", func(*policy.Policy, *catalog.Schema) {}, "", ""},
		{
			"the unit of visits", func(_ *policy.Policy, s *catalog.Schema) { nullable(s, "visits", "patient_id") },
			"patient_id is NULL", "visits.patient_id is NULL",
		},
		{"the way of labs", func(_ *policy.Policy, s *catalog.Schema) { nullable(s, "labs", "visit_id") }, "", "visit_id is NULL"},
		{
			"both", func(_ *policy.Policy, s *catalog.Schema) {
				nullable(s, "labs", "visit_id")
				nullable(s, "visits", "patient_id")
			}, "patient_id is NULL", "visit_id is NULL, or visits.patient_id is NULL",
		},
		{
			"a hidden unit", func(p *policy.Policy, s *catalog.Schema) {
				nullable(s, "visits", "patient_id")
				p.Tables[1].Columns["patient_id"] = policy.ColumnPolicy{Hidden: true}
			}, policy.Ellipsis + " is NULL", "visits." + policy.Ellipsis + " is NULL",
		},
		{
			"a foreign key that is not enforced", func(_ *policy.Policy, s *catalog.Schema) {
				labs := s.Tables[name("labs")]
				labs.Loose, labs.Foreign = labs.Foreign, nil
			}, "", "visit_id has no row in visits",
		},
		{
			"no foreign key, and a column that can be NULL", func(_ *policy.Policy, s *catalog.Schema) {
				s.Tables[name("labs")].Foreign = nil
				nullable(s, "labs", "visit_id")
			}, "", "visit_id is NULL or has no row in visits",
		},
	} {
		p, s := clinicPolicy(), clinicSchema()
		c.spoil(&p, s)
		cat, problems := policy.Check(p, s)
		if problems != nil {
			t.Fatal(problems)
		}
		for table, want := range map[string]string{"patients": "", "visits": c.visits, "labs": c.labs, "hospitals": ""} {
			if got := cat.Table(name(table)).Nobody(); got != want {
				t.Errorf("%s: of %s is said %q, want %q", c.what, table, got, want)
			}
		}
	}
}

// nullable has a column be NULL in some rows.
func nullable(s *catalog.Schema, table, column string) {
	columns := s.Tables[name(table)].Columns
	for i := range columns {
		if columns[i].Name == column {
			columns[i].NotNull = false
		}
	}
}
