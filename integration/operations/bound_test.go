package operations_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/mirror/mirrortest"
)

// The table w has a number in its rows, and the view d over it a constant, that nobody may see where the policy does not say so.
const (
	boundSchema = sitetest.ClinicSchema + besideW + schemaOfW
	schemaOfW   = `CREATE TABLE w (k int PRIMARY KEY, patient_id int NOT NULL, v int NOT NULL);
		INSERT INTO w SELECT g, g, 424242 FROM generate_series(1, 20) g; CREATE VIEW d AS SELECT k, patient_id, v FROM w WHERE v <> 515151;
		CREATE VIEW e AS SELECT k FROM d;`
	besideW = `CREATE TABLE notes (k int PRIMARY KEY, patient_id int NOT NULL, v int NOT NULL);
		CREATE TYPE mood AS ENUM ('happy', 'sad515151'); CREATE TABLE doc (k int PRIMARY KEY, patient_id int NOT NULL, m mood);`
	rowOfW, constantOfD = "424242", "515151"
)

// A footing is a way in which a policy can have w and d.
type footing struct {
	name, tables string
	// rows are the relations of which analysts may see rows, and definition says that they may see the definition of d.
	rows       string
	definition bool
}

const protectedW = "  w: {unit: patient_id, max_rows: 1, columns: {v: {bounds: [0, 500000]}}}\n"

var footings = []footing{
	{name: "absent"},
	{name: "public", tables: "  w: {public: true}\n", rows: "w"},
	{name: "protected", tables: protectedW},
	{name: "local", tables: "  w: {model: local, key: k, local_budget: 4, columns: {v: {bounds: [0, 500000]}}}\n"},
	{name: "a public view", tables: "  w: {public: true}\n  d: {public: true}\n", rows: "w d"},
	{name: "a view", tables: protectedW + "  d: {view: true}\n"},
	{name: "public with a hidden column", tables: "  w: {public: true, columns: {v: hidden}}\n"},
	{name: "a view that is shown", tables: protectedW + "  d: {view: true, definition: shown}\n", definition: true},
}

// exposes reports whether a mirror that was made for a footing shows more than another permits.
func (f footing) exposes(other footing) bool {
	return slices.ContainsFunc(strings.Fields(f.rows), func(n string) bool { return !strings.Contains(other.rows, n) }) ||
		f.definition && !other.definition
}

// A boundSite is one whose policy changes its footing.
type boundSite struct {
	*sitetest.Site
	now footing
}

func (s *boundSite) stand(t *testing.T, f footing) {
	t.Helper()
	s.Edit(t, "  hospitals: {public: true}\n"+s.now.tables, "  hospitals: {public: true}\n"+f.tables)
	s.now = f
}

// An intruder is an analyst with all that a session can prepare for later.
type intruder struct {
	conn *pgx.Conn
	said *strings.Builder
}

func newIntruder(ctx context.Context, url string) (*intruder, error) {
	i := &intruder{said: &strings.Builder{}}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { fmt.Fprintln(i.said, n.Message, n.Detail) }
	i.conn, err = pgx.ConnectConfig(ctx, config)
	return i, err
}

// intrusions read w and d in ways that no reader of statements understands. The name is in the place of %s.
var intrusions = []string{
	"SELECT * FROM %s", "SELECT query_to_xml('SELECT * FROM %s', true, true, '')",
	"DO $$ DECLARE r record; BEGIN FOR r IN EXECUTE 'SELECT * FROM %s' LOOP RAISE NOTICE '%%', r; END LOOP; END $$",
	"SELECT pg_temp.read_%s()", "TABLE pg_temp.seen_%s", "FETCH 2 FROM open_%s", "SELECT pg_get_viewdef(to_regclass('%s'))",
}

// prepare makes what outlives a change: functions, views and cursors. Some of it fails where the mirror shows nothing.
func (i *intruder) prepare(ctx context.Context) {
	for _, n := range []string{"w", "d"} {
		for _, sql := range []string{
			"CREATE FUNCTION pg_temp.read_%s() RETURNS text LANGUAGE plpgsql " +
				"AS 'BEGIN RETURN query_to_xml(''TABLE %s'', true, true, ''''); END'",
			"CREATE TEMP VIEW seen_%s AS SELECT * FROM %s", "BEGIN", "DECLARE open_%s CURSOR WITH HOLD FOR SELECT * FROM %s", "COMMIT",
		} {
			_, _ = i.conn.PgConn().Exec(ctx, strings.ReplaceAll(sql, "%s", n)).ReadAll()
		}
	}
	_, _ = i.conn.PgConn().Exec(ctx, "BEGIN; DECLARE transient_w CURSOR FOR SELECT * FROM w").ReadAll()
}

// tries returns all that a session gets to see: rows, notices, texts of errors.
func (i *intruder) tries(ctx context.Context) string {
	i.said.Reset()
	see := func(sql string) {
		results, err := i.conn.PgConn().Exec(ctx, sql).ReadAll()
		for _, r := range results {
			for _, row := range r.Rows {
				fmt.Fprintf(i.said, "%s\n", row)
			}
		}
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
			fmt.Fprintln(i.said, refused.Message, refused.Detail, refused.Where)
		}
	}
	see("FETCH ALL FROM transient_w")
	see("ROLLBACK")
	for _, n := range []string{"w", "d"} {
		for _, sql := range intrusions {
			see(fmt.Sprintf(sql, n))
		}
	}
	return i.said.String()
}

// leaks fails if a session saw more than a footing permits.
func (f footing) leaks(t *testing.T, when, seen string) {
	t.Helper()
	if f.rows == "" && strings.Contains(seen, rowOfW) {
		t.Errorf("%s: rows are seen:\n%s", when, seen)
	}
	if !f.definition && strings.Contains(seen, constantOfD) {
		t.Errorf("%s: the definition is seen:\n%s", when, seen)
	}
}

// tryAnew logs in and tries all that needs no preparation, unless nobody is served: then the refusal has to say so.
func (f footing) tryAnew(t *testing.T, when, url string, served bool) {
	t.Helper()
	i, err := newIntruder(t.Context(), url)
	if (err == nil) != served {
		t.Fatalf("%s: a log-in ends with %v", when, err)
	}
	if err != nil {
		sitetest.Fails(t, err, "PB013", "the mirror was made for another policy")
		return
	}
	defer i.conn.Close(t.Context())
	f.leaks(t, when, i.tries(t.Context()))
}

// standing are the footings after which a mirror shows something.
func standing() []footing {
	return slices.DeleteFunc(slices.Clone(footings), func(f footing) bool { return f.rows == "" && !f.definition })
}

// taken has a footing synced and served.
func (s *boundSite) taken(t *testing.T, r *sitetest.Running, f footing) {
	t.Helper()
	s.stand(t, f)
	s.Command(t, "sync", s.Policy)
	r.HangUp(t, "the policy was reloaded")
}

func newBoundSite(t *testing.T, more string) *boundSite {
	return &boundSite{Site: sitetest.New(t, boundSchema, sitetest.ClinicPolicy+more)}
}

// TestMirrorIsBound changes the policy under a mirror that was made for another one, in each pair of ways, without a sync: by
// SIGHUP, at a restart, and by the sync of another dpproxy. Neither a session from before nor a new one sees what the policy does not
// permit, and it is served again when the mirror is made for it.
func TestMirrorIsBound(t *testing.T) {
	t.Parallel()
	s := newBoundSite(t, "")
	r := s.Run(t)
	t.Run("SIGHUP", func(t *testing.T) { s.bySignal(t, r) })
	t.Run("a protected table is taken out", func(t *testing.T) { s.takenOut(t, r) })
	t.Run("another dpproxy", func(t *testing.T) { s.byAnother(t, r) })
	t.Run("another database", func(t *testing.T) { s.byDatabase(t, r) })
	r.Stop()
	t.Run("a start with another database", s.replacedAtTheStart)
	t.Run("a mirror of another version", s.ofEarlier)
	t.Run("a view below a view", s.below)
	t.Run("restart", func(t *testing.T) {
		for _, from := range standing() {
			s.stand(t, from)
			s.Command(t, "sync", s.Policy)
			for _, to := range footings {
				if from.exposes(to) {
					s.stand(t, to)
					s.Refuses(t, "the mirror was made for another policy, and shows", "run", s.Policy)
				}
			}
		}
	})
}

// TestReloadWaitsForMirror has the mirror be away when a policy is reloaded that permits less: it holds once the mirror is back.
func TestReloadWaitsForMirror(t *testing.T) {
	t.Parallel()
	s := newBoundSite(t, "")
	r := s.Run(t)
	s.taken(t, r, footings[1])
	s.stand(t, footings[2])
	sitetest.Crash(t, s.Mirror)
	r.HangUp(t, "it waits for the mirror")
	s.Mirror = sitetest.Restart(t, s.Mirror)
	await.That(t, "the waiting policy is held against the mirror", func() bool {
		return strings.Contains(r.Log.String(), "nobody is served")
	})
	footings[2].tryAnew(t, "the mirror is back", r.URL("ana"), false)
	s.Command(t, "sync", s.Policy)
	footings[2].tryAnew(t, "after its sync", r.URL("ana"), true)
}

// TestMirrorIsBoundAfterOutage has the mirror be away while a policy waits for it that permits less. When it is back nobody is served by
// the policy before.
func TestMirrorIsBoundAfterOutage(t *testing.T) {
	t.Parallel()
	s := newBoundSite(t, "")
	r := s.Run(t)
	s.taken(t, r, footings[1])
	s.stand(t, footings[2])
	r.HangUp(t, "nobody is served")
	sitetest.Crash(t, s.Mirror)
	r.HangUp(t, "nobody is served until dpproxy sync has made the mirror for it")
	s.Mirror = sitetest.Restart(t, s.Mirror)
	footings[2].tryAnew(t, "the mirror is back", r.URL("ana"), false)
	s.Command(t, "sync", s.Policy)
	footings[2].tryAnew(t, "after its sync", r.URL("ana"), true)
}

// takenOut has the policy lose a protected table, which the mirror has until a sync: statements about it say so.
func (s *boundSite) takenOut(t *testing.T, r *sitetest.Running) {
	s.taken(t, r, footings[2])
	ana := sitetest.Dial(t, r.URL("ana"))
	_, err := ana.Exec(t.Context(), "SELECT query_to_xml('TABLE w', true, true, '')")
	if hint := sitetest.Fails(t, err, "PB010", "is protected").Hint; strings.Contains(hint, "dpproxy sync") {
		t.Errorf("of a table that the policy has the hint is %q", hint)
	}
	s.stand(t, footings[0])
	r.HangUp(t, "the policy was reloaded")
	_, err = ana.Exec(t.Context(), "SELECT count(*) FROM w")
	if hint := sitetest.Fails(t, err, "PB010", "is protected").Hint; !strings.Contains(hint, "The policy does not have this table") {
		t.Errorf("the hint is %q", hint)
	}
}

// asEarlier writes the record of the mirror as the version before did, which noted no policy.
var asEarlier = mirrortest.RewriteRecord(`(definition::jsonb - 'Format' - 'Policy' ||
	jsonb_build_object('Tables', jsonb_path_query_array(definition::jsonb -> 'Tables', '$.*')))::text`)

// ofEarlier starts with mirrors that earlier and later versions have made.
func (s *boundSite) ofEarlier(t *testing.T) {
	super := sitetest.Dial(t, s.Mirror.URL("postgres", pgtemp.Superuser))
	record := func(sql string) string {
		t.Helper()
		return sitetest.Rows(t, super, "SELECT "+sql+" FROM ("+mirrortest.Record+") AS r")
	}
	s.stand(t, footings[1])
	s.Command(t, "sync", s.Policy)
	whole := record("definition")
	sitetest.Exec(t, super, asEarlier+"; "+mirrortest.ListRecords)
	s.Command(t, "check", s.Policy)
	s.stand(t, footings[2])
	s.Refuses(t, "shows rows of public.w, which the policy protects", "run", s.Policy)
	s.stand(t, footings[5])
	s.Refuses(t, "shows rows of public.w, which the policy protects", "run", s.Policy)
	s.stand(t, footings[1])
	data := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, data, "CREATE TABLE w_more () INHERITS (w)")
	s.Refuses(t, "cannot be taken over as it is: public table public.w has inheritance children that are not public: public.w_more", "run",
		s.Policy)
	sitetest.Exec(t, data, "DROP TABLE w_more")
	if got := sitetest.Rows(t, super, "SELECT coalesce(definition::jsonb ->> 'Format', 'none') FROM dpproxy.confirmed"); got != "none" {
		t.Errorf("a start that is refused has written the record: %s", got)
	}
	r := s.Run(t)
	sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), sitetest.CountPatients)
	r.Stop()
	if got := record("definition"); got != whole {
		t.Errorf("the record is %s, and was %s", got, whole)
	}
	s.Says(t, "the mirror is in order, 0 changes", "sync", s.Policy)
	sitetest.Exec(t, super, mirrortest.RewriteRecord(`(definition::jsonb || '{"Format": 3}')::text`))
	for _, command := range []string{"run", "sync", "check"} {
		s.Refuses(t, "the mirror was made by a later dpproxy, whose record has the format 3", command, s.Policy)
	}
	sitetest.Exec(t, super, mirrortest.RewriteRecord(`(definition::jsonb || '{"Format": 2}')::text`))
}

// below replaces a view that a public view reads by one over a protected table. That it is so now is asked by everybody. Statements over
// protected rows that join with the public view are refused.
func (s *boundSite) below(t *testing.T) {
	s.stand(t, footing{tables: footings[4].tables + "  e: {public: true}\n"})
	s.Command(t, "sync", s.Policy)
	r := s.Run(t)
	const ask = "SELECT count(*) FROM visits JOIN e ON e.k = visits.id"
	sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), ask)
	data := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, data, "CREATE OR REPLACE VIEW d AS SELECT k, patient_id, v FROM w WHERE EXISTS (SELECT FROM patients WHERE id = 7)")
	refused := func(r *sitetest.Running) {
		t.Helper()
		ana := sitetest.Dial(t, r.URL("ana"))
		if _, err := ana.Exec(t.Context(), ask); err == nil || !strings.Contains(err.Error(), "PB013") {
			t.Errorf("%s: %v", ask, err)
		}
		const said = "statements over protected rows are refused that name it"
		if log := r.Log.String(); !strings.Contains(log, said) || !strings.Contains(log, "table=public.e") {
			t.Errorf("the log does not say that e is another:\n%s", log)
		}
		sitetest.Exec(t, ana, sitetest.CountPatients)
	}
	r.HangUp(t, "the policy was reloaded")
	refused(r)
	r.Stop()
	r = s.Run(t)
	refused(r)
	r.Stop()
	for _, command := range []string{"check", "sync"} {
		s.Refuses(t, "public table public.e references, inherits from or is a view over the protected public.patients", command, s.Policy)
	}
	sitetest.Exec(t, data, "CREATE OR REPLACE VIEW d AS SELECT k, patient_id, v FROM w WHERE v <> 515151")
}

func (s *boundSite) bySignal(t *testing.T, r *sitetest.Running) {
	for _, from := range standing() {
		s.stand(t, from)
		s.Command(t, "sync", s.Policy)
		for _, to := range footings {
			if to.name == from.name {
				continue
			}
			when := from.name + " becomes " + to.name
			s.stand(t, from)
			r.HangUp(t, "the policy was reloaded")
			before, err := newIntruder(t.Context(), r.URL("ana"))
			if err != nil {
				t.Fatal(err)
			}
			if before.prepare(t.Context()); from.rows != "" && !strings.Contains(before.tries(t.Context()), rowOfW) {
				t.Fatalf("%s: nothing is there to be seen", when)
			}
			s.stand(t, to)
			r.HangUp(t, "reloaded")
			to.leaks(t, when+", a session from before", before.tries(t.Context()))
			to.tryAnew(t, when+", a new session", r.URL("ana"), !from.exposes(to))
			before.conn.Close(t.Context())
		}
		s.stand(t, footings[0])
		s.Refuses(t, "the mirror was made for another policy, and shows", "check", s.Policy)
	}
	s.Command(t, "sync", s.Policy)
	await.That(t, "it is served again", func() bool { return strings.Contains(r.Log.String(), "analysts are served again") })
}

// byAnother has a dpproxy with the same secret sync the mirror for a policy that permits more. There is not a moment in which the
// sessions of the first one see that.
func (s *boundSite) byAnother(t *testing.T, r *sitetest.Running) {
	for _, from := range standing() {
		to := map[string]footing{"public": footings[2], "a public view": footings[1], "a view that is shown": footings[5]}[from.name]
		when := fmt.Sprintf("%s under a dpproxy that has %s", from.name, to.name)
		s.taken(t, r, to)
		before, err := newIntruder(t.Context(), r.URL("ana"))
		if err != nil {
			t.Fatal(err)
		}
		before.prepare(t.Context())
		another := &boundSite{s.Variant(t, "\ntables:\n", "\ntables:\n\n"), s.now}
		another.stand(t, from)
		another.Command(t, "sync", another.Policy)
		to.leaks(t, when+", a session from before", before.tries(t.Context()))
		to.tryAnew(t, when+", a new session", r.URL("ana"), false)
		s.Command(t, "sync", s.Policy)
		to.tryAnew(t, when+", after its own sync", r.URL("ana"), true)
		before.conn.Close(t.Context())
	}
}

// TestAutomaticSyncIsBound has dpproxy sync by itself: at a SIGHUP it makes the mirror for the policy, and at no other time for another
// policy than before.
func TestAutomaticSyncIsBound(t *testing.T) {
	t.Parallel()
	s := newBoundSite(t, "sync: automatic\n")
	r := s.Run(t)
	for i, from := range standing() {
		to := []footing{footings[0], footings[2], footings[5]}[i]
		when := from.name + " becomes " + to.name
		s.stand(t, from)
		r.HangUp(t, "the policy was reloaded")
		before, err := newIntruder(t.Context(), r.URL("ana"))
		if err != nil {
			t.Fatal(err)
		}
		before.prepare(t.Context())
		s.stand(t, to)
		r.HangUp(t, "the policy was reloaded")
		to.leaks(t, when+", a session from before", before.tries(t.Context()))
		to.tryAnew(t, when+", a new session", r.URL("ana"), true)
		before.conn.Close(t.Context())
	}
	s.stand(t, footings[1])
	r.HangUp(t, "the policy was reloaded")
	r.Stop()
	s.stand(t, footings[2])
	s.Refuses(t, "the mirror was made for another policy, and shows rows of public.w, which the policy protects", "run", s.Policy)
	super := sitetest.Dial(t, s.Mirror.URL("postgres", pgtemp.Superuser))
	if got := sitetest.Rows(t, super, "SELECT count(*)::text FROM w"); !strings.Contains(got, "20") {
		t.Errorf("a start made the mirror anew: %s", got)
	}
}
