package demo_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/internal/demo"
)

func TestLoad(t *testing.T) {
	conn := connect(t)
	reports := map[string][]int64{}
	err := demo.Load(t.Context(), conn, small(t, 1), func(table string, done, total int64) {
		if done > total {
			t.Errorf("%s: %d of %d rows", table, done, total)
		}
		reports[table] = append(reports[table], done)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]int64{
		"hospitals":         {40},
		"patients":          {2_000},
		"visits":            {10_000, 20_000, 20_000},
		"labs":              {10_000, 20_000, 30_000, 40_000, 40_000},
		demo.KeysAndIndexes: {1, 2, 3, 4},
	}
	if diff := cmp.Diff(want, reports); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	expectFinishedTables(t, func(sql string) []string { return query(t, conn, sql) })
}

// expectFinishedTables reads from the catalogue the keys and indexes that a planner relies on.
func expectFinishedTables(t *testing.T, query func(sql string) []string) {
	t.Helper()
	for sql, want := range map[string][]string{
		`SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
		 WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'f') ORDER BY 1`: {
			"hospitals PRIMARY KEY (id)",
			"labs FOREIGN KEY (visit_id) REFERENCES visits(id)",
			"labs PRIMARY KEY (id)",
			"patients PRIMARY KEY (id)",
			"visits FOREIGN KEY (hospital_id) REFERENCES hospitals(id)",
			"visits FOREIGN KEY (patient_id) REFERENCES patients(id)",
			"visits PRIMARY KEY (id)",
		},
		`SELECT attrelid::regclass || '.' || attname FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
		 WHERE connamespace = 'public'::regnamespace AND contype = 'c' ORDER BY 1`: {
			"hospitals.region", "labs.test", "patients.birth_year", "patients.region", "patients.sex", "visits.cost", "visits.day",
			"visits.diagnosis",
		},
		`SELECT indexname::text FROM pg_indexes WHERE schemaname = 'public' AND indexname NOT LIKE '%pkey' ORDER BY 1`: {
			"labs_visit_id_idx", "visits_patient_id_idx",
		},
		`SELECT relname || ' ' || reltuples || ' ' || relpersistence::text FROM pg_class
		 WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1`: {
			"hospitals 40 p", "labs 40000 p", "patients 2000 p", "visits 20000 p",
		},
		`SELECT attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull FROM pg_attribute
		 WHERE attrelid = 'visits'::regclass AND attnum > 0 ORDER BY attnum`: {
			"id integer true", "patient_id integer true", "hospital_id integer true",
			"day date true", "diagnosis text true", "cost numeric(10,2) true",
		},
		`SELECT concat_ws(' ', min(day) >= '2020-01-01', max(day) <= '2024-12-31', min(cost) >= 5, max(cost) <= 20000) FROM visits`: {
			"t t t t",
		},
	} {
		if diff := cmp.Diff(want, query(sql)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sql, diff)
		}
	}
}

// A brokenSource is one table whose rows end early, with or without an error.
type brokenSource struct{ err error }

func (s brokenSource) Tables() []demo.Table {
	return []demo.Table{{
		Name: "broken", Columns: []demo.Column{{Name: "id", Type: "int"}}, Total: 3,
		Rows: func(yield func([]any, error) bool) {
			if yield([]any{int32(1)}, nil) && s.err != nil {
				yield(nil, s.err)
			}
		},
	}}
}

func TestLoadLeavesNothingAfterAnError(t *testing.T) {
	conn := connect(t)
	torn := errors.New("the tape is torn")
	for _, c := range []struct {
		source demo.Source
		want   string
	}{
		{brokenSource{torn}, torn.Error()},
		{brokenSource{}, "1 rows arrived, 3 were announced"},
	} {
		err := demo.Load(t.Context(), conn, c.source, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %v, want one with %q", err, c.want)
		}
	}
	left := query(t, conn, "SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace")
	if !slices.Equal(left, []string{}) {
		t.Errorf("left behind: %q", left)
	}
}
