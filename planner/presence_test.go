package planner_test

import (
	"strings"
	"testing"
)

// TestPresence compares outer joins whose kept side follows another relation with plain
// Postgres.
func TestPresence(t *testing.T) {
	conn := connect(t)
	p := clinicPolicy()
	for i := range p.Tables {
		if p.Tables[i].MaxRows > 0 {
			p.Tables[i].MaxRows = 1000 // nothing is cut before a join
		}
	}
	cat := checkedBy(t, p, clinicSchema())
	for _, from := range []string{
		"visits v JOIN labs l ON l.visit_id = v.id JOIN (labs k LEFT JOIN hospitals h ON h.id = k.id) ON k.visit_id = v.id",
		"(visits v JOIN labs b ON b.visit_id = v.id) LEFT JOIN (labs k LEFT JOIN hospitals h ON h.id = k.id) ON k.visit_id = b.visit_id",
		"visits v JOIN (labs k JOIN (SELECT id FROM hospitals WHERE name <> 'x') q ON q.id = k.id " +
			"LEFT JOIN hospitals h ON h.id = k.id) ON k.visit_id = v.id",
	} {
		e := plan(t, conn, cat, "SELECT count(*) FROM "+from+" WHERE v.patient_id > 0").read(t, conn)[0]
		got := e.Integer(0, e.Uncut())[""]
		plain := conn.ExecParams(t.Context(), "SELECT sum(least(n, 1000)) FROM (SELECT count(*) AS n FROM "+from+
			" WHERE v.patient_id > 0 GROUP BY v.patient_id) AS units", nil, nil, nil, nil).Read()
		if plain.Err != nil {
			t.Fatal(plain.Err)
		}
		want := string(plain.Rows[0][0])
		if got == nil || got.String() != want || strings.Trim(want, "0") == "" {
			t.Errorf("%s: %v rows, want %s", from, got, want)
		}
	}
}
