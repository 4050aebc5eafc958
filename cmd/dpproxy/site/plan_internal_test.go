package site

import (
	"strings"
	"testing"

	"dpproxy/config"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// TestLimitsOf holds that the comment of a table tells numbers of the policy, and limits that are chosen.
func TestLimitsOf(t *testing.T) {
	for _, c := range []struct {
		table policy.TablePolicy
		want  string
	}{
		{
			policy.TablePolicy{MaxRows: 20, MaxPartitions: 4},
			"at most 20 rows of one patient count in a group; one patient counts in at most 4 groups",
		},
		{policy.TablePolicy{}, "how much of one patient counts is chosen where keys do not tell"},
		{policy.TablePolicy{AutoRows: 40}, "how much of one patient counts is chosen, up to 40 rows in each group"},
	} {
		if got := strings.Join(limitsOf(c.table, "patient"), "; "); got != c.want {
			t.Errorf("%+v: %q", c.table, got)
		}
	}
}

// TestCommentsOfNobody holds that the comment of a table on the mirror, check and check --explain say which rows belong to nobody.
func TestCommentsOfNobody(t *testing.T) {
	schema, tables := plannertest.ClinicSchema(), plannertest.ClinicPolicy()
	schema.Tables[plannertest.Name("visits")].Columns[1].NotNull = false
	cat := plannertest.CheckedBy(t, tables, schema)
	s := &Site{Policy: &config.Policy{Tables: tables}, Secret: Secret{}}
	want := map[string]string{
		"patients": "", "visits": "; rows that belong to no patient (patient_id is NULL) are left out",
		"labs": "; rows that belong to no patient (visits.patient_id is NULL) are left out",
	}
	for _, p := range s.MirrorPlanOf(cat).Protected {
		if _, said, _ := strings.Cut(p.Comment, "; rows that"); strings.TrimPrefix(want[p.Name.Name], "; rows that") != said {
			t.Errorf("the comment of %v is %q", p.Name, p.Comment)
		}
	}
	const remedy = "; with nobody: rows under public.visits they count"
	const lines = "rows that belong to no patient are left out of every answer: public.labs (visits.patient_id is NULL" + remedy +
		"), public.visits (patient_id is NULL" + remedy + ")"
	if got := strings.Join(policy.Together(policy.Remarks(cat)), "\n"); got != lines {
		t.Errorf("check says\n%s", got)
	}
}

// TestCommentsOfFields holds that the comment of a column of documents tells its fields, and nothing that the policy does not say.
func TestCommentsOfFields(t *testing.T) {
	tables := plannertest.ClinicPolicy()
	cat := plannertest.CheckedBy(t, tables, plannertest.ClinicSchema())
	s := &Site{Policy: &config.Policy{Tables: tables}, Secret: Secret{}}
	const want = "field device, text, public values: android, ios; field logins, integer, values are clamped to [0, 1000]; " +
		"field seen.last, date, values are clamped to [2020-01-01, 2020-12-31]; field seen.by, text; field score, numeric; " +
		"field smoker, boolean"
	for _, p := range s.MirrorPlanOf(cat).Protected {
		if c := p.Columns["notes"]; p.Name.Name == "patients" && (c.Comment != want || c.Labels != nil || c.AllLabels) {
			t.Errorf("the column is %+v", c)
		}
	}
}

// TestCommentsOfRowsThatCount holds that they say likewise which rows count without a unit, what is protected of these, and that rows of
// erased people become such rows.
func TestCommentsOfRowsThatCount(t *testing.T) {
	schema, tables := plannertest.ClinicSchema(), plannertest.ClinicPolicy()
	visits := schema.Tables[plannertest.Name("visits")]
	visits.Columns[1].NotNull, visits.Foreign[0].Forgets = false, true
	tables.Tables[1].Nobody = policy.NobodyRows
	cat := plannertest.CheckedBy(t, tables, schema)
	s := &Site{Policy: &config.Policy{Tables: tables}, Secret: Secret{}}
	const said = "; rows that belong to no patient count (visits.patient_id is NULL: of each the row is protected, not a person)"
	for _, p := range s.MirrorPlanOf(cat).Protected {
		if p.Name.Name == "labs" && !strings.HasSuffix(p.Comment, said) {
			t.Errorf("the comment of %v is %q", p.Name, p.Comment)
		}
	}
	const lines = "rows that belong to no patient count: public.labs " +
		"(visits.patient_id is NULL: of each the row is protected, not a person), " +
		"public.visits (patient_id is NULL: of each the row is protected, not a person)\n" +
		"public.visits: the foreign key patient_id_fkey makes (patient_id) NULL where the row is deleted that it refers to: from then on " +
		"each row that is left is protected by itself, and no more all of them together"
	if got := strings.Join(policy.Together(policy.Remarks(cat)), "\n"); got != lines {
		t.Errorf("check says\n%s", got)
	}
}

// TestCommentsOfBounds holds that the comments of columns say which expressions over them have bounds.
func TestCommentsOfBounds(t *testing.T) {
	tables := plannertest.ClinicPolicy()
	tables.Tables[1].Derived = []policy.DerivedPolicy{
		{Name: "rest", Is: "cost - tip", Bounds: plannertest.Bounds("0", "50").Bounds},
		{Name: "likely", Is: "CASE WHEN hospital_id = 1 THEN cost END * cost", Bounds: plannertest.Bounds("0", "1e2").Bounds},
	}
	cat := plannertest.CheckedBy(t, tables, plannertest.ClinicSchema())
	s := &Site{Policy: &config.Policy{Tables: tables}, Secret: Secret{}}
	const rest, likely = "rest: values of cost - tip are clamped to [0, 50]",
		"likely: values of CASE WHEN hospital_id = 1 THEN cost END * cost are clamped to [0, 1e2]"
	visits := s.MirrorPlanOf(cat).Protected[1]
	for column, want := range map[string]string{
		"cost": "values are clamped to [0, 20000]; " + rest + "; " + likely, "tip": "values are clamped to [-1.5, 99]; " + rest,
		"hospital_id": likely, "score": "values are clamped to [-1, 1]",
	} {
		if got := visits.Columns[column].Comment; got != want {
			t.Errorf("the comment of %s is %q", column, got)
		}
	}
}
