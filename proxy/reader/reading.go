package reader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/mechanisms"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/steady"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/scalar"
)

// A Reading is one transaction on the protected database, with the steps of package steady in two exchanges. The first exchange comes
// before the charge. It locks the tables against changes of their schema, and compares the schema with the catalogue's in the snapshot of
// the reads. It plans the reads, checks that they were planned with the same schema, and executes none of them. The second exchange
// executes the reads.
type Reading struct {
	c    *connection
	plan *planner.Plan
	// settledAt is the place of the last check among the statements of the first exchange.
	settledAt int
	// countedAt is the place of the first count of public rows there.
	countedAt int
	// commit is the name of the statement that ends the transaction.
	commit string
	// values are the values of constants; memory is how many bytes the rows of one read may take.
	values []scalar.Value
	memory int
}

// Shape names the shape of the statement.
func (r *Reading) Shape() string { return r.plan.Shape }

// Close gives the session back, and its place to the next statement.
func (r *Reading) Close() { r.c.release() }

// SettingsOf lists the statements before and after the planning of a read. They depend on the plan alone.
func SettingsOf(r *planner.Read) (before, after []string) {
	set := func(name, value string) {
		before, after = append(before, "SET LOCAL "+name+" = "+value), append(after, "SET LOCAL "+name+" TO DEFAULT")
	}
	if r.Ordered {
		set("enable_hashagg", "off")
	}
	if r.Joins.Ordered {
		set("join_collapse_limit", "1")
	}
	if r.Joins.Scanned {
		set("enable_nestloop", "off")
	}
	return before, after
}

// reads lists the statements of all grouping sets, in order.
func (r *Reading) reads() []*planner.Read {
	var all []*planner.Read
	for _, b := range r.plan.Blocks {
		if b.Reads() {
			for _, p := range b.Sets {
				all = append(all, p.Reads...)
			}
		}
	}
	return all
}

func portal(i int) string { return "r" + strconv.Itoa(i) }

// listsPortal is the portal of the lists of a read.
func listsPortal(i int) string { return "l" + strconv.Itoa(i) }

func (r *Reading) params(st planner.Statement) (params [][]byte, formats []int16) {
	for _, p := range st.Params {
		value, format := []byte(p.Text), int16(0)
		switch p.Kind {
		case planner.FoldParam:
			value = r.values[p.Fold].Bytes
			if r.values[p.Fold].Binary {
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

// checkAt is the place of the check of the schema among the statements of the first exchange, after BEGIN and LOCK.
const checkAt = 2

// Bind is the first exchange. The policy's limit bounds its time. Its error is for the client.
//
// A session that is found dead, or says nothing, is replaced by another session: nothing has been done yet.
func (r *Reading) Bind(ctx context.Context, values []scalar.Value, policy time.Duration) error {
	r.values = values
	err := r.tryBind(ctx, policy)
	for range r.c.data.sessions {
		if !errors.Is(err, errDead) {
			return err
		}
		if err := r.c.replace(ctx, r.plan); err != nil {
			return openError(ctx, err)
		}
		err = r.tryBind(ctx, policy)
	}
	if errors.Is(err, errDead) {
		return unreached()
	}
	return err
}

// errDead says that a session has not answered at all.
var errDead = errors.New("reader: a session is dead")

func unreached() error { return unavailable("the protected database cannot be reached") }

// tryBind is the first exchange on one session.
func (r *Reading) tryBind(ctx context.Context, policy time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, policy, errRead)
	defer cancel()
	ctx, silence := context.WithCancelCause(ctx)
	defer silence(nil)
	silent := r.c.silent(func() { silence(errRead) })
	defer silent.Clear()
	q, prepared := r.planning()
	r.c.spoiled = true // also in a panic
	results, err := q.exchange(ctx, r.c.conn.Conn().PgConn(), silent.Clear)
	cause := context.Cause(ctx) // before time passes that could turn a failure into a timeout
	r.c.spoiled = cause != nil
	if len(results) > checkAt {
		r.c.setMark(results[checkAt][0][1])
	}
	if err == nil && cause == nil {
		r.c.setPrepared(prepared)
		return nil
	}
	var refused *pgconn.PgError
	switch {
	case cause != nil && !errors.Is(cause, errRead):
		return &CutError{By: cause}
	case len(results) == 0:
		r.c.spoiled = true
		return errDead
	case cause != nil || !errors.As(err, &refused):
		r.c.spoiled = true
		return unreached()
	case refused.Code == insufficientPrivilege:
		return pgerr.New(pgerr.DataUnavailable, "dpproxy may not read the protected tables of this statement").
			WithHint("Nothing was charged. The administrator must grant the right: dpproxy check prints what is lacking.")
	case (len(results) == checkAt || len(results) == r.settledAt) && refused.Code == introspect.NotUnchanged:
		return r.explainChange(ctx, policy)
	case len(results) >= r.countedAt && len(results) < r.countedAt+len(r.plan.Counts) && refused.Code == introspect.NotUnchanged:
		return r.errMore(r.plan.Counts[len(results)-r.countedAt])
	case len(results) > checkAt && !passing(refused.Code):
		return fmt.Errorf("reader: the protected database does not plan a statement of shape %s: SQLSTATE %s", r.plan.Shape, refused.Code)
	}
	return unavailable("the protected database does not take the statement now")
}

// insufficientPrivilege is the SQLSTATE of a missing right, whatever the rows are.
const insufficientPrivilege = "42501"

// someMemory gives the transaction a random part of the role's work_mem, three quarters or more. A sort or a hash table that no longer fits
// is written to disk at once. Nobody knows at how many rows this happens, so the time does not reveal whether one more row is there.
const someMemory = "SELECT pg_catalog.set_config('work_mem', CAST(GREATEST(64, CAST(pg_catalog.pg_size_bytes(" +
	"pg_catalog.current_setting('work_mem')) / 1024 * (0.75 + pg_catalog.random() / 4) AS pg_catalog.int8)) AS pg_catalog.text), true)"

// planning returns the requests of the first exchange, and the statements that the session has prepared after it.
func (r *Reading) planning() (*requests, *prepared) {
	q, has := &requests{}, r.c.prepared().forNext()
	run := func(sql string, params ...[]byte) { q.runPrepared(has.name(q, planned{sql: sql}), params...) }
	run(steady.Begin)
	q.flush() // the session is alive, whatever it waits for from here on
	run(r.c.checks.lock)
	run(r.c.checks.unchanged, r.c.mark())
	// From here on, each statement is planned for its constants each time, as if it were not prepared. The check above is not.
	run("SET LOCAL plan_cache_mode = force_custom_plan")
	run(someMemory)
	for i, read := range r.reads() {
		if read.Lists != nil {
			r.binds(q, listsPortal(i), has.name(q, planned{sql: read.Lists.SQL}), *read.Lists, true)
		}
		r.plans(q, has, portal(i), read, read.SQL)
	}
	r.settledAt = q.executions()
	run(r.c.checks.settled)
	r.countedAt = q.executions()
	for _, c := range r.plan.Counts {
		params, formats := r.params(c.Statement)
		q.bind("", has.name(q, planned{sql: c.SQL}), params, formats, nil)
		q.execute("")
	}
	r.commit = has.name(q, planned{sql: "COMMIT"})
	return q, has
}

// plans adds requests that plan a read, as a statement, and bind it to a portal.
func (r *Reading) plans(q *requests, has *prepared, portal string, read *planner.Read, sql string) {
	before, after := SettingsOf(read)
	name := has.name(q, planned{sql, strings.Join(before, ";")})
	for _, sql := range before {
		q.runPrepared(has.name(q, planned{sql: sql}))
	}
	r.binds(q, portal, name, read.Statement, read.Fold != nil)
	for _, sql := range after {
		q.runPrepared(has.name(q, planned{sql: sql}))
	}
}

// binds adds a request that binds a prepared statement to a portal. Its results are in the form of package fold, or texts.
func (r *Reading) binds(q *requests, portal, name string, st planner.Statement, folded bool) {
	params, formats := r.params(st)
	var results []int16
	if folded {
		results = []int16{1}
	}
	q.bind(portal, name, params, formats, results)
}

// passing reports whether an error is due to the state of the database: it lacks something, a lock is held, somebody intervened, or the
// system failed.
func passing(sqlstate string) bool {
	switch sqlstate[:2] {
	case "08", "40", "53", "55", "57", "58":
		return true
	}
	return false
}

// errRead is the cause of the end of a reading that takes longer than the policy allows.
var errRead = errors.New("reader: the read of protected data takes too long")

// ErrTimeout says that the session's own statement_timeout ended a statement.
var ErrTimeout = errors.New("reader: statement timeout")

// A LimitError says that the policy's limit for one read ended a statement.
type LimitError struct{ Limit time.Duration }

// Error implements error.
func (*LimitError) Error() string { return "reader: the limit of a read" }

// A CutError says that the statement was cut, at a point of the grid.
type CutError struct{ By error }

// Error implements error.
func (e *CutError) Error() string { return e.By.Error() }

// Read is the second exchange, after the charge. It returns the exact aggregates of each grouping set of each block, with the private
// partitions that selection keeps.
//
// If ctx has ended, its error is a *CutError with the cause. If the read was interrupted, its error is an *InterruptedError. Any other
// error may depend on protected rows, and is a *FailedError, whose class is for the administrator alone.
func (r *Reading) Read(ctx context.Context, src mechanisms.Source) ([][]*Exact, error) {
	r.c.spoiled = true // also in a panic
	sets := r.collectors(src)
	err := r.collect(ctx, sets)
	cause := context.Cause(ctx)
	r.c.spoiled = err != nil || cause != nil
	if err == nil {
		var exacts [][]*Exact
		if exacts, err = r.exacts(sets); err == nil {
			return exacts, nil
		}
	}
	if cause != nil {
		return nil, &CutError{By: cause}
	}
	err = failure(err)
	if broken, ok := errors.AsType[*InterruptedError](err); ok && broken.Suspect {
		// The same event may end the other sessions a moment later, so later reads get new sessions.
		r.c.data.pool.Reset()
	}
	return nil, err
}

// A batch has reads that are executed together.
type batch struct {
	requests
	takes []taker
	folds []*folding
}

// batches returns the reads in the order of the portals. The first read of a grouping set decides by selection which private partitions are
// kept. The set's other reads come in a second batch.
func (r *Reading) batches(ctx context.Context, sets []*Collector) (all [2]batch) {
	n := 0
	for _, c := range sets {
		for i, read := range c.set.Reads {
			to := &all[0]
			if i > 0 && c.set.Private() {
				to = &all[1]
			}
			if read.Fold == nil {
				to.takes = append(to.takes, taker{take: func(row [][]byte) error { return c.parse(i, row) }})
			} else {
				f := newFolding(read, r.c.data.secret, r.memory, func(row planner.Row) error { return c.Take(i, row) })
				if read.Lists != nil {
					to.execute(listsPortal(n))
					to.takes = append(to.takes, taker{take: f.List})
				}
				to.takes, to.folds = append(to.takes, f.taker(ctx)), append(to.folds, f)
			}
			to.execute(portal(n))
			n++
		}
	}
	return all
}

// drop abandons unfinished folds.
func (b *batch) drop() {
	for _, f := range b.folds {
		f.Drop()
	}
}

// collect executes all reads, and ends the transaction.
func (r *Reading) collect(ctx context.Context, sets []*Collector) error {
	all := r.batches(ctx, sets)
	last := &all[1]
	if len(last.requests) == 0 {
		last = &all[0]
	}
	if last.folds == nil {
		last.runPrepared(r.commit)
	}
	for i := range all {
		defer all[i].drop()
		if err := r.executeBatch(ctx, &all[i]); err != nil {
			return err
		}
	}
	if last.folds == nil {
		return nil
	}
	q := &requests{}
	q.runPrepared(r.commit)
	return r.execute(ctx, q, nil)
}

// executeBatch executes reads, and reads rows once more if a fold asks for it.
func (r *Reading) executeBatch(ctx context.Context, b *batch) error {
	if len(b.requests) == 0 {
		return nil
	}
	if err := r.execute(ctx, &b.requests, b.takes); err != nil {
		return err
	}
	for _, f := range b.folds {
		for f.again {
			if err := r.readByUnit(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// readByUnit reads the rows once more, in the order of units.
func (r *Reading) readByUnit(ctx context.Context, f *folding) error {
	q, has := r.planningByUnit(f.read)
	takes := append(make([]taker, q.executions()), f.taker(ctx))
	q.execute(byUnitPortal)
	q.closePortal(byUnitPortal)
	if err := r.execute(ctx, q, takes); err != nil {
		return err
	}
	r.c.setPrepared(has)
	return nil
}

const byUnitPortal = "u"

// planningByUnit returns the requests that come before the rows of a read in the order of units. The read is planned in its transaction,
// and the schema is compared after the planning, as it was after the first planning: locks do not exclude a new partition.
func (r *Reading) planningByUnit(read *planner.Read) (*requests, *prepared) {
	q, has := &requests{}, r.c.prepared().forNext()
	r.plans(q, has, byUnitPortal, read, read.ByUnit())
	q.runPrepared(has.name(q, planned{sql: r.c.checks.settled}))
	return q, has
}

// execute executes all requests.
func (r *Reading) execute(ctx context.Context, q *requests, takes []taker) error {
	results, err := q.exchange(ctx, r.c.conn.Conn().PgConn(), nil, takes...)
	if err == nil && len(results) < q.executions() {
		err = errRead
	}
	return err
}

// collectors returns the collectors of all grouping sets that are read, in order.
func (r *Reading) collectors(src mechanisms.Source) (all []*Collector) {
	for _, b := range r.plan.Blocks {
		if b.Reads() {
			for _, set := range b.Sets {
				all = append(all, NewCollector(set, src))
			}
		}
	}
	return all
}

// exacts puts the collected aggregates in their places.
func (r *Reading) exacts(collected []*Collector) ([][]*Exact, error) {
	exacts := make([][]*Exact, len(r.plan.Blocks))
	for i, b := range r.plan.Blocks {
		if !b.Reads() {
			continue
		}
		for range b.Sets {
			exact, err := collected[0].Exact()
			if err != nil {
				return nil, err
			}
			exacts[i], collected = append(exacts[i], exact), collected[1:]
		}
		AddUp(exacts[i])
	}
	return exacts, nil
}

// AddUp gives partitions to the sets of a block that are sums of the finest set.
func AddUp(block []*Exact) {
	for _, e := range block {
		if totals := e.set.Totals(); totals != nil {
			finest := slices.IndexFunc(block, func(o *Exact) bool { return o.set == totals.Of })
			e.addUp(block[finest])
		}
	}
}

func unavailable(what string) error {
	return pgerr.New(pgerr.DataUnavailable, "%s", what).WithHint(nothingCharged)
}
