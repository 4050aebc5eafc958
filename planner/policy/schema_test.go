package policy_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/catalog"
	"dpproxy/parser/repair"
	"dpproxy/planner/policy"
)

// TestSchema holds what statements in hints may mention. A column that identifies the unit in some rows alone is none that every row has
// a value of, and neither is the unit at the end of a path.
func TestSchema(t *testing.T) {
	hospitals := map[string]repair.Key{"hospital_id": {Schema: "public", Table: "hospitals", Column: "id"}}
	both := maps.Clone(hospitals)
	both["patient_id"] = repair.Key{Schema: "public", Table: "patients", Column: "id"}
	for what, c := range map[string]struct {
		spoil   func(p *policy.Policy, s *catalog.Schema)
		unit    string
		parents map[string]repair.Key
	}{
		"as it is": {func(*policy.Policy, *catalog.Schema) {}, "patient_id", both},
		"a hidden unit": {func(p *policy.Policy, _ *catalog.Schema) {
			p.Tables[1].Columns["patient_id"] = policy.ColumnPolicy{Hidden: true}
		}, "", hospitals},
		"rows of nobody": {func(p *policy.Policy, s *catalog.Schema) {
			counting(p, s, policy.NobodyRows)
		}, "", hospitals},
	} {
		p, s := clinicPolicy(), clinicSchema()
		visits := s.Tables[name("visits")]
		visits.Foreign, visits.Loose = slices.Concat(visits.Foreign, visits.Loose), nil
		c.spoil(&p, s)
		cat, problems := policy.Check(p, s)
		if problems != nil {
			t.Fatal(problems)
		}
		schema := cat.Schema()
		got, known := schema.Table("public", "visits")
		want := repair.Table{Columns: got.Columns, Protected: true, Unit: c.unit, Keys: []string{"id"}, Parents: c.parents}
		if d := cmp.Diff(want, got); d != "" || !known {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
		if labs, _ := schema.Table("", "labs"); labs.Unit != "" || labs.Parents["visit_id"].Table != "visits" {
			t.Errorf("%s: %+v", what, labs)
		}
		if typ, unknown := schema.Suggested("", "visits", "diagnosis"); typ != "" || unknown {
			t.Error(typ)
		}
	}
}
