package proxy

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"dpproxy/proxy/reader"
)

// This file lets paid reads go on after their clients have left. The client gets its reply at a point of the grid; the read goes
// on under its veil until it is over or the policy's limit ends it. Whoever asks the same waits for it.

// A client of a drawing attends it from the charge on.
type client struct {
	// cut ends when the client leaves, or when the read is over.
	cut   context.Context //nolint:containedctx // it is the client's patience
	uncut context.CancelFunc
	// timeoutFirst says that the session's own timeout is at no later point than the policy's limit.
	timeoutFirst bool

	mu      sync.Mutex
	endRead context.CancelCauseFunc // nil when the read is over
	gone    bool

	landed chan struct{} // closed when the veil is lifted; then these are final
	err    error
	defect any // of a panic
}

// fly has a drawing read and release on its own, and returns its client.
func (d *drawing) fly(ctx context.Context, reading *reader.Reading) *client {
	own, policy := d.pre.timeout, d.p.cfg.Defaults.Timeout
	c := &client{landed: make(chan struct{})}
	if own > 0 {
		_, first := d.veil.deadline(own, policy)
		c.timeoutFirst = errors.Is(first, reader.ErrTimeout)
	}
	c.cut, c.uncut = d.veil.cut(ctx, own, 0)
	limited, stopLimit := d.veil.cut(context.WithoutCancel(ctx), 0, policy)
	reads, endRead := context.WithCancelCause(limited)
	c.endRead = endRead
	stopping := context.AfterFunc(d.p.flights.Stopping(), func() { endRead(context.Canceled) }) //nolint:contextcheck // the proxy ends
	d.p.reads.Go(func() {
		defer close(c.landed)
		defer func() { d.land(ctx, c.err) }() // before its client knows, who may ask the same again
		defer c.recover(d)
		defer func() {
			if c.gone {
				d.p.flights.Return(d.analyst)
			}
		}()
		defer d.leave()
		defer c.recover(d)
		defer stopLimit()
		defer endRead(nil)
		defer stopping()
		defer c.hasRead() // also in a panic
		c.err = d.release(context.WithoutCancel(ctx), reads, reading, c.hasRead)
	})
	return c
}

// hasRead says that the read is over: how long the rest takes tells nothing more of it, and the client stays.
func (c *client) hasRead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endRead = nil
	c.uncut()
}

// leave has the client leave, and reports whether they do. Of a read that is over they get the reply. One that nobody could wait
// for, or that is one too many, ends with them.
func (c *client) leave(d *drawing, cause error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endRead == nil {
		return false
	}
	if len(d.keys) == 0 || !d.p.flights.Leave(d.analyst, d.p.cfg.LeftReads) {
		c.endRead(cause)
		return false
	}
	c.gone = true
	return true
}

// attend waits for the reply of a drawing, or until its client leaves it.
func (d *drawing) attend(c *client) error {
	select {
	case <-c.landed:
	case <-c.cut.Done():
		if cause := context.Cause(c.cut); c.leave(d, cause) {
			return d.stopped(cause)
		}
		<-c.landed
	}
	if c.defect != nil {
		panic(c.defect) //nolint:forbidigo // it was one
	}
	if d.watch.outcome == late && c.timeoutFirst {
		return d.stopped(reader.ErrTimeout)
	}
	return c.err
}

// stopped tells clients why their own end ended a statement that was charged: always the same of answers that can be
// remembered, whether the read goes on or not.
func (d *drawing) stopped(cause error) error {
	err := stopped(cause, d.payment.Receipt)
	if _, over := errors.AsType[*reader.LimitError](cause); over || len(d.keys) == 0 {
		return err
	}
	return err.WithHint("Ask the same again: it waits for this read, if that goes on, and is shown its answer.")
}

// recover keeps a defect for the client's session, or has it logged where there is none any more.
func (c *client) recover(d *drawing) {
	defect := recover()
	if defect == nil {
		return
	}
	const deepest = 32
	callers := make([]uintptr, deepest)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	var stack []string
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		stack = append(stack, fmt.Sprintf("%s:%d", f.Function, f.Line))
	}
	d.p.cfg.Log.Error("a read was ended by a defect", "stack", stack)
	c.defect = defect
}
