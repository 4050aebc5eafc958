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

// newerSchemas are statements of newer versions, each in a table of its own, and the facts known
// of the table then: its keys, columns that are NOT NULL, foreign keys that hold and others, and
// columns that are virtual.
var newerSchemas = []struct {
	from                             int
	sql                              string
	keys, notNull, holds, loose, vir string
}{
	{
		13, "CREATE TABLE t (a int UNIQUE, b int REFERENCES patients); ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES patients NOT VALID",
		"a", "", "b", "a", "",
	},
	{13, "CREATE TYPE span AS RANGE (subtype = numeric); CREATE TABLE t (a span NOT NULL)", "", "a", "", "", ""},
	{13, "CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a + 1) STORED NOT NULL)", "", "b", "", "", ""},
	{15, "CREATE TABLE t (a int, b int NOT NULL, UNIQUE NULLS NOT DISTINCT (a))", "a", "b", "", "", ""},
	{18, "CREATE TABLE t (a int, b int); ALTER TABLE t ADD CONSTRAINT n NOT NULL a NOT VALID, ADD NOT NULL b", "", "b", "", "", ""},
	{
		18, "CREATE TABLE t (a int, b int); ALTER TABLE t ADD CONSTRAINT n NOT NULL a NOT VALID; ALTER TABLE t VALIDATE CONSTRAINT n",
		"", "a", "", "", "",
	},
	{18, "CREATE TABLE t (a int REFERENCES patients NOT ENFORCED, b int REFERENCES patients); " +
		"ALTER TABLE t ALTER CONSTRAINT t_b_fkey NOT ENFORCED", "", "", "", "a b", ""},
	{18, "CREATE TABLE t (a int4range, b int4range, PRIMARY KEY (a, b WITHOUT OVERLAPS))", "", "a b", "", "", ""},
	{18, "CREATE TABLE s (a int4range, b int4range, UNIQUE (a, b WITHOUT OVERLAPS)); " +
		"CREATE TABLE t (a int4range, b int4range, FOREIGN KEY (a, PERIOD b) REFERENCES s (a, PERIOD b))", "", "", "", "a", ""},
	{18, "CREATE TABLE t (a int, b int GENERATED ALWAYS AS (1 / a) VIRTUAL, c int GENERATED ALWAYS AS (a) STORED)", "", "", "", "", "b"},
}

// TestNewerCatalogue reads tables as the server's version can have them, and syncs them.
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
