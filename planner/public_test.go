package planner_test

import (
	"testing"

	"dpproxy/parser"
	"dpproxy/planner"
)

// TestPublicNames names a public table in each place of a statement that reads rows: what the
// session means by the name is compared with the policy's table, so none may be missing.
func TestPublicNames(t *testing.T) {
	cat := clinic(t)
	for _, sql := range []string{
		"SELECT count(*) FROM visits JOIN hospitals h ON h.id = hospital_id",
		"SELECT count(*) FROM visits WHERE hospital_id IN (SELECT id FROM hospitals)",
		"SELECT count(*) FILTER (WHERE hospital_id IN (SELECT id FROM hospitals)) FROM visits",
		"SELECT sum(CASE WHEN hospital_id IN (SELECT id FROM hospitals) THEN 1 ELSE 0 END) FROM visits",
	} {
		script, err := parser.Parse(sql, planner.Names(cat))
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		q, err := planner.Analyze(nil, cat, script.Statements[0], nil)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if names := q.Public(); len(names) != 1 || names[0].Name != "hospitals" {
			t.Errorf("%s: the session is asked about %v", sql, names)
		}
	}
}
