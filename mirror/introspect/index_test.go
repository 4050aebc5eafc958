package introspect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror/introspect"
)

// TestSorted holds which indexes have all rows in the order of their first column.
func TestSorted(t *testing.T) {
	conn := connect(t, start(t).URL("postgres", pgtemp.Superuser))
	for sql, want := range map[string]string{
		"":                                           "k x",
		"CREATE INDEX ON t (k)":                      "x",
		"CREATE UNIQUE INDEX ON t (k)":               "x",
		"CREATE INDEX ON t (k DESC, y)":              "x",
		`CREATE INDEX ON t ("Ü'x")`:                  "k",
		"ALTER TABLE t ADD UNIQUE (k)":               "x",
		"CREATE INDEX ON t (y, k)":                   "k x",
		"CREATE INDEX ON t (y) INCLUDE (k)":          "k x",
		"CREATE INDEX ON t ((k + 0))":                "k x",
		"CREATE INDEX ON t (k, (y + 0))":             "k x",
		"CREATE INDEX ON t (k) WHERE y > 0":          "k x",
		"CREATE INDEX ON t USING hash (k)":           "k x",
		"CREATE INDEX ON t USING brin (k)":           "k x",
		`CREATE INDEX ON t ("Ü'x" text_pattern_ops)`: "k x",
		`CREATE INDEX ON t ("Ü'x" COLLATE "C")`:      "k x",
		"CREATE INDEX i ON t (k); UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'i'::regclass":  "k x",
		"CREATE INDEX i ON t (k); UPDATE pg_index SET indisready = false WHERE indexrelid = 'i'::regclass":  "k x",
		"CREATE INDEX i ON t (k); UPDATE pg_index SET indcheckxmin = true WHERE indexrelid = 'i'::regclass": "k x",
		"CREATE TABLE u (k int); CREATE INDEX ON u (k)":                                                     "k x",
		`ALTER TABLE t ALTER "Ü'x" TYPE text COLLATE "C"; CREATE INDEX ON t ("Ü'x")`:                        "k",
	} {
		run(t, conn, `DROP TABLE IF EXISTS t, u; CREATE TABLE t (k int, "Ü'x" text, y int); `+sql)
		schema, err := read(t, conn, name("t"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for short, column := range map[string]string{"k": "k", "x": "Ü'x"} {
			begins := func(i catalog.Index) bool { return i.Columns[0] == column }
			if !slices.ContainsFunc(schema.Tables[name("t")].Sorted, begins) {
				got = append(got, short)
			}
		}
		slices.Sort(got)
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: no index has the order of %q, want %q", sql, got, want)
		}
	}
}

// TestIndexNotYetUsable makes an index beside a transaction that could see rows as they were
// before: Postgres does not use it while that goes on, and it counts as none until it is sure
// that Postgres does.
func TestIndexNotYetUsable(t *testing.T) {
	s := start(t)
	url := s.URL("postgres", pgtemp.Superuser)
	conn, old, holder := connect(t, url), connect(t, url), connect(t, url)
	run(t, conn, "CREATE TABLE looked (k int, v int) WITH (fillfactor = 50); "+
		"INSERT INTO looked SELECT g, g FROM generate_series(1, 20000) g; ANALYZE looked")
	run(t, old, "BEGIN; SELECT pg_current_xact_id()")
	run(t, holder, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM looked")
	run(t, conn, "UPDATE looked SET k = k + 1 WHERE k % 100 = 0") // in place, as no index has k
	run(t, conn, "CREATE INDEX looked_k ON looked (k)")
	run(t, holder, "COMMIT")
	holds := func(when string, usable, waits, used bool) {
		t.Helper()
		const checks = "SELECT indcheckxmin::text FROM pg_index WHERE indexrelid = 'looked_k'::regclass"
		if got := value(t, conn, checks) == "true"; got != waits {
			t.Fatalf("%s: the index waits: %t, want %t", when, got, waits)
		}
		run(t, conn, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE looked IN ACCESS SHARE MODE")
		plan, err := pgx.CollectRows(must(conn.Query(t.Context(), "EXPLAIN SELECT * FROM looked WHERE k = 1")), pgx.RowTo[string])
		if got := strings.Contains(strings.Join(plan, ""), "looked_k"); err != nil || got != used {
			t.Errorf("%s: Postgres uses the index: %t, want %t, %v", when, got, used, err)
		}
		run(t, conn, "COMMIT")
		schema, err := read(t, conn, name("looked"))
		if err != nil || (len(schema.Tables[name("looked")].Sorted) > 0) != usable {
			t.Errorf("%s: the catalogue has the wrong indexes, %v", when, err)
		}
	}
	holds("beside the old transaction", false, true, false)
	run(t, old, "COMMIT")
	holds("behind it", false, true, true)
	run(t, conn, "DO $$ BEGIN FOR i IN 1..100001 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
	holds("long behind it", true, true, true)
	for _, reindex := range []string{"REINDEX INDEX looked_k", "REINDEX INDEX CONCURRENTLY looked_k"} {
		run(t, conn, "UPDATE pg_index SET indcheckxmin = true WHERE indexrelid = 'looked_k'::regclass")
		holds("as if made anew", false, true, true)
		run(t, conn, reindex)
		holds("after "+reindex, true, false, true)
	}
}

func must(rows pgx.Rows, _ error) pgx.Rows { return rows } // which have the error

// TestDescendants finds partitions of partitions.
func TestDescendants(t *testing.T) {
	conn := connect(t, start(t).URL("postgres", pgtemp.Superuser))
	run(t, conn, `CREATE TABLE p (k int PRIMARY KEY) PARTITION BY RANGE (k); CREATE TABLE p1 PARTITION OF p `+
		`FOR VALUES FROM (1) TO (9) PARTITION BY RANGE (k);
		CREATE SCHEMA s; CREATE TABLE s.p11 PARTITION OF p1 FOR VALUES FROM (1) TO (5); CREATE TABLE a (k int); `+
		`CREATE TABLE b () INHERITS (a); CREATE TABLE other (k int)`)
	got, err := introspect.Descendants(t.Context(), conn, []catalog.Name{name("p"), name("a"), name("none")})
	want := []catalog.Name{name("b"), name("p1"), {Schema: "s", Name: "p11"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("below them are %v, %v, want %v", got, err, want)
	}
}
