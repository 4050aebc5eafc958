package mirror_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/mirror/mirrortest"
)

// A turn is something that happens to the real database after a sync, and how it is undone. Protects is a table that the policy protects
// from then on.
type turn struct{ name, change, undo, want, protects string }

// turns change the relations that the mirror was made from. Want is in the error of the proof, empty if the names still stand for them.
var turns = []turn{
	{"a column more", "ALTER TABLE regions ADD n int", "ALTER TABLE regions DROP n", "", ""},
	{"rows rewritten", "VACUUM FULL regions", "", "", ""},
	{"statistics", "ANALYZE", "", "", ""},
	{"a column renamed", "ALTER TABLE regions RENAME label TO text", "ALTER TABLE regions RENAME text TO label", "", ""},
	{"a label renamed", "ALTER TYPE sex_t RENAME VALUE 'f' TO 'w'", "ALTER TYPE sex_t RENAME VALUE 'w' TO 'f'", "", ""},
	{"a label more", "ALTER TYPE ward_t ADD VALUE 'new'", "", "", ""},
	{"a domain renamed", "ALTER DOMAIN fee_t RENAME TO due_t", "ALTER DOMAIN due_t RENAME TO fee_t", "", ""},
	{
		"a public table renamed", "ALTER TABLE regions RENAME TO was", "ALTER TABLE was RENAME TO regions",
		"rows of public.regions, which is public.was in the real database by now", "",
	},
	{
		"renamed and replaced", "ALTER TABLE regions RENAME TO was; CREATE TABLE regions (LIKE was)",
		"DROP TABLE regions; ALTER TABLE was RENAME TO regions", "rows of public.regions, which is public.was in the real database by now",
		"",
	},
	{
		"swapped", "ALTER TABLE regions RENAME TO x; ALTER TABLE hospitals RENAME TO regions; ALTER TABLE x RENAME TO hospitals",
		"ALTER TABLE hospitals RENAME TO x; ALTER TABLE regions RENAME TO hospitals; ALTER TABLE x RENAME TO regions",
		"rows of public.hospitals, which is public.regions in the real database by now; " +
			"rows of public.regions, which is public.hospitals in the real database by now", "",
	},
	{
		"in another schema", "ALTER TABLE regions SET SCHEMA lab", "ALTER TABLE lab.regions SET SCHEMA public",
		"rows of public.regions, which is lab.regions in the real database by now", "",
	},
	{
		"a schema renamed", "ALTER SCHEMA public RENAME TO open; CREATE SCHEMA public",
		"DROP SCHEMA public; ALTER SCHEMA open RENAME TO public",
		"rows of public.regions, which is open.regions in the real database by now", "",
	},
	{
		"a public view renamed", "ALTER VIEW towns RENAME TO was", "ALTER VIEW was RENAME TO towns",
		"rows of public.towns, which is public.was in the real database by now", "",
	},
	{
		"a public view replaced by a table", "ALTER VIEW towns RENAME TO was; CREATE TABLE towns (code text)",
		"DROP TABLE towns; ALTER VIEW was RENAME TO towns", "rows of public.towns, which is public.was in the real database by now", "",
	},
	{
		"a public view has another query", "CREATE OR REPLACE VIEW towns AS SELECT code FROM regions WHERE code <> 'r1'",
		"CREATE OR REPLACE VIEW towns AS SELECT code FROM regions", "", "",
	},
	{
		"a shown view renamed", "ALTER VIEW bills RENAME TO was; CREATE VIEW bills AS SELECT 1 AS n",
		"DROP VIEW bills; ALTER VIEW was RENAME TO bills",
		"the definition of public.bills, which is public.was in the real database by now", "",
	},
	{
		"a shown view has another query",
		"CREATE VIEW was AS TABLE bills_read; CREATE OR REPLACE VIEW bills AS SELECT * FROM bills_read LIMIT 1",
		"CREATE OR REPLACE VIEW bills AS SELECT * FROM bills_read; DROP VIEW was",
		"the definition of public.bills, whose query is another one in the real database by now", "",
	},
	{"a type renamed", "ALTER TYPE sex_t RENAME TO was", "ALTER TYPE was RENAME TO sex_t", labelsOf("sex_t"), ""},
	{
		"a type renamed and replaced", "ALTER TYPE sex_t RENAME TO was; CREATE TYPE sex_t AS ENUM ('f', 'm')",
		"DROP TYPE sex_t; ALTER TYPE was RENAME TO sex_t", labelsOf("sex_t"), "",
	},
	{"a type in another schema", "ALTER TYPE sex_t SET SCHEMA lab", "ALTER TYPE lab.sex_t SET SCHEMA public", labelsOf("sex_t"), ""},
	{"the type of an array renamed", "ALTER TYPE ward_t RENAME TO was", "ALTER TYPE was RENAME TO ward_t", labelsOf("ward_t"), ""},
	{
		"the column with the labels renamed", "ALTER TABLE patients RENAME sex TO was", "ALTER TABLE patients RENAME was TO sex",
		labelsOf("sex_t"), "",
	},
	{
		"the column with the labels replaced", "ALTER TABLE patients RENAME sex TO was; ALTER TABLE patients ADD sex sex_t",
		"ALTER TABLE patients DROP sex; ALTER TABLE patients RENAME was TO sex", labelsOf("sex_t"), "",
	},
	{
		"the table with the labels replaced", "ALTER TABLE patients RENAME TO was; CREATE TABLE patients (LIKE was)",
		"DROP TABLE patients; ALTER TABLE was RENAME TO patients", labelsOf("sex_t"), "",
	},
	// These are partitions and tables of the local model.
	{"a partition detached", "ALTER TABLE events DETACH PARTITION events_1", attachEvents, "", ""},
	{
		"a partition detached and protected", "ALTER TABLE events DETACH PARTITION events_1", attachEvents,
		"rows of public.events_1, which the policy protects, with those of public.events", "events_1",
	},
	{
		"a partition detached, renamed and protected",
		"ALTER TABLE events DETACH PARTITION events_1; ALTER TABLE events_1 RENAME TO was",
		"ALTER TABLE was RENAME TO events_1; " + attachEvents,
		"rows of public.was, which the policy protects, with those of public.events", "was",
	},
	{
		"a partition of a partition detached, moved and protected",
		"ALTER TABLE events_2 DETACH PARTITION events_21; ALTER TABLE events_21 SET SCHEMA lab",
		"ALTER TABLE lab.events_21 SET SCHEMA public; ALTER TABLE events_2 ATTACH PARTITION events_21 FOR VALUES FROM (9) TO (15)",
		"rows of lab.events_21, which the policy protects, with those of public.events", "lab.events_21",
	},
	{
		"another table with the name of a partition is protected",
		"ALTER TABLE events DETACH PARTITION events_1; ALTER TABLE events_1 RENAME TO was; CREATE TABLE events_1 (k int)",
		"DROP TABLE events_1; ALTER TABLE was RENAME TO events_1; " + attachEvents, "", "events_1",
	},
	{"a local table has a column more", "ALTER TABLE people ADD n int", "ALTER TABLE people DROP n", "", ""},
	{"a private column renamed", "ALTER TABLE people RENAME note TO text", "ALTER TABLE people RENAME text TO note", "", ""},
	{
		"a local table renamed", "ALTER TABLE people RENAME TO was", "ALTER TABLE was RENAME TO people",
		"objects in local.people of public.people, which is public.was in the real database by now", "",
	},
	{
		"a local table renamed and replaced", "ALTER TABLE people RENAME TO was; CREATE TABLE people (LIKE was)",
		"DROP TABLE people; ALTER TABLE was RENAME TO people",
		"objects in local.people of public.people, which is public.was in the real database by now", "was",
	},
	{
		"two local tables swapped", "ALTER TABLE people RENAME TO x; ALTER TABLE crowd RENAME TO people; ALTER TABLE x RENAME TO crowd",
		"ALTER TABLE crowd RENAME TO x; ALTER TABLE people RENAME TO crowd; ALTER TABLE x RENAME TO people",
		"objects in local.people of public.people, which is public.crowd in the real database by now", "",
	},
	{
		"columns of a local table swapped",
		"ALTER TABLE people RENAME region TO x; ALTER TABLE people RENAME note TO region; ALTER TABLE people RENAME x TO note",
		"ALTER TABLE people RENAME region TO x; ALTER TABLE people RENAME note TO region; ALTER TABLE people RENAME x TO note",
		`column "region" of objects in local.people, which has another name in the real database by now`, "",
	},
	{
		"objects detached, renamed and protected", "ALTER TABLE crowd DETACH PARTITION crowd_1; ALTER TABLE crowd_1 RENAME TO was",
		"ALTER TABLE was RENAME TO crowd_1; ALTER TABLE crowd ATTACH PARTITION crowd_1 FOR VALUES FROM (0) TO (9)",
		"objects in local.crowd of public.was, which the policy protects", "was",
	},
	// From here on these relations are no more.
	{"a local table dropped", "DROP TABLE people", "", "", ""},
	{
		"another local table of that name", anotherPeople, "DROP TABLE people",
		"objects in local.people of public.people, which is another one of that name in the real database by now", "",
	},
	{"a public view dropped", "DROP VIEW towns", "", "", ""},
	{
		"another public view of that name", "CREATE TABLE towns (code text)", "DROP TABLE towns",
		"rows of public.towns, which is another one of that name in the real database by now", "",
	},
	{"a shown view dropped", "DROP VIEW bills", "", "", ""},
	{
		"another shown view of that name", "CREATE VIEW bills AS TABLE bills_read", "",
		"the definition of public.bills, which is another one of that name in the real database by now", "",
	},
}

const anotherPeople = "CREATE TABLE people (id int PRIMARY KEY, region text, note text)"

const attachEvents = "ALTER TABLE events ATTACH PARTITION events_1 FOR VALUES FROM (0) TO (9)"

func labelsOf(typ string) string {
	return "labels of the type public." + typ + ", which has another name in the real database by now, or whose columns have"
}

// TestOrigins holds that a policy permits the relations that the mirror was made from, and not others that are called so by now. While the
// real database is away names decide.
func TestOrigins(t *testing.T) {
	p := twoServers(t)
	run(t, p.upstream, `CREATE VIEW towns AS SELECT code FROM regions; CREATE TABLE bills_read (n int, at date);
		CREATE VIEW bills AS SELECT * FROM bills_read;
		CREATE TABLE events (k int) PARTITION BY RANGE (k); CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (9);
		CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (9) TO (20) PARTITION BY RANGE (k);
		CREATE TABLE events_21 PARTITION OF events_2 FOR VALUES FROM (9) TO (15);
		CREATE TABLE crowd (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE crowd_1 PARTITION OF crowd FOR VALUES FROM (0) TO (9);
		`+anotherPeople)
	made := plan()
	made.Protected[0].Columns["sex"] = mirror.Column{AllLabels: true}
	made.Public = append(made.Public, name("towns"), name("events"))
	made.Local = []mirror.Local{
		{Name: name("people"), Columns: []string{"id", "region"}}, {Name: name("crowd"), Columns: []string{"id"}},
	}
	made.Protected = append(made.Protected, mirror.Protected{Name: name("bills_read")})
	made.Views = []mirror.View{{Name: name("bills"), Shown: true}}
	p.sync(t, made)
	p.otherObjects(t, made)
	was := p.confirmed(t).Schema
	for _, l := range made.Local {
		p.answers(t, l, was.Local[l.Name])
	}
	for _, c := range turns {
		for sql := range strings.SplitSeq(c.change, "; ") {
			run(t, p.upstream, sql)
		}
		now, err := mirror.ReadOrigins(t.Context(), p.upstream, was)
		if err != nil {
			t.Fatal(err)
		}
		serves := made
		if c.protects != "" {
			serves.Protected = append(slices.Clip(made.Protected), mirror.Protected{Name: name(c.protects)})
		}
		err = mirror.ProveShown(t.Context(), p.mirror, serves, was, now)
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

// answers shows a table of answers without rows, of objects of a local table.
func (p pair) answers(t *testing.T, of mirror.Local, now *catalog.Table) {
	t.Helper()
	if err := p.tryAnswers(t, of, now); err != nil {
		t.Fatal(err)
	}
}

func (p pair) tryAnswers(t *testing.T, of mirror.Local, now *catalog.Table) error {
	t.Helper()
	shown := mirror.LocalTable{Name: of.Name.Name, Of: of.Noted(now), State: "1 x"}
	for _, c := range of.Columns {
		shown.Columns = append(shown.Columns, mirror.LocalColumn{Name: c, Type: "text"})
	}
	shown.Columns = append(shown.Columns, mirror.LocalColumn{Name: "q", Type: "text", Comment: "a question"},
		mirror.LocalColumn{Name: "loss", Type: "numeric"}, mirror.LocalColumn{Name: "remaining", Type: "numeric"})
	return mirror.ShowLocal(t.Context(), p.mirror, shown, func(io.Writer) error { return nil })
}

// otherObjects has syncs drop answers of objects that a local table has no more, after which no dpproxy from before shows them again.
func (p pair) otherObjects(t *testing.T, made mirror.Plan) {
	t.Helper()
	people, crowd := made.Local[0], made.Local[1]
	noted := func(l mirror.Local) *catalog.Table { return p.confirmed(t).Schema.Local[l.Name] }
	narrowed, without := made, made
	narrowed.Local = []mirror.Local{{Name: people.Name, Columns: []string{"id"}}, crowd}
	without.Local = []mirror.Local{crowd}
	for _, c := range []struct {
		name, change string
		plan         mirror.Plan
		of           mirror.Local
		dropped      bool
	}{
		{"nothing", "", made, people, false},
		{"another column", "ALTER TABLE people ADD n int", made, people, false},
		{"rows", "INSERT INTO people VALUES (1)", made, people, false},
		{"another table", "DROP TABLE people; " + anotherPeople, made, people, true},
		{
			"columns swapped", "ALTER TABLE people RENAME region TO x; ALTER TABLE people RENAME note TO region; " +
				"ALTER TABLE people RENAME x TO note", made, people, true,
		},
		{"fewer public columns", "", narrowed, people, true},
		{"no local table of that name", "", without, people, true},
		{"a partition more", "CREATE TABLE crowd_2 PARTITION OF crowd FOR VALUES FROM (9) TO (20)", made, crowd, false},
	} {
		p.sync(t, made)
		before := noted(c.of)
		p.answers(t, c.of, before)
		ana := p.as(t, "ana")
		for sql := range strings.SplitSeq(c.change, "; ") {
			run(t, p.upstream, sql)
		}
		said := strings.Join(p.sync(t, c.plan), "\n")
		if drops := strings.Contains(said, "drop the answers local."+c.of.Name.Name); drops != c.dropped {
			t.Errorf("%s: a sync says %s", c.name, said)
		}
		if _, err := ana.Exec(t.Context(), "SELECT 1"); (err != nil) != c.dropped {
			t.Errorf("%s: a session ends with %v", c.name, err)
		}
		if err := p.tryAnswers(t, c.of, before); errors.Is(err, mirror.ErrMadeForAnother) != c.dropped {
			t.Errorf("%s: a dpproxy from before shows its answers with %v", c.name, err)
		}
	}
	p.sync(t, made)
	p.answers(t, crowd, noted(crowd))
	protects := made
	protects.Protected = append(slices.Clip(made.Protected), mirror.Protected{Name: name("aside")})
	run(t, p.upstream, "ALTER TABLE crowd DETACH PARTITION crowd_2; ALTER TABLE crowd_2 RENAME TO aside")
	for _, plan := range []mirror.Plan{made, protects} { // objects of the partition have answered, though it is none for the second sync
		said := strings.Join(p.sync(t, plan), "\n")
		if drops := strings.Contains(said, "drop the answers local.crowd"); drops != (len(plan.Protected) > len(made.Protected)) {
			t.Errorf("a partition less: a sync says %s", said)
		}
	}
	run(t, p.upstream, "DROP TABLE aside")
	old := noted(people)
	run(t, p.mirror, mirrortest.RewriteRecord("(definition::jsonb - 'Local')::text"))
	p.answers(t, narrowed.Local[0], old) // an earlier version has not noted it
	p.sync(t, made)
}
