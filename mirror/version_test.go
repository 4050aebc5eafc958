package mirror_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/catalog"
	"dpproxy/mirror"
)

func TestVersions(t *testing.T) {
	for version, want := range map[int]string{
		120022: "the protected database is Postgres 12; it must be 13 to 18: upgrade it",
		130000: "", 150018: "", 180099: "",
		190000: "the protected database is Postgres 19, which this dpproxy does not know; it must be 13 to 18: use a dpproxy that knows Postgres 19",
	} {
		if got := message(mirror.CheckData(version)); got != want {
			t.Errorf("%d: %q, want %q", version, got, want)
		}
	}
	for version, want := range map[int]string{
		140022: "the mirror is Postgres 14; it must be 15 to 18: upgrade it",
		150000: "", 180004: "",
		190000: "the mirror is Postgres 19, which this dpproxy does not know; it must be 15 to 18: use a dpproxy that knows Postgres 19",
	} {
		if got := message(mirror.CheckMirror(version)); got != want {
			t.Errorf("%d: %q, want %q", version, got, want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// newerSchemas are statements of newer versions, each in a table of its own, and what is known
// of the table then: its keys, columns that are NOT NULL, foreign keys that hold and others, and
// columns that are virtual.
var newerSchemas = []struct {
	from                             int
	sql                              string
	keys, notNull, holds, loose, vir string
}{
	{13, "CREATE TABLE t (a int UNIQUE, b int REFERENCES patients); ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES patients NOT VALID", "a", "", "b", "a", ""},
	{13, "CREATE TYPE span AS RANGE (subtype = numeric); CREATE TABLE t (a span NOT NULL)", "", "a", "", "", ""},
	{13, "CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a + 1) STORED NOT NULL)", "", "b", "", "", ""},
	{15, "CREATE TABLE t (a int, b int NOT NULL, UNIQUE NULLS NOT DISTINCT (a))", "a", "b", "", "", ""},
	{18, "CREATE TABLE t (a int, b int); ALTER TABLE t ADD CONSTRAINT n NOT NULL a NOT VALID, ADD NOT NULL b", "", "b", "", "", ""},
	{18, "CREATE TABLE t (a int, b int); ALTER TABLE t ADD CONSTRAINT n NOT NULL a NOT VALID; ALTER TABLE t VALIDATE CONSTRAINT n", "", "a", "", "", ""},
	{18, "CREATE TABLE t (a int REFERENCES patients NOT ENFORCED, b int REFERENCES patients); ALTER TABLE t ALTER CONSTRAINT t_b_fkey NOT ENFORCED", "", "", "", "a b", ""},
	{18, "CREATE TABLE t (a int4range, b int4range, PRIMARY KEY (a, b WITHOUT OVERLAPS))", "", "a b", "", "", ""},
	{18, "CREATE TABLE s (a int4range, b int4range, UNIQUE (a, b WITHOUT OVERLAPS)); CREATE TABLE t (a int4range, b int4range, FOREIGN KEY (a, PERIOD b) REFERENCES s (a, PERIOD b))", "", "", "", "a", ""},
	{18, "CREATE TABLE t (a int, b int GENERATED ALWAYS AS (1 / a) VIRTUAL, c int GENERATED ALWAYS AS (a) STORED)", "", "", "", "", "b"},
}

// TestNewerCatalogue reads what the server's version can have, and syncs it.
func TestNewerCatalogue(t *testing.T) {
	up, down := start(t), startMirror(t)
	version, err := up.Version()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range newerSchemas {
		if version < c.from {
			continue
		}
		conn := connect(t, up.URL("postgres", "postgres"))
		run(t, conn, "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE patients (id int PRIMARY KEY);"+c.sql)
		s, err := mirror.Plan{Public: []catalog.Name{name("t"), name("patients")}}.Read(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		table := s.Tables[name("t")]
		got, want := known(table), []string{c.keys, c.notNull, c.holds, c.loose, c.vir}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.sql, diff)
		}
		plan := mirror.Plan{Protected: []mirror.Protected{{Name: name("patients")}, {Name: name("t")}}}
		to := connect(t, down.URL("postgres", "postgres"))
		for range 2 {
			if err := mirror.Sync(t.Context(), conn, to, plan, func(string) {}); err != nil {
				t.Errorf("%s: %v", c.sql, err)
			}
		}
	}
}

func known(t *catalog.Table) []string {
	var keys, notNull, holds, loose, virtual []string
	for _, k := range t.Keys {
		keys = append(keys, k.Columns...)
	}
	for _, c := range t.Columns {
		if c.NotNull {
			notNull = append(notNull, c.Name)
		}
		if c.Virtual {
			virtual = append(virtual, c.Name)
		}
	}
	for _, f := range t.Foreign {
		holds = append(holds, f.Columns[0])
	}
	for _, f := range t.Loose {
		loose = append(loose, f.Columns[0])
	}
	var all []string
	for _, list := range [][]string{keys, notNull, holds, loose, virtual} {
		all = append(all, strings.Join(list, " "))
	}
	return all
}

// TestFingerprintOfNotNull holds that a column that is NOT NULL again is as it was, and that one
// whose rows were not checked is not.
func TestFingerprintOfNotNull(t *testing.T) {
	s := start(t)
	conn := clinic(t, s)
	before := digests(t, conn)
	run(t, conn, "ALTER TABLE visits ALTER patient_id DROP NOT NULL")
	if cmp.Equal(before, digests(t, conn)) {
		t.Error("a column that may be NULL changed nothing")
	}
	run(t, conn, "ALTER TABLE visits ALTER patient_id SET NOT NULL")
	if diff := cmp.Diff(before, digests(t, conn)); diff != "" {
		t.Errorf("the fingerprint changed without reason:\n%s", diff)
	}
	if version, err := s.Version(); err != nil || version < 18 {
		return
	}
	run(t, conn, "ALTER TABLE visits ALTER patient_id DROP NOT NULL; ALTER TABLE visits ADD CONSTRAINT n NOT NULL patient_id NOT VALID")
	if cmp.Equal(before, digests(t, conn)) {
		t.Error("a column whose rows were not checked changed nothing")
	}
}
