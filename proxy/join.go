package proxy

import (
	"context"
	"errors"
	"time"

	"dpproxy/answers"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/proxy/flight"
	"dpproxy/proxy/reader"
	"dpproxy/wire"
)

// This file has statements wait for another one that draws the same: the remembered answer is theirs too.

// waited is a drawing of another statement.
type waited interface {
	// Wait waits until it has ended, and tells how. Its error is the cause of the end of ctx.
	Wait(ctx context.Context) (flight.Ending, error)
}

// patience is how long a statement waits for others.
func (p *prelude) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return patience(ctx, p.timeout)
}

// patience ends a context at a statement_timeout, of which 0 is none.
func patience(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, timeout, reader.ErrTimeout)
}

// claim begins the flight of a drawing, unless another one draws the same, in this process or in one that shares the
// memory: it returns that. It returns errAgain where the same was released meanwhile.
func (d *drawing) claim(ctx context.Context) (other waited, err error) {
	if len(d.keys) == 0 {
		return nil, nil
	}
	mine, theirs := d.p.flights.Begin(d.keys)
	if theirs != nil {
		return theirs, nil
	}
	d.flight = mine
	d.claimed, err = d.p.memory.Claim(ctx, d.keys)
	held, elsewhere := errors.AsType[*answers.HeldError](err)
	switch {
	case elsewhere:
		d.land(ctx, nil)
		return away{d.p.flights, held}, nil
	case errors.Is(err, answers.ErrReleased):
		return nil, errAgain
	case err != nil:
		d.p.cfg.Log.Warn("other proxies may draw the same answer", "cause", err)
	}
	return nil, nil
}

// away is a drawing of another process.
type away struct {
	board *flight.Board
	held  *answers.HeldError
}

// Wait implements waited. One statement of this process waits for the other process, and all others for that one.
func (a away) Wait(ctx context.Context) (how flight.Ending, err error) {
	mine, other := a.board.Begin([]answers.Key{a.held.Key})
	if other != nil {
		return other.Wait(ctx)
	}
	defer func() { mine.End(how) }()
	word, err := a.held.Wait(ctx)
	return flight.Ending(word), err
}

// await waits for another drawing of the same, and says how the statement goes on: it looks again, or is refused as the
// other one was.
func await(ctx context.Context, p *Proxy, other waited) error {
	how, err := other.Wait(ctx)
	if err != nil {
		return stopped(err, nil)
	}
	return refusedAs(how, p.cfg.Defaults.Timeout)
}

// refusedAs is the refusal of a statement that has waited for a drawing that has ended so.
func refusedAs(how flight.Ending, limit time.Duration) error {
	switch how {
	case flight.Landed:
		return errAgain
	case flight.Interrupted:
		return interrupted().WithDetail("%s", waitedInVain).WithHint("Ask the same statement again.")
	case flight.TooLong:
		return tooLong(limit).WithDetail("%s", waitedInVain)
	case flight.Unavailable:
		return pgerr.New(pgerr.DataUnavailable, "the protected database does not take the statement now").
			WithHint("Nothing was charged. Try again later.")
	case flight.Unrecorded:
		return unpaidRound(nil).WithDetail("%s", waitedInVain)
	case flight.Failed:
	}
	return readFailed().WithDetail("%s", waitedInVain)
}

// waitedInVain is the detail of such a refusal.
const waitedInVain = "The statement waited for the read of another one that asked the same. Nothing was charged for it."

// land ends the flight of a drawing that returns err, also where ctx has ended.
func (d *drawing) land(ctx context.Context, err error) {
	how := d.ending(err)
	if d.claimed != nil {
		d.claimed.End(context.WithoutCancel(ctx), string(how))
	}
	d.flight.End(how)
	d.claimed, d.flight = nil, nil
}

// ending is how a drawing has ended for those who wait for it.
func (d *drawing) ending(err error) flight.Ending {
	if d.watch == nil { // nothing was charged
		if own, ok := errors.AsType[*pgerr.Error](err); ok && own.Code == pgerr.DataUnavailable {
			return flight.Unavailable
		}
		return flight.Landed
	}
	switch d.watch.outcome {
	case gone:
		return flight.Landed
	case unanswered:
		return flight.Interrupted
	case late:
		return flight.TooLong
	case drawn:
		if err == nil {
			return flight.Landed
		}
		return flight.Unrecorded
	case failed:
	}
	return flight.Failed
}

// agreed plans a statement that uses results, with all its bindings, and refuses one that is not wanted or not covered. While others draw a
// part of it, it waits, and is planned anew: that part costs nothing then.
func agreed(ctx context.Context, e *execution, let *parser.Let, m *wire.Asker, b wire.BindRequest) (*evaluation, error) {
	present := false
	for {
		s := newEvaluation(e, let, m, b, false)
		s.part.present = present
		if err := s.planAll(ctx, m, nil); err != nil {
			return nil, err
		}
		if s.mixes() {
			present = true
			continue
		}
		consented, err := wants(ctx, s.execution, s.body.pre, s.bills...)
		if err != nil {
			return nil, err
		}
		if f := s.p.flights.Find(s.keys); f != nil {
			patience, stop := s.body.pre.patience(ctx)
			err = await(patience, s.p, f)
			stop()
		} else if err = s.p.cashier.Covered(ctx, s.bills...); err == nil {
			return s, nil
		} else {
			err = reserveError(s.body.bill, err)
		}
		if consented != nil {
			s.p.consents.show(s.analyst, s.part.whole, consented)
		}
		if !errors.Is(err, errAgain) {
			return nil, err
		}
	}
}
