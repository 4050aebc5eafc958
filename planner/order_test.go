package planner_test

import (
	"slices"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
)

// TestIndexes holds that an index changes how rows are found and not which: with it and
// without, and however Postgres reads them, the integers are the same.
func TestIndexes(t *testing.T) {
	if !relyOnIndexes() {
		return
	}
	plainly, indexed := clinic(t), indexedClinic(t)
	conn := connect(t)
	run(t, conn, "BEGIN; CREATE INDEX ON visits (patient_id) INCLUDE (diagnosis, cost); ANALYZE")
	relied := 0
	for _, sql := range sensitivityStatements {
		p := plan(t, conn, indexed, sql)
		if !ordered(p) {
			continue
		}
		relied++
		want := plan(t, conn, plainly, sql).read(t, conn)
		for _, f := range forced {
			run(t, conn, f)
			same(t, sql+" with an index, under "+f, want, p.read(t, conn))
		}
		run(t, conn, "RESET ALL")
	}
	run(t, conn, "ROLLBACK")
	if relied == 0 {
		t.Error("no statement relies on an index")
	}
}

// TestOrdered holds which indexes let a statement read rows unit by unit.
func TestOrdered(t *testing.T) {
	if !relyOnIndexes() {
		return
	}
	conn := connect(t)
	for _, c := range []struct {
		sql     string
		columns []string
		want    bool
	}{
		{"SELECT count(*) FROM visits", []string{"patient_id"}, true},
		{"SELECT count(*) FROM visits", []string{"cost", "patient_id"}, false},
		{"SELECT sum(cost) FROM visits", []string{"patient_id", "cost"}, true},
		{"SELECT sum(cost) FROM visits", []string{"patient_id", "steps"}, false},
		{"SELECT sum(cost) FROM visits WHERE steps > 1", []string{"patient_id", "cost"}, false},
		{"SELECT sum(cost) FROM visits WHERE steps > 1", []string{"patient_id", "steps", "cost"}, true},
		{"SELECT sum(cost) FILTER (WHERE steps > 1) FROM visits", []string{"patient_id", "cost"}, false},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", []string{"patient_id", "cost"}, false},
		{"SELECT count(*) FROM patients", []string{"patient_id"}, false}, // one row for each unit: not aggregated by unit
	} {
		p := plan(t, conn, indexedClinic(t, catalog.Index{Columns: c.columns}), c.sql)
		if got := p.Blocks[0].Sets[0].Reads[0].Ordered; got != c.want {
			t.Errorf("%s with an index on %v: in its order %v, want %v", c.sql, c.columns, got, c.want)
		}
	}
}

// TestOrderedOtherwise holds that a domain or a partitioned table is read without regard
// to indexes.
func TestOrderedOtherwise(t *testing.T) {
	conn := connect(t)
	for what, change := range map[string]func(*catalog.Table){
		"a partitioned table": func(t *catalog.Table) { t.Kind = 'p' },
		"a unit of a domain":  func(t *catalog.Table) { t.Columns[1].Type.Kind = 'd' },
	} {
		s := clinicSchema()
		visits := s.Tables[name("visits")]
		visits.Sorted = []catalog.Index{{Columns: []string{"patient_id"}}}
		change(visits)
		p := plan(t, conn, checked(t, s), "SELECT sum(cost) FROM visits")
		if ordered(p) {
			t.Errorf("%s is read in the order of an index", what)
		}
	}
}

// TestOldServer holds that plans rely on no index of a server that changes its flags in place.
func TestOldServer(t *testing.T) {
	conn := connect(t)
	for version, want := range map[int]bool{130022: false, 140000: true} {
		s := clinicSchema()
		s.ServerVersion = version
		s.Tables[name("visits")].Sorted = []catalog.Index{{Columns: []string{"patient_id"}}}
		if got := ordered(plan(t, conn, checked(t, s), "SELECT count(*) FROM visits")); got != want {
			t.Errorf("rows are read in the order of an index on %d: %t, want %t", version, got, want)
		}
	}
}

// ordered reports whether a read of a plan relies on the order of an index.
func ordered(p specialized) bool {
	return slices.ContainsFunc(p.Blocks[0].Sets[0].Reads, func(r *planner.Read) bool { return r.Ordered })
}

// relyOnIndexes reports whether plans for the server do: before Postgres 14 none does.
func relyOnIndexes() bool { return plannertest.ServedVersion >= 140000 }
