package reader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror/introspect"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// movingTables has people, of whom 30 have a = 1 and 5 have b = 1, calls in one partition, and tables with other rows that can take their
// places.
const movingTables = `
CREATE TABLE people (id int PRIMARY KEY, a int NOT NULL, b int NOT NULL);
INSERT INTO people SELECT g, CAST(g <= 30 AS int), CAST(g <= 5 AS int) FROM generate_series(1, 50) g;
CREATE TABLE strangers (LIKE people INCLUDING ALL);
INSERT INTO strangers SELECT g + 100, 1, 1 FROM generate_series(1, 700) g;
CREATE TABLE calls (id int, person int NOT NULL REFERENCES people, a int NOT NULL, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE early PARTITION OF calls FOR VALUES FROM (1) TO (1000);
INSERT INTO calls SELECT g, g % 50 + 1, 1 FROM generate_series(1, 40) g;
CREATE TABLE late (LIKE calls INCLUDING ALL, FOREIGN KEY (person) REFERENCES people);
INSERT INTO late SELECT g, g % 50 + 1, 1 FROM generate_series(1000, 1600) g;
CREATE TABLE wards (id int PRIMARY KEY, a int NOT NULL);
INSERT INTO wards SELECT g, CAST(g <= 20 AS int) FROM generate_series(1, 50) g;
CREATE TABLE more (LIKE wards INCLUDING ALL);
INSERT INTO more SELECT g + 50, 1 FROM generate_series(1, 500) g;
CREATE SCHEMA other;
CREATE TABLE other.people (LIKE people INCLUDING ALL);
INSERT INTO other.people SELECT g, 1, 1 FROM generate_series(1, 300) g`

// schemaChanges are changes after which statements mean other rows, each with the statement that undoes it.
var schemaChanges = []struct{ name, do, undo string }{
	{
		"columns swap names", "ALTER TABLE people RENAME a TO x; ALTER TABLE people RENAME b TO a; ALTER TABLE people RENAME x TO b",
		"ALTER TABLE people RENAME a TO x; ALTER TABLE people RENAME b TO a; ALTER TABLE people RENAME x TO b",
	},
	{
		"tables swap names", "ALTER TABLE people RENAME TO x; ALTER TABLE strangers RENAME TO people; ALTER TABLE x RENAME TO strangers",
		"ALTER TABLE people RENAME TO x; ALTER TABLE strangers RENAME TO people; ALTER TABLE x RENAME TO strangers",
	},
	{
		"schemas swap names", "ALTER SCHEMA public RENAME TO x; ALTER SCHEMA other RENAME TO public; ALTER SCHEMA x RENAME TO other",
		"ALTER SCHEMA public RENAME TO x; ALTER SCHEMA other RENAME TO public; ALTER SCHEMA x RENAME TO other",
	},
	{"a table inherits", "ALTER TABLE strangers INHERIT people", "ALTER TABLE strangers NO INHERIT people"},
	{"a table inherits from a public one", "ALTER TABLE more INHERIT wards", "ALTER TABLE more NO INHERIT wards"},
	{
		"a partition is attached", "ALTER TABLE calls ATTACH PARTITION late FOR VALUES FROM (1000) TO (9000)",
		"ALTER TABLE calls DETACH PARTITION late",
	},
	{
		"a type changes", "ALTER TABLE people ALTER a TYPE bigint USING 1 - a",
		"ALTER TABLE people ALTER a TYPE int USING 1 - a",
	},
	{
		"a public table is replaced by a view", "ALTER TABLE wards RENAME TO x; CREATE VIEW wards AS SELECT id, a FROM more",
		"DROP VIEW wards; ALTER TABLE x RENAME TO wards",
	},
}

// movingQuestions are questions about these tables.
var movingQuestions = []string{
	"SELECT sum(a) FROM people",
	"SELECT count(*) FROM calls",
	"SELECT count(*) FROM people p JOIN wards w ON w.id = p.id WHERE w.a = p.a",
}

// TestOneCatalogue changes the schema before each message of the first exchange of each read, and has an open change that the read waits
// for. The read is refused, or it reads the rows that it reads without a change.
func TestOneCatalogue(t *testing.T) {
	d, _ := openData(t)
	m := &mover{super: superuser(t, d), watch: superuser(t, d)}
	if _, err := m.super.PgConn().Exec(t.Context(), movingTables).ReadAll(); err != nil {
		t.Fatal(err)
	}
	refused, steps := map[string]int{}, 0
	for _, sql := range movingQuestions {
		plan := movingPlan(t, d, m.super, sql)
		want, _ := m.read(t, d, plan, -2, "", "")
		if want == nil {
			t.Fatalf("%s is not answered", sql)
		}
		for _, c := range schemaChanges {
			for step, last := open, false; !last; step++ {
				got, n := m.read(t, d, plan, step, c.do, c.undo)
				steps++
				if got == nil {
					refused[c.name]++
				} else if !bytes.Equal(got, want) {
					t.Errorf("%s: %s before message %d: %q, and without it %q", sql, c.name, step, got, want)
				}
				last = step >= n
			}
		}
	}
	for _, c := range schemaChanges {
		if refused[c.name] == 0 {
			t.Errorf("%s: no read noticed it", c.name)
		}
	}
	if steps < 300 {
		t.Errorf("%d steps", steps)
	}
}

// TestOneCatalogueByUnit changes the schema before each message that plans a read again because its rows did not fit into memory. The read
// ends, or it reads the rows that it reads without a change.
func TestOneCatalogueByUnit(t *testing.T) {
	d, _ := openData(t)
	m := &mover{super: superuser(t, d), watch: superuser(t, d)}
	if _, err := m.super.PgConn().Exec(t.Context(), movingTables).ReadAll(); err != nil {
		t.Fatal(err)
	}
	plan := movingPlan(t, d, m.super, "SELECT count(DISTINCT a) FROM calls")
	if read := plan.Blocks[0].Sets[0].Reads[0]; read.Fold == nil {
		t.Fatal("it is not folded")
	}
	want, _ := m.readByUnit(t, d, plan, -2, "", "")
	ended := 0
	for step, last := 0, false; !last; step++ {
		const attach = "ALTER TABLE calls ATTACH PARTITION late FOR VALUES FROM (1000) TO (9000)"
		got, n := m.readByUnit(t, d, plan, step, attach, "ALTER TABLE calls DETACH PARTITION late")
		switch {
		case got == nil:
			ended++
		case !bytes.Equal(got, want):
			t.Errorf("attached before message %d: %d bytes of rows, and without it %d", step, len(got), len(want))
		}
		last = step >= n
	}
	if want == nil || ended == 0 {
		t.Errorf("read %d bytes, and ended %d times", len(want), ended)
	}
}

// readByUnit plans a read, and sends the messages that plan it again as read sends the messages of the first exchange.
func (m *mover) readByUnit(t *testing.T, d *Data, plan *planner.Plan, step int, do, undo string) (rows []byte, messages int) {
	t.Helper()
	c, err := d.connect(t.Context(), plan, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer c.release()
	r, pg := &Reading{c: c, plan: plan}, c.conn.Conn().PgConn()
	q, has := r.planning()
	for _, msg := range *q {
		if _, err := answer(pg, msg); err != nil {
			t.Fatal(err)
		}
	}
	c.setPrepared(has)
	q, _ = r.planningByUnit(r.reads()[0])
	q.execute(byUnitPortal)
	var changed chan error
	for i, msg := range *q {
		if i == step {
			changed = m.change(t, do)
		}
		if rows, err = answer(pg, msg); err != nil {
			return nil, m.end(t, pg, changed, undo, len(*q))
		}
	}
	return append(rows, '.'), m.end(t, pg, changed, undo, len(*q))
}

// open is the step of a change that is open before the read begins. It is committed when the read waits for it, or has been planned.
const open = -1

func superuser(t *testing.T, d *Data) *pgx.Conn {
	t.Helper()
	cfg := d.pool.Config().ConnConfig.Copy()
	clear(cfg.RuntimeParams)
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// movingPlan plans a question by the schema as it is.
func movingPlan(t *testing.T, d *Data, conn *pgx.Conn, sql string) *planner.Plan {
	t.Helper()
	tx, err := conn.BeginTx(t.Context(), introspect.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	name := func(n string) catalog.Name { return catalog.Name{Schema: "public", Name: n} }
	names := []catalog.Name{name("people"), name("calls"), name("wards")}
	schema, err := introspect.Read(t.Context(), tx, introspect.Relations{Names: names})
	if err != nil {
		t.Fatal(err)
	}
	bits := &policy.Bounds{Low: new(big.Rat), High: big.NewRat(1, 1), LowText: "0", HighText: "1"}
	model, problems := policy.Check(policy.Policy{Unit: "person", Tables: []policy.TablePolicy{
		{Name: name("people"), UnitColumn: "id", Columns: map[string]policy.ColumnPolicy{"a": {Bounds: bits}}},
		{Name: name("calls"), UnitColumn: "person", MaxRows: 5},
		{Name: name("wards"), Public: true},
	}}, schema)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	d.catalog, d.checks = model, nil
	script, err := parser.Parse(sql, planner.Names(model))
	if err != nil {
		t.Fatal(err)
	}
	query, err := planner.Analyze(nil, model, script.Statements[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := query.Specialize(nil, nil, planner.Settings{
		EpsilonPico: 1e12, TypicalPico: 1e12, DeltaAtto: 1e12, Mechanism: "auto", Alpha: 0.05,
		Limits: policy.Limits{PublicFanout: 10, Work: 1e9},
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// A mover changes the schema while somebody reads.
type mover struct{ super, watch *pgx.Conn }

// read sends the messages of the first exchange one by one, each after the answer to the one before, and then those of the second. A change
// is committed before the message of a step. Read returns the rows, nil if the read is refused, and how many messages the first exchange
// has. Then the change is undone.
func (m *mover) read(t *testing.T, d *Data, plan *planner.Plan, step int, do, undo string) (rows []byte, messages int) {
	t.Helper()
	c, err := d.connect(t.Context(), plan, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer c.release()
	r := &Reading{c: c, plan: plan}
	q, has := r.planning()
	pg := c.conn.Conn().PgConn()
	messages = len(*q)
	var changed chan error
	planned := make(chan struct{})
	if step == open {
		changed = m.open(t, do, planned)
	}
	for i, msg := range *q {
		if i == step {
			changed = m.change(t, do)
		}
		if _, err := answer(pg, msg); err != nil {
			close(planned)
			return nil, m.end(t, pg, changed, undo, messages)
		}
	}
	close(planned)
	if step == messages {
		changed = m.change(t, do)
	}
	c.setPrepared(has)
	for i := range r.reads() {
		got, err := answer(pg, &pgproto3.Execute{Portal: portal(i)})
		if err != nil {
			t.Errorf("a read failed behind the charge: %v", err)
		}
		rows = append(rows, got...)
	}
	return append(rows, '.'), m.end(t, pg, changed, undo, messages)
}

// open makes a change that is committed when a session waits for it, or the read is planned.
func (m *mover) open(t *testing.T, do string, planned <-chan struct{}) chan error {
	t.Helper()
	if _, err := m.super.PgConn().Exec(t.Context(), "BEGIN; "+do).ReadAll(); err != nil {
		t.Fatal(err)
	}
	changed := make(chan error, 1)
	go func() {
		_, err := pgtemp.Blocks(context.Background(), m.watch, m.super.PgConn().PID(), planned)
		_, failed := m.super.PgConn().Exec(context.Background(), "COMMIT").ReadAll()
		changed <- errors.Join(err, failed)
	}()
	return changed
}

// change begins a change of the schema. If it has to wait for the read, it goes on when the read has ended.
func (m *mover) change(t *testing.T, do string) chan error {
	t.Helper()
	changed, done := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := m.super.PgConn().Exec(context.Background(), "BEGIN; "+do+"; COMMIT").ReadAll()
		changed <- err
		close(done)
	}()
	if _, err := pgtemp.Waits(t.Context(), m.watch, m.super.PgConn().PID(), done); err != nil {
		t.Fatal(err)
	}
	return changed
}

// end ends the read, lets the change finish, and undoes it.
func (m *mover) end(t *testing.T, pg *pgconn.PgConn, changed chan error, undo string, messages int) int {
	t.Helper()
	pg.Frontend().Send(&pgproto3.Sync{})
	if err := pg.Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := replies(pg, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := pg.Exec(t.Context(), "ROLLBACK").ReadAll(); err != nil {
		t.Fatal(err)
	}
	if changed == nil {
		return messages
	}
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	if _, err := m.super.PgConn().Exec(t.Context(), "BEGIN; "+undo+"; COMMIT").ReadAll(); err != nil {
		t.Fatal(err)
	}
	return messages
}

// answer sends one message and reads up to its answer, which has the values of rows.
func answer(pg *pgconn.PgConn, msg pgproto3.FrontendMessage) (values []byte, err error) {
	if _, ok := msg.(*pgproto3.Flush); ok {
		return nil, nil
	}
	pg.Frontend().Send(msg)
	pg.Frontend().Send(&pgproto3.Flush{})
	if err := pg.Frontend().Flush(); err != nil {
		return nil, err
	}
	for {
		reply, err := pg.ReceiveMessage(context.Background())
		if err != nil {
			return nil, err
		}
		switch m := reply.(type) {
		case *pgproto3.ErrorResponse:
			return nil, pgconn.ErrorResponseToPgError(m)
		case *pgproto3.DataRow:
			values = fmt.Appendf(values, "%q", slices.Clone(m.Values))
		case *pgproto3.ParseComplete, *pgproto3.BindComplete, *pgproto3.CloseComplete, *pgproto3.CommandComplete:
			return values, nil
		}
	}
}
