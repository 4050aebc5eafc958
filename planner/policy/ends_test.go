package policy_test

import (
	"fmt"
	"strings"
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
			if got := cat.Table(name(table)).LeftOut(); got != want {
				t.Errorf("%s: of %s is said %q, want %q", c.what, table, got, want)
			}
		}
	}
}

// counting has visits without a patient, which count.
func counting(p *policy.Policy, s *catalog.Schema, as policy.Nobody) {
	nullable(s, "visits", "patient_id")
	p.Tables[1].Nobody = as
}

// TestCounted: rows that count without a unit are not left out, and are said with what is protected of them; of others the line is named
// that would have them count.
func TestCounted(t *testing.T) {
	for _, c := range []struct {
		what                     string
		spoil                    func(p *policy.Policy, s *catalog.Schema)
		out, counted, remedy, of string
	}{
		{
			"left out", func(_ *policy.Policy, s *catalog.Schema) { nullable(s, "visits", "patient_id") },
			"visits.patient_id is NULL", "", "nobody: rows under public.visits", "",
		},
		{
			"rows", func(p *policy.Policy, s *catalog.Schema) { counting(p, s, policy.NobodyRows) },
			"", "visits.patient_id is NULL: of each the row is protected, not a person", "", "",
		},
		{
			"public", func(p *policy.Policy, s *catalog.Schema) { counting(p, s, policy.NobodyPublic) },
			"", "visits.patient_id is NULL: declared to concern nobody", "", "",
		},
		{
			"rows, of erased people too", func(p *policy.Policy, s *catalog.Schema) {
				counting(p, s, policy.NobodyRows)
				s.Tables[name("visits")].Foreign[0].Forgets = true
			},
			"", "visits.patient_id is NULL: of each the row is protected, not a person", "", "makes (patient_id) NULL",
		},
		{"a column without NULL", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[1].Nobody = policy.NobodyRows }, "", "", "", ""},
	} {
		p, s := clinicPolicy(), clinicSchema()
		c.spoil(&p, s)
		cat, problems := policy.Check(p, s)
		if problems != nil {
			t.Fatal(problems)
		}
		labs, visits := cat.Table(name("labs")), cat.Table(name("visits"))
		out, counted, remedy := labs.LeftOut(), policy.Counted(labs), policy.Remedies(labs)
		if out != c.out || counted != c.counted || remedy != c.remedy || !strings.Contains(fmt.Sprint(policy.Forgetting(visits)), c.of) ||
			(policy.Forgetting(visits) == nil) != (c.of == "") {
			t.Errorf("%s: left out %q, counted %q, remedy %q, warning %q", c.what, out, counted, remedy, policy.Forgetting(visits))
		}
	}
}

// TestWholeOfNobody: a row of a partition is told by the name of the table that all of it belongs to, also if the policy does not list
// the table between them.
func TestWholeOfNobody(t *testing.T) {
	p, s := clinicPolicy(), clinicSchema()
	counting(&p, s, policy.NobodyRows)
	visits := s.Tables[name("visits")]
	part := *visits
	part.Name, part.Parents, part.Foreign = name("visits_may"), []catalog.Name{name("visits_2024")}, nil
	visits.Kind, visits.Children = 'p', []catalog.Name{name("visits_2024"), part.Name}
	s.Tables[part.Name] = &part
	of := p.Tables[1]
	of.Name = part.Name
	p.Tables = append(p.Tables, of)
	cat, problems := policy.Check(p, s)
	if problems != nil {
		t.Fatal(problems)
	}
	if a, b := cat.Table(visits.Name).Counting, cat.Table(part.Name).Counting; a.Of != b.Of || len(b.Key) != 1 {
		t.Errorf("one row has the identifiers of %s and %s", a.Of, b.Of)
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
