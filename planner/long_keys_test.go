package planner_test

import (
	"testing"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
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
			script, err := parser.Parse(sql, planner.Names(cat))
			if err == nil {
				_, err = planner.Analyze(nil, cat, script.Statements[0], nil)
			}
			if tt.answered != (err == nil) {
				t.Errorf("by a key of type %s: %s: %v", tt.key.Display, sql, err)
			}
		}
	}
}

// TestLongUnits has a text of any length identify the unit, at the end of a path: a sub-select has the unit itself.
func TestLongUnits(t *testing.T) {
	s := plannertest.ClinicSchema()
	patients, visits := s.Tables[name("patients")], s.Tables[name("visits")]
	patients.Columns[0].Type = plannertest.Text
	for i, c := range visits.Columns {
		if c.Name == "patient_id" {
			visits.Columns[i].Type = plannertest.Text
		}
	}
	p := plannertest.ClinicPolicy()
	for i, table := range p.Tables {
		if table.Name == name("visits") {
			p.Tables[i].UnitColumn, p.Tables[i].Via = "", "patient_id"
			p.Tables[i].To = policy.ColumnName{Table: name("patients"), Column: "id"}
		}
	}
	cat := plannertest.CheckedBy(t, p, s)
	const sql = "SELECT count(*) FROM patients p JOIN " +
		"(SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) g ON g.patient_id = p.id"
	script, err := parser.Parse(sql, planner.Names(cat))
	if err == nil {
		_, err = planner.Analyze(nil, cat, script.Statements[0], nil)
	}
	if err != nil {
		t.Error(err)
	}
}
