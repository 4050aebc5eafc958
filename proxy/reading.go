package proxy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/scalar"
)

// A reading is one transaction on the protected database, in two exchanges. The first locks
// the tables against changes of their schema, compares it with the catalogue's in the snapshot
// of the reads, and plans the reads: it executes none of them, and comes before the charge. The
// second executes them.
type reading struct {
	c    *connection
	plan *planner.Plan
}

// open takes a session for what a plan reads, lets the veil fall, and has all of it planned. It
// returns at the moment of the charge. What fails here has read no row: it costs nothing, and
// nobody is blamed.
func (a *answer) open(ctx context.Context, plan *planner.Plan, pre *prelude, v *veil) (*reading, error) {
	c, err := a.acquire(ctx, plan, pre.timeout)
	if err != nil {
		return nil, err
	}
	v.then(c.release)
	v.fall()
	r := &reading{c: c, plan: plan}
	if err := a.bind(ctx, r, pre, v); err != nil {
		return nil, err
	}
	if err := v.charge(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// bind has a reading planned, until the statement is cut.
func (a *answer) bind(ctx context.Context, r *reading, pre *prelude, v *veil) error {
	cut, done := v.cut(ctx, pre.timeout)
	defer done()
	err := r.bind(cut, pre.values, a.p.policy.Load().defaults.Timeout)
	if cause, ok := errors.AsType[*cutError](err); ok {
		return v.stopped(cause.by, nil)
	}
	return err
}

// read executes a reading, until the statement is cut. The cut ends nothing that comes behind:
// how far that is would be told by what it has left.
func (a *answer) read(ctx context.Context, r *reading, pre *prelude, v *veil, charged *receipt) ([][]*exact, error) {
	cut, done := v.cut(ctx, pre.timeout)
	defer done()
	exacts, err := r.read(cut, a.p.policy.Load().defaults.Timeout)
	if cause, ok := errors.AsType[*cutError](err); ok {
		return nil, v.stopped(cause.by, charged)
	}
	if err != nil {
		a.p.cfg.Log.Warn("a read of protected data failed", "analyst", a.analyst, "shape", r.plan.Shape)
		return nil, readFailed()
	}
	return exacts, nil
}

// settingsOf lists the statements before and after a read is planned. They depend on the plan
// alone.
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

func portal(i int) string { return "r" + strconv.Itoa(i) }

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

// checkAt is the place of the check of the schema among what the first exchange executes,
// behind BEGIN and LOCK.
const checkAt = 2

// bind is the first exchange. The policy's limit bounds its time; its error is what the client
// is told.
func (r *reading) bind(ctx context.Context, values []scalar.Value, policy time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, policy, errRead)
	defer cancel()
	q := &requests{}
	q.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	q.run(r.c.data.lockSQL(r.plan))
	q.runPrepared(r.c.unchanged, r.c.mark())
	for i, read := range r.reads() {
		before, after := settingsOf(read)
		for _, sql := range before {
			q.run(sql)
		}
		params, formats := r.params(read, values)
		q.bind(portal(i), read.SQL, params, formats)
		for _, sql := range after {
			q.run(sql)
		}
	}
	r.c.spoiled = true // also in a panic
	results, err := q.exchange(ctx, r.c.conn.Conn().PgConn())
	cause := context.Cause(ctx) // before time passes that could turn a failure into a timeout
	r.c.spoiled = cause != nil
	if len(results) > checkAt {
		r.c.setMark(results[checkAt][0][1])
	}
	if err == nil && cause == nil {
		return nil
	}
	var refused *pgconn.PgError
	switch {
	case cause != nil && !errors.Is(cause, errRead):
		return &cutError{cause}
	case cause != nil || !errors.As(err, &refused):
		r.c.spoiled = true
		return unavailable("the protected database cannot be reached")
	case len(results) == checkAt:
		if err := orChanged(err); errors.Is(err, errChanged) {
			return r.explainChange(ctx, policy)
		}
	case len(results) > checkAt && !passing(refused.Code):
		return fmt.Errorf("proxy: the protected database does not plan a statement of shape %s: SQLSTATE %s", r.plan.Shape, refused.Code)
	}
	return unavailable("the protected database does not take the statement now")
}

// passing reports whether an error is of the state of the database: it lacks something, a lock
// is held, somebody intervened, or the system failed.
func passing(sqlstate string) bool {
	switch sqlstate[:2] {
	case "08", "40", "53", "55", "57", "58":
		return true
	}
	return false
}

// errRead is the only thing that is told of a failed read.
var errRead = errors.New("proxy: the read of protected data failed")

// errTimeout says that the session's own statement_timeout ended a statement.
var errTimeout = errors.New("proxy: statement timeout")

// cutError says that the statement was cut, at a point of the grid.
type cutError struct{ by error }

// Error implements error.
func (e *cutError) Error() string { return e.by.Error() }

// read is the second exchange, behind the charge. It returns the exact aggregates of each part
// of each block.
//
// The policy's limit bounds its time. The cause of a failure is discarded here: it may depend
// on protected rows. Only that ctx ended is told, with its cause, as a *cutError.
func (r *reading) read(ctx context.Context, policy time.Duration) ([][]*exact, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, policy, errRead)
	defer cancel()
	q := &requests{}
	for i := range r.reads() {
		q.execute(portal(i))
	}
	q.run("COMMIT")
	r.c.spoiled = true // also in a panic
	results, err := q.exchange(bounded, r.c.conn.Conn().PgConn())
	cause := context.Cause(ctx)
	r.c.spoiled = err != nil || context.Cause(bounded) != nil
	if err == nil {
		var exacts [][]*exact
		if exacts, err = r.results(results); err == nil {
			return exacts, nil
		}
	}
	if cause != nil {
		return nil, &cutError{cause}
	}
	return nil, errRead
}

// results puts what was read in its places.
func (r *reading) results(results [][][][]byte) ([][]*exact, error) {
	exacts := make([][]*exact, len(r.plan.Blocks))
	for i, b := range r.plan.Blocks {
		if !b.Reads() {
			continue
		}
		exacts[i] = make([]*exact, len(b.Parts))
		for j, part := range b.Parts {
			n := len(part.Reads)
			if n > len(results) {
				return nil, errRead
			}
			var err error
			if exacts[i][j], err = protect(part, results[:n]); err != nil {
				return nil, err
			}
			results = results[n:]
		}
	}
	return exacts, nil
}

func unavailable(what string) error {
	return pgerr.New(pgerr.DataUnavailable, "%s", what).WithHint(nothingCharged)
}
