package proxy

import (
	"context"
	"errors"

	"dpproxy/proxy/reader"
)

// open takes a session for a plan's reads. A failure here has read no row: it costs nothing, and nobody is blamed.
func (d *drawing) open(ctx context.Context) (*reader.Reading, error) {
	d.enter(stepOpen)
	r, err := d.p.reader.Open(ctx, d.analyst, d.plan, d.pre.timeout)
	if cut, ok := errors.AsType[*reader.CutError](err); ok {
		return nil, stopped(cut.By, nil)
	}
	return r, err
}

// bind has a reading planned, until the statement is cut.
func (d *drawing) bind(ctx context.Context, r *reader.Reading) error {
	cut, done := d.veil.cut(ctx, d.pre.timeout, 0)
	defer done()
	err := r.Bind(cut, d.pre.values, d.p.cfg.Defaults.Timeout)
	if cause, ok := errors.AsType[*reader.CutError](err); ok {
		return d.veil.stopped(cause.By)
	}
	return err
}

// read executes a reading until ctx ends, at a point of the grid. That ends nothing
// that comes behind: how far that is would be told by the rest.
func (d *drawing) read(ctx context.Context, r *reader.Reading) ([][]*reader.Exact, error) {
	d.enter(stepRead)
	exacts, err := r.Read(ctx, d.p.cfg.Source)
	if err == nil {
		return exacts, nil
	}
	if cause, ok := errors.AsType[*reader.CutError](err); ok {
		d.watch.cut(cause.By)
		d.veil.ended = true
		return nil, d.stopped(cause.By)
	}
	if lost, ok := errors.AsType[*reader.InterruptedError](err); ok && d.watch.interrupted(lost) {
		return nil, interrupted()
	}
	if failed, ok := errors.AsType[*reader.FailedError](err); ok {
		d.watch.incident.Class = failed.Class
	}
	return nil, readFailed()
}
