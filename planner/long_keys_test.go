package planner_test

import (
	"testing"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
)

// TestLongKeys ties rows by a key that is a text. Of a text of any length, a sub-select has the beginning alone, which keys of two
// persons can share: it tells nobody's rows then. A short one is whole.
func TestLongKeys(t *testing.T) {
	for _, tt := range []struct {
		key      catalog.TypeRef
		answered bool
	}{{plannertest.Text, false}, {plannertest.Varchar10, true}, {plannertest.Int4, true}} {
		s := plannertest.ClinicSchema()
		s.Tables[name("visits")].Columns[0].Type = tt.key
		s.Tables[name("labs")].Columns[1].Type = tt.key
		cat := plannertest.CheckedBy(t, plannertest.ClinicPolicy(), s)
		for _, sql := range []string{
			"SELECT count(*) FROM visits v JOIN (SELECT visit_id, count(*) AS n FROM labs GROUP BY visit_id) g ON g.visit_id = v.id",
			"SELECT avg((SELECT count(*) FROM labs l WHERE l.visit_id = v.id)) FROM visits v",
			"SELECT avg(f.n) FROM visits v, LATERAL (SELECT l.id AS n FROM labs l WHERE l.visit_id = v.id ORDER BY 1 LIMIT 1) f",
			"SELECT count(*) FROM visits v JOIN (SELECT DISTINCT ON (visit_id) visit_id FROM labs ORDER BY 1, id) f ON f.visit_id = v.id",
		} {
			script, err := parser.Parse(sql, cat)
			if err == nil {
				_, err = planner.Analyze(cat, script.Statements[0], nil)
			}
			if tt.answered != (err == nil) {
				t.Errorf("by a key of type %s: %s: %v", tt.key.Display, sql, err)
			}
		}
	}
}
