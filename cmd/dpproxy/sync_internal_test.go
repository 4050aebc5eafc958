package main

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
	s := &site{policy: &config.Policy{Tables: tables}, secret: secret{}}
	want := map[string]string{
		"patients": "", "visits": "; rows that belong to no patient (patient_id is NULL) are left out",
		"labs": "; rows that belong to no patient (visits.patient_id is NULL) are left out",
	}
	for _, p := range s.mirrorPlanOf(cat).Protected {
		if _, said, _ := strings.Cut(p.Comment, "; rows that"); strings.TrimPrefix(want[p.Name.Name], "; rows that") != said {
			t.Errorf("the comment of %v is %q", p.Name, p.Comment)
		}
	}
	const lines = "public.labs: rows that belong to no patient (visits.patient_id is NULL) are left out of every answer\n" +
		"public.visits: rows that belong to no patient (patient_id is NULL) are left out of every answer"
	if got := strings.Join(withoutUnit(cat), "\n"); got != lines {
		t.Errorf("check says\n%s", got)
	}
}
