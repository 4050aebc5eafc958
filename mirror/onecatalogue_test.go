package mirror_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror"
)

// movingSchema has public relations of every kind, and protected tables that can come into their places.
const movingSchema = `CREATE SCHEMA moving;
CREATE TABLE moving.wards (id int PRIMARY KEY, name text, code text);
INSERT INTO moving.wards SELECT g, 'ward ' || g, 'code ' || g FROM generate_series(1, 3) g;
CREATE TABLE moving.secrets (id int PRIMARY KEY, name text, code text);
INSERT INTO moving.secrets SELECT g, 'hush ' || g, 'hush code ' || g FROM generate_series(1, 3) g;
CREATE TABLE moving.heirs (id int NOT NULL, name text, code text); INSERT INTO moving.heirs SELECT * FROM moving.secrets;
CREATE TABLE moving.events (id int PRIMARY KEY, name text) PARTITION BY RANGE (id);
CREATE TABLE moving.early PARTITION OF moving.events FOR VALUES FROM (1) TO (10);
INSERT INTO moving.events VALUES (1, 'event 1');
CREATE TABLE moving.late (id int PRIMARY KEY, name text); INSERT INTO moving.late VALUES (10, 'hush event');
CREATE FUNCTION moving.of(int) RETURNS text LANGUAGE sql RETURN 'of ' || $1; -- from 14 on
CREATE VIEW moving.seen AS SELECT id, name FROM moving.wards;
CREATE VIEW moving.inmost AS SELECT id, name FROM moving.wards;
CREATE VIEW moving.nested AS SELECT id, name FROM moving.inmost;
CREATE VIEW moving.computed AS SELECT id, moving.of(id) AS name FROM moving.wards;
CREATE MATERIALIZED VIEW moving.stored AS SELECT id, name, code FROM moving.wards;
CREATE VIEW moving.people AS SELECT id, name AS said FROM moving.secrets`

// movingPublic are the public relations.
var movingPublic = []catalog.Name{
	name("moving.wards"), name("moving.events"), name("moving.seen"), name("moving.inmost"), name("moving.nested"),
	name("moving.computed"), name("moving.stored"),
}

var movingPlan = mirror.Plan{
	Protected: []mirror.Protected{{Name: name("moving.secrets")}, {Name: name("moving.late")}, {Name: name("moving.heirs")}},
	Views:     []mirror.View{{Name: name("moving.people"), Shown: true}},
	Public:    movingPublic,
}

// swapped lets two columns swap names.
func swapped(relation string) string {
	return fmt.Sprintf("ALTER %[1]s RENAME name TO x; ALTER %[1]s RENAME code TO name; ALTER %[1]s RENAME x TO code", relation)
}

// movingChanges are changes of the schema, each with what undoes it.
var movingChanges = []struct{ name, do, undo string }{
	{
		"tables swap names",
		"ALTER TABLE moving.wards RENAME TO x; ALTER TABLE moving.secrets RENAME TO wards; ALTER TABLE moving.x RENAME TO secrets",
		"ALTER TABLE moving.wards RENAME TO x; ALTER TABLE moving.secrets RENAME TO wards; ALTER TABLE moving.x RENAME TO secrets",
	},
	{"columns swap names", swapped("TABLE moving.wards"), swapped("TABLE moving.wards")},
	{"columns of a protected table swap names", swapped("TABLE moving.secrets"), swapped("TABLE moving.secrets")},
	{
		"a view is replaced", "CREATE OR REPLACE VIEW moving.seen AS SELECT id, name FROM moving.secrets",
		"CREATE OR REPLACE VIEW moving.seen AS SELECT id, name FROM moving.wards",
	},
	{
		"a view below a view is replaced", "CREATE OR REPLACE VIEW moving.inmost AS SELECT id, name FROM moving.secrets",
		"CREATE OR REPLACE VIEW moving.inmost AS SELECT id, name FROM moving.wards",
	},
	{
		"a function below a view is replaced",
		"CREATE OR REPLACE FUNCTION moving.of(int) RETURNS text LANGUAGE sql RETURN 'hush of ' || $1",
		"CREATE OR REPLACE FUNCTION moving.of(int) RETURNS text LANGUAGE sql RETURN 'of ' || $1",
	},
	{"a table inherits", "ALTER TABLE moving.heirs INHERIT moving.wards", "ALTER TABLE moving.heirs NO INHERIT moving.wards"},
	{
		"a partition is attached", "ALTER TABLE moving.events ATTACH PARTITION moving.late FOR VALUES FROM (10) TO (20)",
		"ALTER TABLE moving.events DETACH PARTITION moving.late",
	},
	{
		"a materialised view and a table swap names",
		"ALTER MATERIALIZED VIEW moving.stored RENAME TO x; ALTER TABLE moving.secrets RENAME TO stored; " +
			"ALTER MATERIALIZED VIEW moving.x RENAME TO secrets",
		"ALTER TABLE moving.stored RENAME TO x; ALTER MATERIALIZED VIEW moving.secrets RENAME TO stored; " +
			"ALTER TABLE moving.x RENAME TO secrets",
	},
	{
		"columns of a materialised view swap names", swapped("MATERIALIZED VIEW moving.stored"), swapped("MATERIALIZED VIEW moving.stored"),
	},
	{
		"a type changes", "ALTER TABLE moving.events ALTER name TYPE varchar(3) USING left(name, 3)",
		"ALTER TABLE moving.events ALTER name TYPE text USING 'event 1'",
	},
}

// TestSyncSeesOneCatalogue changes the schema before each statement of a sync, and has a change open that the sync waits for: the mirror
// has the rows and the confirmed schema of before the change, or those of after it.
func TestSyncSeesOneCatalogue(t *testing.T) {
	p := oneServer(t)
	run(t, p.upstream, as(t, p.server, movingSchema))
	url := p.server.URL("clinic", pgtemp.Superuser)
	m := &moving{pair: p, super: connect(t, url), watch: connect(t, url)}
	m.upstream = m.traced(t)
	p.sync(t, movingPlan)
	before := m.state(t)
	if strings.Contains(before, "hush") {
		t.Fatal(before)
	}
	m.starts(t)
	steps, _ := m.sync(t, open, "")
	refused := 0
	for _, c := range movingChanges {
		for _, step := range someSteps(t, steps) {
			n, err := m.sync(t, step, c.do)
			if err != nil {
				refused++
			}
			steps = max(steps, n)
			if got := m.state(t); got != before && got != m.after(t) {
				t.Errorf("%s before statement %d: %v\n%s\nand before\n%s", c.name, step, err, got, before)
			}
			if m.changed {
				run(t, m.super, c.undo)
			}
			if m.state(t) != before {
				p.sync(t, movingPlan)
			}
		}
	}
	if refused == 0 {
		t.Error("no sync was refused")
	}
	if got := m.state(t); got != before {
		t.Errorf("at last it is\n%s\nand was\n%s", got, before)
	}
}

// starts reads the catalogue as a start does, while a change is open that swaps what a view's query names: the query and the columns
// are those of before the change, or those of after it.
func (m *moving) starts(t *testing.T) {
	t.Helper()
	read := func() string {
		s, err := movingPlan.Read(t.Context(), m.upstream)
		if err != nil {
			t.Fatal(err)
		}
		var columns []string
		for _, c := range s.Tables[name("moving.secrets")].Columns {
			columns = append(columns, c.Name)
		}
		return fmt.Sprintf("%s of %v", s.Tables[name("moving.people")].View, columns)
	}
	swapped := swapped("TABLE moving.secrets")
	before := read()
	run(t, m.super, swapped)
	after := read()
	run(t, m.super, swapped)
	run(t, m.super, "BEGIN; "+swapped)
	changed, done := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := pgtemp.Blocks(context.Background(), m.watch, m.super.PgConn().PID(), done)
		_, failed := m.super.Exec(context.Background(), "COMMIT")
		changed <- errors.Join(err, failed)
	}()
	got := read()
	close(done)
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	if before == after || got != before && got != after {
		t.Errorf("a start sees %s; before %s, after %s", got, before, after)
	}
	run(t, m.super, swapped)
}

var everyStep = flag.Bool("everystep", false, "change the schema before every statement of a sync, not a few")

// someSteps are that of an open change, and two others at random.
func someSteps(t *testing.T, all int) []int {
	t.Helper()
	steps := []int{open}
	for i := range all {
		if *everyStep {
			steps = append(steps, i)
		}
	}
	for range 2 {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(all)))
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, int(n.Int64()))
	}
	return steps
}

// after is the state that a sync makes that nothing disturbs, or nothing if it is refused.
func (m *moving) after(t *testing.T) string {
	t.Helper()
	if _, err := m.trySync(t, movingPlan); err != nil {
		return ""
	}
	return m.state(t)
}

// deadlock is the SQLSTATE of a transaction that Postgres ended since it and another waited for each other.
const deadlock = "40P01"

// open is the step of a change that is open before the sync begins, and is committed when the sync waits for it, or has ended.
const open = -1

// moving syncs while the schema changes.
type moving struct {
	pair

	super, watch *pgx.Conn
	// changed says that the last change was made: Postgres may have ended it, where it and a sync waited for each other.
	changed bool
	// at is called before each statement of a sync in the real database.
	at func()
}

// TraceQueryStart implements [pgx.QueryTracer].
func (m *moving) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if m.at != nil {
		m.at()
	}
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (*moving) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// traced is a session in the real database whose statements are seen.
func (m *moving) traced(t *testing.T) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(m.server.URL("clinic", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Tracer = m
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// state is all that the mirror shows of public relations, and the schema that is confirmed with it.
func (m *moving) state(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	c, err := mirror.Confirmed(t.Context(), m.mirror)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range movingPublic {
		rows := value(t, m.mirror, fmt.Sprintf("SELECT string_agg(t::text, ' ' ORDER BY t) FROM %v AS t", n))
		fmt.Fprintf(&all, "%v: %s by %s\n", n, rows, c.Schema.Tables[n].Fingerprint)
	}
	view, table := c.Schema.Tables[name("moving.people")], c.Schema.Tables[name("moving.secrets")]
	fmt.Fprintf(&all, "%s by %s\n", strings.Join(strings.Fields(view.View), " "), table.Fingerprint)
	return all.String()
}

// sync syncs, with a change before the statement of a step. It returns how many statements there are.
func (m *moving) sync(t *testing.T, step int, do string) (steps int, err error) {
	t.Helper()
	changed, synced := make(chan error, 1), make(chan struct{})
	if do == "" {
		close(changed)
	} else if step == open {
		run(t, m.super, "BEGIN; "+do)
		go func() {
			_, err := pgtemp.Blocks(context.Background(), m.watch, m.super.PgConn().PID(), synced)
			_, failed := m.super.Exec(context.Background(), "COMMIT")
			changed <- errors.Join(err, failed)
		}()
	}
	m.at = func() {
		if steps == step {
			m.change(t, do, changed)
		}
		steps++
	}
	_, err = m.trySync(t, movingPlan)
	m.at = nil
	close(synced)
	if step >= steps {
		run(t, m.super, do)
		m.changed = true
		return steps, err
	}
	failed := <-changed
	m.changed = failed == nil
	if refused, ok := errors.AsType[*pgconn.PgError](failed); failed != nil && (!ok || refused.Code != deadlock) {
		t.Fatal(failed)
	}
	return steps, err
}

// change begins a change, and returns when it has ended or waits for the sync.
func (m *moving) change(t *testing.T, do string, changed chan<- error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		_, err := m.super.PgConn().Exec(context.Background(), "BEGIN; "+do+"; COMMIT").ReadAll()
		if err != nil {
			_, _ = m.super.Exec(context.Background(), "ROLLBACK")
		}
		changed <- err
		close(done)
	}()
	if _, err := pgtemp.Waits(t.Context(), m.watch, m.super.PgConn().PID(), done); err != nil {
		t.Error(err)
	}
}
