package mirror_test

import (
	"errors"
	"strings"
	"testing"

	"dpproxy/mirror"
)

// A turn is something that happens to the real database after a sync, and how it is undone.
type turn struct{ name, change, undo, want string }

// turns change the relations that the mirror was made from. Want is in the error of the proof, empty if the names still stand for them.
var turns = []turn{
	{"a column more", "ALTER TABLE regions ADD n int", "ALTER TABLE regions DROP n", ""},
	{"rows rewritten", "VACUUM FULL regions", "", ""},
	{"statistics", "ANALYZE", "", ""},
	{"a column renamed", "ALTER TABLE regions RENAME label TO text", "ALTER TABLE regions RENAME text TO label", ""},
	{"a label renamed", "ALTER TYPE sex_t RENAME VALUE 'f' TO 'w'", "ALTER TYPE sex_t RENAME VALUE 'w' TO 'f'", ""},
	{"a label more", "ALTER TYPE ward_t ADD VALUE 'new'", "", ""},
	{"a domain renamed", "ALTER DOMAIN fee_t RENAME TO due_t", "ALTER DOMAIN due_t RENAME TO fee_t", ""},
	{
		"a public table renamed", "ALTER TABLE regions RENAME TO was", "ALTER TABLE was RENAME TO regions",
		"rows of public.regions, which is public.was in the real database by now",
	},
	{
		"renamed and replaced", "ALTER TABLE regions RENAME TO was; CREATE TABLE regions (LIKE was)",
		"DROP TABLE regions; ALTER TABLE was RENAME TO regions", "rows of public.regions, which is public.was in the real database by now",
	},
	{
		"swapped", "ALTER TABLE regions RENAME TO x; ALTER TABLE hospitals RENAME TO regions; ALTER TABLE x RENAME TO hospitals",
		"ALTER TABLE hospitals RENAME TO x; ALTER TABLE regions RENAME TO hospitals; ALTER TABLE x RENAME TO regions",
		"rows of public.hospitals, which is public.regions in the real database by now; " +
			"rows of public.regions, which is public.hospitals in the real database by now",
	},
	{
		"in another schema", "ALTER TABLE regions SET SCHEMA lab", "ALTER TABLE lab.regions SET SCHEMA public",
		"rows of public.regions, which is lab.regions in the real database by now",
	},
	{
		"a schema renamed", "ALTER SCHEMA public RENAME TO open; CREATE SCHEMA public",
		"DROP SCHEMA public; ALTER SCHEMA open RENAME TO public",
		"rows of public.regions, which is open.regions in the real database by now",
	},
	{
		"a public view renamed", "ALTER VIEW towns RENAME TO was", "ALTER VIEW was RENAME TO towns",
		"rows of public.towns, which is public.was in the real database by now",
	},
	{
		"a public view replaced by a table", "ALTER VIEW towns RENAME TO was; CREATE TABLE towns (code text)",
		"DROP TABLE towns; ALTER VIEW was RENAME TO towns", "rows of public.towns, which is public.was in the real database by now",
	},
	{
		"a public view has another query", "CREATE OR REPLACE VIEW towns AS SELECT code FROM regions WHERE code <> 'r1'",
		"CREATE OR REPLACE VIEW towns AS SELECT code FROM regions", "",
	},
	{
		"a shown view renamed", "ALTER VIEW bills RENAME TO was; CREATE VIEW bills AS SELECT 1 AS n",
		"DROP VIEW bills; ALTER VIEW was RENAME TO bills",
		"the definition of public.bills, which is public.was in the real database by now",
	},
	{
		"a shown view has another query",
		"CREATE VIEW was AS TABLE bills_read; CREATE OR REPLACE VIEW bills AS SELECT * FROM bills_read LIMIT 1",
		"CREATE OR REPLACE VIEW bills AS SELECT * FROM bills_read; DROP VIEW was",
		"the definition of public.bills, whose query is another one in the real database by now",
	},
	{"a type renamed", "ALTER TYPE sex_t RENAME TO was", "ALTER TYPE was RENAME TO sex_t", labelsOf("sex_t")},
	{
		"a type renamed and replaced", "ALTER TYPE sex_t RENAME TO was; CREATE TYPE sex_t AS ENUM ('f', 'm')",
		"DROP TYPE sex_t; ALTER TYPE was RENAME TO sex_t", labelsOf("sex_t"),
	},
	{"a type in another schema", "ALTER TYPE sex_t SET SCHEMA lab", "ALTER TYPE lab.sex_t SET SCHEMA public", labelsOf("sex_t")},
	{"the type of an array renamed", "ALTER TYPE ward_t RENAME TO was", "ALTER TYPE was RENAME TO ward_t", labelsOf("ward_t")},
	{
		"the column with the labels renamed", "ALTER TABLE patients RENAME sex TO was", "ALTER TABLE patients RENAME was TO sex",
		labelsOf("sex_t"),
	},
	{
		"the column with the labels replaced", "ALTER TABLE patients RENAME sex TO was; ALTER TABLE patients ADD sex sex_t",
		"ALTER TABLE patients DROP sex; ALTER TABLE patients RENAME was TO sex", labelsOf("sex_t"),
	},
	{
		"the table with the labels replaced", "ALTER TABLE patients RENAME TO was; CREATE TABLE patients (LIKE was)",
		"DROP TABLE patients; ALTER TABLE was RENAME TO patients", labelsOf("sex_t"),
	},
	// From here on these relations are no more.
	{"a public view dropped", "DROP VIEW towns", "", ""},
	{
		"another public view of that name", "CREATE TABLE towns (code text)", "DROP TABLE towns",
		"rows of public.towns, which is another one of that name in the real database by now",
	},
	{"a shown view dropped", "DROP VIEW bills", "", ""},
	{
		"another shown view of that name", "CREATE VIEW bills AS TABLE bills_read", "",
		"the definition of public.bills, which is another one of that name in the real database by now",
	},
}

func labelsOf(typ string) string {
	return "labels of the type public." + typ + ", which has another name in the real database by now, or whose columns have"
}

// TestOrigins holds that a policy permits the relations that the mirror was made from, and not others that are called so by now. While the
// real database is away names decide.
func TestOrigins(t *testing.T) {
	p := twoServers(t)
	run(t, p.upstream, `CREATE VIEW towns AS SELECT code FROM regions; CREATE TABLE bills_read (n int, at date);
		CREATE VIEW bills AS SELECT * FROM bills_read`)
	made := plan()
	made.Protected[0].Columns["sex"] = mirror.Column{AllLabels: true}
	made.Public = append(made.Public, name("towns"))
	made.Protected = append(made.Protected, mirror.Protected{Name: name("bills_read")})
	made.Views = []mirror.View{{Name: name("bills"), Shown: true}}
	p.sync(t, made)
	was := p.confirmed(t).Schema
	for _, c := range turns {
		for sql := range strings.SplitSeq(c.change, "; ") {
			run(t, p.upstream, sql)
		}
		now, err := mirror.ReadOrigins(t.Context(), p.upstream, was)
		if err != nil {
			t.Fatal(err)
		}
		err = mirror.ProveShown(t.Context(), p.mirror, made, was, now)
		_, unsafe := errors.AsType[*mirror.UnsafeError](err)
		if unsafe != (c.want != "") || unsafe && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if unsafe && !strings.HasSuffix(err.Error(), ": run dpproxy sync") {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := mirror.ProveShown(t.Context(), p.mirror, made, was, mirror.Origins{}); err != nil {
			t.Errorf("%s, the real database is away: %v", c.name, err)
		}
		if c.undo != "" {
			run(t, p.upstream, c.undo)
		}
	}
}
