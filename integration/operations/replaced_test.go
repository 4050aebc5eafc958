package operations_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// A replacement puts something else in the place of what the mirror was made from, while the policy keeps its names.
type replacement struct {
	name, change, undo string
	// policy are tables that the policy gets beside: what was shown is protected under its new name, or is not listed.
	policy []string
	// found is what is said of it.
	found string
}

// fill is a table with the columns of w and other rows.
const fill = "CREATE TABLE w (k int PRIMARY KEY, patient_id int NOT NULL, v int NOT NULL); INSERT INTO w VALUES (1, 1, 0)"

// replacements are those of each footing after which a mirror shows something.
var replacements = map[string][]replacement{
	"public": {
		{
			"renamed", "ALTER TABLE w RENAME TO x", "ALTER TABLE x RENAME TO w",
			[]string{""},
			"rows of public.w, which is public.x in the real database by now",
		},
		{
			"renamed and replaced", "ALTER TABLE w RENAME TO x; " + fill, "DROP TABLE w; ALTER TABLE x RENAME TO w",
			[]string{"", strings.Replace(protectedW, " w:", " x:", 1)},
			"rows of public.w, which is public.x in the real database by now",
		},
		{
			"swapped", "ALTER TABLE w RENAME TO y; ALTER TABLE notes RENAME TO w; ALTER TABLE y RENAME TO notes",
			"ALTER TABLE notes RENAME TO y; ALTER TABLE w RENAME TO notes; ALTER TABLE y RENAME TO w",
			[]string{"", strings.Replace(protectedW, " w:", " notes:", 1)},
			"rows of public.w, which is public.notes in the real database by now",
		},
	},
	"a public view": {{
		"replaced by a table", "ALTER VIEW d RENAME TO d_old; CREATE TABLE d (k int PRIMARY KEY, patient_id int NOT NULL, v int NOT NULL)",
		"DROP TABLE d; ALTER VIEW d_old RENAME TO d",
		[]string{""},
		"rows of public.d, which is public.d_old in the real database by now",
	}},
	"a view that is shown": {
		{
			"renamed and replaced", "ALTER VIEW d RENAME TO d_old; CREATE VIEW d AS SELECT k, patient_id, v FROM w",
			"DROP VIEW d; ALTER VIEW d_old RENAME TO d",
			[]string{"", "  d_old: {view: true}\n"},
			"the definition of public.d, which is public.d_old in the real database by now",
		},
		{
			"its query replaced", "CREATE VIEW d_old AS SELECT k, patient_id, v FROM w WHERE v <> 515151; " +
				"CREATE OR REPLACE VIEW d AS SELECT k, patient_id, v FROM w",
			"DROP VIEW d_old; CREATE OR REPLACE VIEW d AS SELECT k, patient_id, v FROM w WHERE v <> 515151",
			[]string{"", "  d_old: {view: true}\n"},
			"the definition of public.d, whose query is another one in the real database by now",
		},
	},
	"labels": {
		{
			"the type renamed", "ALTER TYPE mood RENAME TO was", "ALTER TYPE was RENAME TO mood",
			[]string{""},
			"labels of the type public.mood, which has another name",
		},
		{
			"the type renamed and replaced", "ALTER TYPE mood RENAME TO was; ALTER TABLE doc RENAME TO doc_old; " +
				"CREATE TYPE mood AS ENUM ('calm'); CREATE TABLE doc (k int PRIMARY KEY, patient_id int NOT NULL, m mood)",
			"DROP TABLE doc; DROP TYPE mood; ALTER TABLE doc_old RENAME TO doc; ALTER TYPE was RENAME TO mood",
			[]string{"", "  doc_old: {unit: patient_id, max_rows: 1, columns: {m: hidden}}\n"},
			"labels of the type public.mood, which has another name",
		},
		{
			"the column replaced", "ALTER TABLE doc RENAME m TO was; ALTER TABLE doc ADD m mood",
			"ALTER TABLE doc DROP m; ALTER TABLE doc RENAME was TO m",
			[]string{""},
			"labels of the type public.mood, which has another name in the real database by now, or whose columns have",
		},
	},
}

var labelled = footing{name: "labels", tables: "  doc: {unit: patient_id, max_rows: 1, columns: {m: {values: enum}}}\n"}

// byDatabase changes the database under a mirror and its policy. Nobody sees what a name stood for before it stood for something else, by
// whichever way dpproxy learns of it, and all is served again when it is put back.
func (s *boundSite) byDatabase(t *testing.T, r *sitetest.Running) {
	data := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	for _, from := range append(standing(), labelled) {
		s.taken(t, r, from)
		for _, c := range replacements[from.name] {
			s.replaced(t, r, data, from, c)
		}
	}
	s.taken(t, r, footings[1])
	s.seenByALook(t, r, data)
	s.restored(t, r, data)
}

// replaced has one replacement happen under a policy that knows nothing of it, and under one that does.
func (s *boundSite) replaced(t *testing.T, r *sitetest.Running, data *pgx.Conn, from footing, c replacement) {
	t.Helper()
	for _, more := range c.policy {
		when := from.name + ", " + c.name + ", with " + more
		before, err := newIntruder(t.Context(), r.URL("ana"))
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		before.prepare(t.Context())
		seen := before.tries(t.Context())
		if from.name != "labels" && !strings.Contains(seen, rowOfW) && !strings.Contains(seen, constantOfD) {
			t.Fatalf("%s: nothing is there to be seen", when)
		}
		sitetest.Exec(t, data, c.change)
		s.stand(t, footing{name: from.name, tables: from.tables + more})
		said := len(r.Log.String())
		r.HangUp(t, "the policy was not reloaded")
		if log := r.Log.String()[said:]; !strings.Contains(log, c.found) || !strings.Contains(log, "nobody is served") {
			t.Errorf("%s: the log says %s", when, log)
		}
		footing{}.leaks(t, when+", a session from before", before.tries(t.Context()))
		footing{}.tryAnew(t, when+", a new session", r.URL("ana"), false)
		before.conn.Close(t.Context())
		if more != "" { // otherwise the policy may not fit
			s.Refuses(t, c.found, "check", s.Policy)
		}
		sitetest.Exec(t, data, c.undo)
		s.stand(t, from)
		reloads(t, r)
	}
}

// reloads has the policy read anew. Meanwhile a look may try the one of the last signal, which does not fit any more.
func reloads(t *testing.T, r *sitetest.Running) {
	t.Helper()
	said := len(r.Log.String())
	sitetest.Signal(t, syscall.SIGHUP, int32(r.Cmd.Process.Pid))
	await.That(t, "the policy was reloaded", func() bool { return strings.Contains(r.Log.String()[said:], "the policy was reloaded") })
}

// replacedAtTheStart starts dpproxy after replacements.
func (s *boundSite) replacedAtTheStart(t *testing.T) {
	data := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	for _, from := range append(standing(), labelled) {
		s.stand(t, from)
		s.Command(t, "sync", s.Policy)
		for _, c := range replacements[from.name] {
			sitetest.Exec(t, data, c.change)
			s.Refuses(t, c.found, "run", s.Policy)
			sitetest.Exec(t, data, c.undo)
		}
	}
}

// seenByALook has nobody say anything: dpproxy looks by itself.
func (s *boundSite) seenByALook(t *testing.T, r *sitetest.Running, data *pgx.Conn) {
	before := len(r.Log.String())
	said := func(text string) func() bool {
		return func() bool { return strings.Contains(r.Log.String()[before:], text) }
	}
	for _, harmless := range []string{"ALTER TABLE w ADD more int", "VACUUM FULL w", "ANALYZE w", "ALTER TABLE w DROP more"} {
		sitetest.Exec(t, data, harmless)
	}
	r.HangUp(t, "the policy was reloaded")
	footings[1].tryAnew(t, "harmless changes", r.URL("ana"), true)
	sitetest.Exec(t, data, "ALTER TABLE w RENAME TO x")
	await.Within(t, 30*time.Second, "a look has shut the door", said("nobody is served"))
	footing{}.tryAnew(t, "renamed, with no signal", r.URL("ana"), false)
	sitetest.Exec(t, data, "ALTER TABLE x RENAME TO w")
	r.HangUp(t, "the policy was reloaded")
	footings[1].tryAnew(t, "renamed back", r.URL("ana"), true)
}

// restored has tables from a dump, with other OIDs: they need a sync, which ends the sessions that saw the ones before.
func (s *boundSite) restored(t *testing.T, r *sitetest.Running, data *pgx.Conn) {
	before := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, data, "DROP TABLE w CASCADE; "+strings.ReplaceAll(schemaOfW, "424242", "424243"))
	s.Refuses(t, "rows of public.w, which is another one of that name in the real database by now: run dpproxy sync", "check", s.Policy)
	s.Command(t, "sync", s.Policy)
	if _, err := before.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a sync from other tables has ended no session")
	}
	r.HangUp(t, "the policy was reloaded")
	footings[1].tryAnew(t, "after a sync", r.URL("ana"), true)
	sitetest.Exec(t, data, "UPDATE w SET v = 424242")
	s.Command(t, "sync", s.Policy)
}
