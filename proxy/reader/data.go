package reader

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/catalog"
	"dpproxy/internal/frugal"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/steady"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// Data reads exact aggregates from the protected database. Only SQL of the planner runs there, read-only. Each statement runs in one
// snapshot, in which the schema is checked to be the one that the policy was checked against.
type Data struct {
	pool     *pgxpool.Pool
	sessions int // how many statements can read at a time, at most
	catalog  *policy.Model
	secret   []byte
	pads     [2][]byte // of the secret

	mu  sync.Mutex
	off map[catalog.Name]string // tables whose schema changed, with the reason as far as analysts may know it
	// outdated are the public tables that have other rows by now than the mirror.
	outdated []catalog.Name
	// checks has the checks of the relations of plans, by the relations' names.
	checks map[string]*checks
}

// sessionSettings are the settings with which every session on the protected database starts. Each session is checked to have them, as
// pg_settings writes them: times in milliseconds.
var sessionSettings = map[string]string{
	"default_transaction_read_only":       "on",
	"default_transaction_isolation":       "repeatable read",
	"default_transaction_deferrable":      "off",
	"search_path":                         "pg_catalog",
	"client_encoding":                     "UTF8",
	"standard_conforming_strings":         "on",
	"TimeZone":                            "UTC",
	"DateStyle":                           "ISO, MDY",
	"IntervalStyle":                       "postgres",
	"extra_float_digits":                  "1",
	"bytea_output":                        "hex",
	"row_security":                        "off", // raise rather than leave rows out
	"lock_timeout":                        "2000",
	"idle_in_transaction_session_timeout": "60000", // a transaction waits only for a charge
	"transform_null_equals":               "off",
	"array_nulls":                         "on",
}

// PlanSettings are the settings of sessions that decide how a read is planned and executed.
var PlanSettings = map[string]string{
	"jit": "off",
	// A read aggregates per unit first: the groups are so many that parallel workers pay.
	"parallel_tuple_cost": "0.01",
	// A merge join ends when its shorter side ends: one row decides how much of the other side is read.
	"enable_mergejoin": "off",
	// A nested loop goes through the rows of a small side, kept in memory, for each row of the other side. So one more row of the small
	// side adds as many steps as the other side has rows.
	"enable_material": "off",
	// Postgres combines the bitmaps of two indexes. It does not read the second index if the first bitmap is empty.
	"enable_bitmapscan": "off",
}

// pingTimeout is how long an idle session may be silent before it is abandoned.
const pingTimeout = 2 * time.Second

// dropTimeout is how long the end of an abandoned session may take.
const dropTimeout = 5 * time.Second

// Open connects to the protected database. Secret is the key of the random choices of contribution bounding (32 bytes or more).
func Open(ctx context.Context, cfg *pgxpool.Config, cat *policy.Model, secret []byte) (*Data, error) {
	maps.Copy(cfg.ConnConfig.RuntimeParams, sessionSettings)
	maps.Copy(cfg.ConnConfig.RuntimeParams, PlanSettings)
	cfg.ConnConfig.RuntimeParams["application_name"] = "dpproxy"
	// The first exchange of a reading, before the charge, notices a session that died or hangs.
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		return checkSession(ctx, conn, cfg.ConnConfig.RuntimeParams)
	}
	cfg.ConnConfig.DialFunc = dialing(cfg.ConnConfig.DialFunc)
	cfg.ConnConfig.ValidateConnect = ofRole(cfg.ConnConfig.ValidateConnect)
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	d := &Data{pool: pool, sessions: int(cfg.MaxConns), catalog: cat, secret: secret, off: map[catalog.Name]string{}}
	d.pads[0], d.pads[1] = pads(secret)
	return d, nil
}

// With returns the same database with the same sessions, and with another catalogue. No relation is turned off.
func (d *Data) With(cat *policy.Model) *Data {
	return &Data{pool: d.pool, sessions: d.sessions, catalog: cat, secret: d.secret, pads: d.pads, off: map[catalog.Name]string{}}
}

// Close ends all connections, including the connections of [Data.With].
func (d *Data) Close() { d.pool.Close() }

// Ping reports whether the protected database can be reached, and its sessions are as they must be.
func (d *Data) Ping(ctx context.Context) error { return d.pool.Ping(ctx) }

// settingsSQL asks for settings as the session has them.
const settingsSQL = "SELECT name, setting FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) ANY($1)"

// checkSession checks the settings of a new session: a pooler between dpproxy and the database may have lost them. It also checks the
// encoding: in a database of another encoding, a text that cannot be written in UTF-8 would make its row fail.
func checkSession(ctx context.Context, conn *pgx.Conn, want map[string]string) error {
	if got := conn.PgConn().ParameterStatus("server_encoding"); got != "UTF8" {
		return fmt.Errorf("the protected database has the encoding %s: dpproxy needs UTF8", got)
	}
	names := slices.Sorted(maps.Keys(want))
	rows, err := conn.Query(ctx, settingsSQL, pgx.QueryExecModeExec, names)
	if err != nil {
		return err
	}
	have := map[string]string{}
	var name, setting string
	if _, err := pgx.ForEachRow(rows, []any{&name, &setting}, func() error {
		have[name] = setting
		return nil
	}); err != nil {
		return err
	}
	for _, name := range names {
		if have[name] != want[name] {
			return fmt.Errorf("the protected database does not let dpproxy set %s to %q: a pooler between, such as pgbouncer, "+
				"loses the settings of sessions: the policy must name the server itself", name, want[name])
		}
	}
	return nil
}

// pads returns the two padded keys of HMAC-SHA256 (FIPS 198-1, RFC 2104).
func pads(secret []byte) (inner, outer []byte) {
	key := make([]byte, sha256.BlockSize)
	if len(secret) > len(key) {
		digest := sha256.Sum256(secret)
		secret = digest[:]
	}
	copy(key, secret)
	inner, outer = make([]byte, len(key)), make([]byte, len(key))
	for i, b := range key {
		inner[i], outer[i] = b^0x36, b^0x5c
	}
	return inner, outer
}

// A connection is one session on the protected database, taken for one statement.
type connection struct {
	data   *Data
	conn   *pgxpool.Conn // nil after it was abandoned
	checks *checks
	leave  func() // leaves the queue
	// spoiled says that the session is in an unknown state, or busy with work that nobody waits for.
	spoiled bool
}

// connect takes a session out of the pool.
func (d *Data) connect(ctx context.Context, plan *planner.Plan, leave func()) (*connection, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	ready := false
	defer func() {
		if !ready {
			// A cancel request may be under way, which must not hit the next statement.
			_ = conn.Conn().Close(context.WithoutCancel(ctx))
			conn.Release()
		}
	}()
	c := &connection{data: d, conn: conn, checks: d.checking(plan), leave: leave}
	if err := context.Cause(ctx); err != nil { // a session may have come all the same
		return nil, err
	}
	ready = true
	return c, nil
}

// checks are the statements before and after the planning of reads. Because of them check and read see one catalogue (package steady). They
// depend on the relations alone.
type checks struct {
	lock, unchanged, settled string
}

// keptChecks bounds the checks that are remembered.
const keptChecks = 1000

// checking returns the checks of a plan's relations.
func (d *Data) checking(plan *planner.Plan) *checks {
	var key []byte
	for _, n := range plan.Relations {
		key = append(strconv.AppendQuote(append(strconv.AppendQuote(key, n.Schema), '.'), n.Name), ',')
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.checks[string(key)]
	if !ok {
		if d.checks == nil || len(d.checks) >= keptChecks {
			d.checks = map[string]*checks{}
		}
		sources, fingerprints := d.sources(plan), d.fingerprints(plan.Relations)
		c = &checks{lock: steady.Lock(sources), unchanged: introspect.Unchanged(fingerprints), settled: steady.Settled(sources)}
		d.checks[string(key)] = c
	}
	return c
}

// fingerprints returns, by OID, the fingerprints of relations when the policy was checked against them.
func (d *Data) fingerprints(relations []catalog.Name) map[uint32]string {
	want := map[uint32]string{}
	for _, n := range relations {
		source := d.catalog.Source(n)
		want[source.OID] = source.Fingerprint
	}
	return want
}

// mark returns the session's state when the check last ended well, or nil.
func (c *connection) mark() []byte {
	mark, _ := c.conn.Conn().PgConn().CustomData()[c.checks.unchanged].([]byte)
	return mark
}

func (c *connection) setMark(mark []byte) {
	c.conn.Conn().PgConn().CustomData()[c.checks.unchanged] = mark
}

// A hush is the alarm of a session, and the function that it calls for the statement that has the session.
type hush struct {
	alarm *frugal.Alarm
	ring  func()
}

// hushKey is the key of a session's hush.
const hushKey = "hush"

// silent sets the session's alarm, and returns it. The alarm calls ring unless the session says something in time.
func (c *connection) silent(ring func()) *frugal.Alarm {
	data := c.conn.Conn().PgConn().CustomData()
	h, ok := data[hushKey].(*hush)
	if !ok {
		h = &hush{}
		h.alarm = frugal.NewAlarm(func() { h.ring() })
		data[hushKey] = h
	}
	h.ring = ring
	h.alarm.Set(pingTimeout)
	return h.alarm
}

// release gives the session back to the pool, and its place to the next statement. Statements notice both if they wait for them, or if they
// open a new session because none is free.
func (c *connection) release() {
	defer c.leave()
	if c.conn == nil {
		return
	}
	if c.spoiled {
		c.drop()
		return
	}
	if c.conn.Conn().PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		defer cancel()
		_, _ = c.conn.Exec(ctx, "ROLLBACK") // the pool closes sessions that are still in a transaction
	}
	c.conn.Release()
}

// drop ends the session and its work. Nobody waits for the end: how long it takes depends on the rows that the work looks at.
func (c *connection) drop() {
	conn := c.conn.Hijack()
	c.conn = nil
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
		defer cancel()
		_ = conn.PgConn().CancelRequest(ctx)
		_ = conn.Close(ctx)
	}()
}
