package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// Lines of advice on visits.
const (
	ofLimits = "tables.public.visits: no key proves that one patient has at most 20 rows in a group, or rows in at most 2 groups: " +
		"these limits may leave out much; max_rows_per_group: auto chooses one that fits, and measures what it leaves out"
	ofBounded = "tables.public.visits: sums and averages need no bounds of cost, steps any more, since the limit of what one patient " +
		"adds is chosen; variance, stddev, percentiles, min and max still do"
	ofStepless = "tables.public.visits: tip, score cannot be summed: state a step, such as {step: 0.01}, or bounds"
	ofFew      = "tables.public.visits: few units: a limit that is chosen among fewer than 2000 (patient) is low and leaves out " +
		"much; choose max_rows_per_group yourself: a number, or {auto: n} with the n rows that one patient has in a group at most; " +
		"and say privacy_unit.units: about how many there are"
)

// asItIs changes nothing.
func asItIs(*policy.Policy, *catalog.Schema) {}

// chosen gives visits limits that are chosen, and bounds of some columns.
func chosen(p *policy.Policy, _ *catalog.Schema) {
	v := &p.Tables[1]
	v.MaxRows, v.MaxPartitions, v.AutoRows = 0, 0, 30
	v.Columns = map[string]policy.ColumnPolicy{
		"cost": bounds("0", "20000"), "steps": bounds("0", "9"), "day": bounds("2020-01-01", "2024-12-31"),
	}
}

// stepped gives visits limits that are chosen, and steps.
func stepped(p *policy.Policy, s *catalog.Schema) {
	chosen(p, s)
	p.Tables[1].Columns = map[string]policy.ColumnPolicy{"tip": step(1, 100), "score": step(1, 8)}
}

// TestAdvice reads the advice on a policy that is changed in one way.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*policy.Policy, *catalog.Schema)
		rows   map[catalog.Name]int64
		want   []string
	}{
		{"numbers", asItIs, nil, []string{ofLimits}},
		{"a number of rows alone", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[1].MaxPartitions = 0 }, nil, nil},
		{"numbers, and a key", func(_ *policy.Policy, s *catalog.Schema) {
			v := s.Tables[name("visits")]
			v.Keys = append(v.Keys, catalog.Key{Name: "one", Columns: []string{"patient_id"}})
		}, nil, nil},
		{"numbers, and few units", asItIs, map[catalog.Name]int64{name("patients"): 50}, []string{ofLimits}},
		{"a limit that is chosen", chosen, map[catalog.Name]int64{name("patients"): 2000}, []string{ofBounded, ofStepless}},
		{"steps", stepped, nil, nil},
		{"few units by their table", stepped, map[catalog.Name]int64{name("patients"): 1999, name("visits"): 2000}, []string{ofFew}},
		{"few units by the rows", stepped, map[catalog.Name]int64{name("patients"): 2000, name("visits"): 1999}, []string{ofFew}},
		{"few rows of a table with one of each unit", func(p *policy.Policy, s *catalog.Schema) {
			stepped(p, s)
			l := s.Tables[name("labs")]
			l.Columns = append(l.Columns, column("patient_id", int4, true))
			l.Keys = append(l.Keys, catalog.Key{Name: "one", Columns: []string{"patient_id"}})
			l.Foreign = nil
			p.Tables[2].Via, p.Tables[2].To, p.Tables[2].UnitColumn = "", policy.ColumnName{}, "patient_id"
		}, map[catalog.Name]int64{name("labs"): 10, name("patients"): 2000}, nil},
		{"few rows of another table", stepped, map[catalog.Name]int64{name("labs"): 10}, nil},
		{"few units, says the policy", func(p *policy.Policy, s *catalog.Schema) {
			stepped(p, s)
			p.Units = 300
		}, nil, []string{ofFew}},
		{"many units, says the policy", func(p *policy.Policy, s *catalog.Schema) {
			stepped(p, s)
			p.Units = 3000
		}, map[catalog.Name]int64{name("visits"): 10}, nil},
	} {
		p, s := clinicPolicy(), clinicSchema()
		c.change(&p, s)
		m, problems := policy.Check(p, s)
		if problems != nil {
			t.Fatalf("%s: %v", c.name, problems)
		}
		var got []string
		for _, a := range m.Advice(c.rows) {
			got = append(got, a.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
