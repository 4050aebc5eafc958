package proxy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/scalar"
)

// Data reads exact aggregates from the protected database. Only SQL of the
// planner runs there, read-only, each statement in one snapshot, in which the
// schema is checked to be the one that the policy was checked against.
type Data struct {
	pool    *pgxpool.Pool
	catalog *planner.Catalog
	pads    [2][]byte

	mu  sync.Mutex
	off map[catalog.Name]bool // tables whose schema changed
	// looks counts the looks at indexes that have begun.
	looks int
	// unindexed are the tables whose index on the unit is gone, with the number of looks that
	// had begun when that was noted.
	unindexed map[catalog.Name]int
}

// sessionSettings are the settings that every session on the protected database
// starts with and is checked to have, as pg_settings writes them: times in milliseconds.
var sessionSettings = map[string]string{
	"default_transaction_read_only":  "on",
	"default_transaction_isolation":  "repeatable read",
	"default_transaction_deferrable": "off",
	"search_path":                    "pg_catalog",
	"client_encoding":                "UTF8",
	"standard_conforming_strings":    "on",
	"TimeZone":                       "UTC",
	"DateStyle":                      "ISO, MDY",
	"IntervalStyle":                  "postgres",
	"extra_float_digits":             "1",
	"bytea_output":                   "hex",
	"row_security":                   "off", // raise rather than leave rows out
	"jit":                            "off",
	// A read aggregates per unit first: many groups, which parallel workers are worth.
	"parallel_tuple_cost":                 "0.01",
	"lock_timeout":                        "2000",
	"idle_in_transaction_session_timeout": "5000", // a transaction comes in one piece
	"transform_null_equals":               "off",
	"array_nulls":                         "on",
}

// pingTimeout is how long an idle session may take to answer before it is given up.
const pingTimeout = 2 * time.Second

// OpenData connects to the protected database. Secret is the key of the random
// choices of contribution bounding (32 bytes or more).
func OpenData(ctx context.Context, cfg *pgxpool.Config, cat *planner.Catalog, secret []byte) (*Data, error) {
	maps.Copy(cfg.ConnConfig.RuntimeParams, sessionSettings)
	cfg.ConnConfig.RuntimeParams["application_name"] = "dpproxy"
	cfg.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 5 * time.Second}
	}
	// A session that died or hangs must be found out before the charge, however short the
	// time was that it was idle.
	cfg.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return true }
	cfg.PingTimeout = pingTimeout
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		return checkSession(ctx, conn, cfg.ConnConfig.RuntimeParams)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	d := &Data{pool: pool, catalog: cat, off: map[catalog.Name]bool{}, unindexed: map[catalog.Name]int{}}
	d.pads[0], d.pads[1] = pads(secret)
	return d, nil
}

// Close ends all connections.
func (d *Data) Close() { d.pool.Close() }

// Ping reports whether the protected database can be reached and its sessions
// are as they must be.
func (d *Data) Ping(ctx context.Context) error { return d.pool.Ping(ctx) }

// settingsSQL asks for settings as the session has them.
const settingsSQL = "SELECT name, setting FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) ANY($1)"

// checkSession checks the settings of a new session: what is between dpproxy and the
// database may have lost them. In a database of another encoding, texts that cannot be
// written in UTF-8 would make the rows that hold them fail.
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
			return fmt.Errorf("the protected database does not let dpproxy set %s to %q", name, want[name])
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

// sessions returns how many statements can read at a time.
func (d *Data) sessions() int { return int(d.pool.Config().MaxConns) }

// connection is one session on the protected database, taken for one statement.
type connection struct {
	data *Data
	conn *pgxpool.Conn
	// unchanged is the prepared statement that checks the schema of what the statement reads.
	unchanged string
	leave     func() // the queue
	log       *slog.Logger
}

// acquire waits for the turn of a statement and takes a session for it before the
// charge, so that an unreachable database costs nothing. Nothing has been sent to it for
// the statement.
//
// It waits as long as the analyst's own timeout allows.
func (a *answer) acquire(ctx context.Context, plan *planner.Plan, timeout time.Duration) (*connection, error) {
	d := a.p.cfg.Data
	if t, off := d.turnedOff(plan.Relations); off {
		return nil, schemaChanged(t)
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errTimeout)
		defer cancel()
	}
	if err := a.p.queue.enter(ctx, a.analyst); err != nil {
		return nil, acquireError(ctx, err)
	}
	taken := false
	leave := func() { a.p.queue.leave(a.analyst) }
	defer func() {
		if !taken { // also in a panic
			leave()
		}
	}()
	c, err := d.connect(ctx, plan, leave)
	if err != nil {
		return nil, acquireError(ctx, err)
	}
	taken = true
	c.log = a.p.cfg.Log
	return c, nil
}

// acquireError tells a client why his statement has no session.
func acquireError(ctx context.Context, err error) error {
	const nothing = "Nothing was charged. Try again later."
	cause := context.Cause(ctx)
	switch {
	case errors.Is(err, errQueueFull):
		return pgerr.New(pgerr.TooManyConnections, "too many statements are waiting for the protected database").WithHint(nothing)
	case errors.Is(cause, errTimeout):
		return pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout")
	case cause != nil:
		return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	}
	return pgerr.New(pgerr.DataUnavailable, "the protected database cannot be reached").WithHint(nothing)
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
	c := &connection{data: d, conn: conn, leave: leave}
	if err = c.prepare(ctx, plan); err == nil {
		err = context.Cause(ctx) // which an answer that came all the same says nothing of
	}
	if err != nil {
		return nil, err
	}
	ready = true
	return c, nil
}

func (d *Data) turnedOff(tables []catalog.Name) (catalog.Name, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range tables {
		if d.off[t] {
			return t, true
		}
	}
	return catalog.Name{}, false
}

// prepare makes the statement that checks the schema, unless this session has it. It
// reads nothing.
func (c *connection) prepare(ctx context.Context, plan *planner.Plan) error {
	want := map[uint32]string{}
	for _, t := range plan.Relations {
		source := c.data.catalog.Source(t)
		want[source.OID] = source.Fingerprint
	}
	sql := mirror.Unchanged(want, c.data.columns(plan.Lookups()))
	// Its name is a digest: Postgres tells names apart by 63 bytes, which a list of OIDs exceeds.
	prepared, err := c.conn.Conn().Prepare(ctx, sql, sql)
	if err != nil {
		return err
	}
	c.unchanged = prepared.Name
	return nil
}

// mark is what the session saw when the check last ended well, or nil.
func (c *connection) mark() []byte {
	mark, _ := c.conn.Conn().PgConn().CustomData()[c.unchanged].([]byte)
	return mark
}

func (c *connection) setMark(mark []byte) { c.conn.Conn().PgConn().CustomData()[c.unchanged] = mark }

// release gives the session back to the pool, and its place to the next statement.
func (c *connection) release() {
	c.conn.Release()
	c.leave()
}

func (d *Data) turnOff(t catalog.Name) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off[t] = true
}

func schemaChanged(t catalog.Name) error {
	return pgerr.New(pgerr.SchemaChanged, "the schema of %s is not the one that its policy was checked against", t).
		WithHint("The administrator must check the policy, run dpproxy sync and restart dpproxy.")
}

// errRead is the only thing that is told of a failed read.
var errRead = errors.New("proxy: the read of protected data failed")

// read runs the plan's statements in one transaction and one round trip: the
// tables are locked against changes of their schema, it is compared with the catalogue's
// in the snapshot of the reads, and the reads follow unless that fails. It returns the
// exact aggregates of each part of each block.
//
// The policy's limit and the session's own statement_timeout (0 is none) bound its
// time. The cause of a failure is discarded here: it may depend on protected rows.
// Only that the session's own limit ended it is told, with errTimeout: an analyst
// who asks for that learns no more than from a clock.
func (c *connection) read(ctx context.Context, plan *planner.Plan, values []scalar.Value, policy, session time.Duration) ([][]*exact, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, policy, errRead)
	defer cancel()
	if session > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, session, errTimeout)
		defer cancel()
	}
	r := &reading{c: c, plan: plan}
	exacts, err := r.run(ctx, values)
	cause := context.Cause(ctx) // before time passes that could turn a failure into a timeout
	if err != nil || cause != nil {
		// The session is in an unknown state, or a cancel request is still under way that
		// would hit the next statement: it is closed, not reused.
		_ = c.conn.Conn().Close(context.WithoutCancel(ctx))
	}
	if err == nil {
		return exacts, nil
	}
	switch {
	case errors.Is(err, errChanged):
		return nil, r.changed
	case errors.Is(cause, errTimeout):
		return nil, errTimeout
	}
	return nil, errRead
}

// errTimeout says that the session's own statement_timeout ended a read.
var errTimeout = errors.New("proxy: statement timeout")

// reading is one transaction.
type reading struct {
	c       *connection
	plan    *planner.Plan
	changed error // what is told if the schema is not the catalogue's
}

func (r *reading) run(ctx context.Context, values []scalar.Value) ([][]*exact, error) {
	p := r.c.conn.Conn().PgConn().StartPipeline(ctx)
	defer func() { _ = p.Close() }() // the results are read; a session that is out of step is not reused
	p.SendQueryParams("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", nil, nil, nil, nil)
	p.SendQueryParams(r.c.data.lockSQL(r.plan), nil, nil, nil, nil)
	p.SendQueryPrepared(r.c.unchanged, [][]byte{r.c.mark()}, nil, nil)
	for _, read := range r.reads() {
		before, after := settingsOf(read)
		for _, sql := range before {
			p.SendQueryParams(sql, nil, nil, nil, nil)
		}
		params, formats := r.params(read, values)
		p.SendQueryParams(read.SQL, params, nil, formats, nil)
		for _, sql := range after {
			p.SendQueryParams(sql, nil, nil, nil, nil)
		}
	}
	p.SendQueryParams("COMMIT", nil, nil, nil, nil)
	if err := p.Sync(); err != nil {
		return nil, err
	}
	exacts, err := r.results(p)
	if errors.Is(err, errChanged) {
		_ = p.Close() // the error is known
		r.changed = r.explainChange(ctx)
	}
	return exacts, err
}

// settingsOf lists the statements before and after a read. They depend on the plan alone.
func settingsOf(r *planner.Read) (before, after []string) {
	if !r.Ordered {
		return nil, nil
	}
	return []string{"SET LOCAL enable_hashagg = off"}, []string{"SET LOCAL enable_hashagg TO DEFAULT"}
}

// reads lists the statements of all parts, in order.
func (r *reading) reads() []*planner.Read {
	var all []*planner.Read
	for _, b := range r.plan.Blocks {
		if !b.Known {
			for _, p := range b.Parts {
				all = append(all, p.Reads...)
			}
		}
	}
	return all
}

func (r *reading) params(read *planner.Read, values []scalar.Value) (params [][]byte, formats []int16) {
	for _, p := range read.Params {
		value, format := []byte(p.Text), int16(0)
		switch p.Kind {
		case planner.FoldParam:
			value = values[p.Fold].Bytes
			if values[p.Fold].Binary {
				format = 1
			}
		case planner.InnerPadParam:
			value, format = r.c.data.pads[0], 1
		case planner.OuterPadParam:
			value, format = r.c.data.pads[1], 1
		case planner.TextParam:
		}
		params, formats = append(params, value), append(formats, format)
	}
	return params, formats
}

// results reads the replies in the order in which the statements were sent.
func (r *reading) results(p *pgconn.Pipeline) ([][]*exact, error) {
	if err := done(p, 2); err != nil { // BEGIN, LOCK
		return nil, err
	}
	if err := r.unchanged(p); err != nil {
		return nil, err
	}
	exacts := make([][]*exact, len(r.plan.Blocks))
	for i, b := range r.plan.Blocks {
		if !b.Reads() {
			continue
		}
		var err error
		if exacts[i], err = parts(p, b); err != nil {
			return nil, err
		}
	}
	_, err := rows(p)
	return exacts, err
}

// unchanged reads the reply to the check of the schema.
func (r *reading) unchanged(p *pgconn.Pipeline) error {
	checked, err := rows(p)
	if err != nil {
		return orChanged(err)
	}
	if len(checked) != 1 || len(checked[0]) != 2 {
		return errRead
	}
	r.c.setMark(checked[0][1])
	return nil
}

// parts reads what was asked for a block.
func parts(p *pgconn.Pipeline, b *planner.BlockPlan) ([]*exact, error) {
	out := make([]*exact, len(b.Parts))
	for i, part := range b.Parts {
		var reads [][][][]byte
		for _, r := range part.Reads {
			read, err := rowsOf(p, r)
			if err != nil {
				return nil, err
			}
			reads = append(reads, read)
		}
		var err error
		if out[i], err = protect(part, reads); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rowsOf reads the rows of one read, and the replies to the settings around it.
func rowsOf(p *pgconn.Pipeline, r *planner.Read) ([][][]byte, error) {
	before, after := settingsOf(r)
	if err := done(p, len(before)); err != nil {
		return nil, err
	}
	read, err := rows(p)
	if err != nil {
		return nil, err
	}
	return read, done(p, len(after))
}

// done reads the replies to n statements that return no rows.
func done(p *pgconn.Pipeline, n int) error {
	for range n {
		if _, err := rows(p); err != nil {
			return err
		}
	}
	return nil
}

func rows(p *pgconn.Pipeline) ([][][]byte, error) {
	res, err := p.GetResults()
	if err != nil {
		return nil, err
	}
	reader, ok := res.(*pgconn.ResultReader)
	if !ok {
		return nil, errRead
	}
	read := reader.Read()
	return read.Rows, read.Err
}
