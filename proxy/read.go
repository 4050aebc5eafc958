package proxy

import (
	"context"
	"errors"

	"dpproxy/proxy/reader"
)

// open takes a session for a plan's reads, lets the veil fall, and has all of them planned. It
// returns at the moment of the charge. A failure here has read no row: it costs nothing, and
// nobody is blamed.
func (d *drawing) open(ctx context.Context) (*reader.Reading, error) {
	d.enter(stepOpen)
	r, err := d.p.reader.Open(ctx, d.analyst, d.plan, d.pre.timeout)
	if cut, ok := errors.AsType[*reader.CutError](err); ok {
		return nil, stopped(cut.By, nil)
	}
	if err != nil {
		return nil, err
	}
	d.began = d.p.incidents.begin()
	d.veil.then(r.Close)
	d.veil.fall()
	if err := d.bind(ctx, r); err != nil {
		return nil, err
	}
	if err := d.veil.charge(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// bind has a reading planned, until the statement is cut.
func (d *drawing) bind(ctx context.Context, r *reader.Reading) error {
	cut, done := d.veil.cut(ctx, d.pre.timeout, 0)
	defer done()
	err := r.Bind(cut, d.pre.values, d.p.cfg.Defaults.Timeout)
	if cause, ok := errors.AsType[*reader.CutError](err); ok {
		return d.veil.stopped(cause.By, nil)
	}
	return err
}

// read executes a reading, until the statement is cut, at the latest by the policy's limit. The cut ends nothing
// that comes behind: how far that is would be told by the rest.
func (d *drawing) read(ctx context.Context, r *reader.Reading) ([][]*reader.Exact, error) {
	d.enter(stepRead)
	cut, done := d.veil.cut(ctx, d.pre.timeout, d.p.cfg.Defaults.Timeout)
	defer done()
	exacts, err := r.Read(cut)
	if err == nil {
		return exacts, nil
	}
	if cause, ok := errors.AsType[*reader.CutError](err); ok {
		d.watch.cut(cause.By)
		return nil, d.veil.stopped(cause.By, d.payment.Receipt)
	}
	if lost, ok := errors.AsType[*reader.InterruptedError](err); ok && d.watch.interrupted(lost) {
		return nil, interrupted()
	}
	if failed, ok := errors.AsType[*reader.FailedError](err); ok {
		d.watch.incident.Class = failed.Class
	}
	return nil, readFailed()
}
