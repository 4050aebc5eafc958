package proxy

import (
	"context"
	"errors"

	"dpproxy/catalog"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// open takes a session for what a plan reads, lets the veil fall, and has all of it planned. It
// returns at the moment of the charge. What fails here has read no row: it costs nothing, and
// nobody is blamed.
func (a *answer) open(ctx context.Context, plan *planner.Plan, pre *prelude, v *veil) (*reader.Reading, error) {
	r, err := a.p.reader.Open(ctx, a.analyst, plan, pre.timeout)
	if cut, ok := errors.AsType[*reader.CutError](err); ok {
		return nil, stopped(cut.By, nil)
	}
	if err != nil {
		return nil, err
	}
	v.then(r.Close)
	v.fall()
	if err := a.bind(ctx, r, pre, v); err != nil {
		return nil, err
	}
	if err := v.charge(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// bind has a reading planned, until the statement is cut.
func (a *answer) bind(ctx context.Context, r *reader.Reading, pre *prelude, v *veil) error {
	cut, done := v.cut(ctx, pre.timeout)
	defer done()
	err := r.Bind(cut, pre.values, a.p.policy.Load().defaults.Timeout)
	if cause, ok := errors.AsType[*reader.CutError](err); ok {
		return v.stopped(cause.By, nil)
	}
	return err
}

// read executes a reading, until the statement is cut. The cut ends nothing that comes behind:
// how far that is would be told by what it has left.
func (a *answer) read(ctx context.Context, r *reader.Reading, pre *prelude, v *veil, charged *receipt) ([][]*reader.Exact, error) {
	cut, done := v.cut(ctx, pre.timeout)
	defer done()
	exacts, err := r.Read(cut, a.p.policy.Load().defaults.Timeout)
	if cause, ok := errors.AsType[*reader.CutError](err); ok {
		return nil, v.stopped(cause.By, charged)
	}
	if err != nil {
		a.p.cfg.Log.Warn("a read of protected data failed", "analyst", a.analyst, "shape", r.Shape())
		return nil, readFailed()
	}
	return exacts, nil
}

// checkSchema refuses a statement about something that is off, also where that makes it
// wrong: what Postgres or the planner would say of it is of no use then.
func (a *answer) checkSchema(analysed *analysed) error {
	var names []catalog.Name
	for _, t := range a.text.stmt.Protected {
		names = append(names, tableName(t))
	}
	if analysed.err == nil {
		names = append(names, analysed.query.Relations()...)
	}
	if t, off := a.p.cfg.Data.TurnedOff(names); off {
		return reader.SchemaChanged(t)
	}
	return nil
}
