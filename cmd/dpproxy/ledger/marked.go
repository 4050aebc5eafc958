package ledger

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/witness"
	"dpproxy/cmd/dpproxy/site"
)

// A Marked ledger is open to be charged. It is marked by the clock until its end, and charges only as long as it is marked.
type Marked struct {
	recorder

	marks *witness.Witness
	log   *slog.Logger
	// stop ends the marks by the clock, and closePlaces the sessions with their places.
	stop        func()
	closePlaces func(context.Context)
}

// Open opens the ledger to be charged, if it is the latest, and marks it. The site, for whose mirror marks are, is asked for again
// and again; await is called once the ledger has nothing to say, before its marks are read.
func Open(
	ctx context.Context, b *Books, log *slog.Logger, current func() *site.Site, await func(context.Context) error,
) (*Marked, error) {
	marks, closePlaces := openWitness(b, log, current)
	var away error // of the databases, not of the ledger
	ledger, err := b.openLedger(ctx, log, func(ctx context.Context, p history.Past) error {
		if away = await(ctx); away != nil {
			return away
		}
		if _, err := marks.Alone(ctx, p.Ledger); err != nil {
			return err
		}
		return marks.Confirm(ctx, p)
	})
	if err != nil {
		closePlaces(ctx)
		return nil, cmp.Or(away, err)
	}
	if err := marks.Mark(ctx, ledger); err != nil {
		closePlaces(ctx)
		return nil, errors.Join(err, ledger.Close())
	}
	ticking, stop := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		markByClock(ticking, marks, ledger)
	}()
	return &Marked{recorder: ledger, marks: marks, log: log, closePlaces: closePlaces, stop: func() {
		stop()
		<-stopped
	}}, nil
}

// End marks the ledger a last time, and closes it.
func (l *Marked) End(ctx context.Context) error {
	l.stop()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
	defer cancel()
	if err := l.marks.Mark(last, l.recorder); err != nil {
		l.log.Error("the ledger was not marked at its end", "cause", err)
	}
	l.closePlaces(ctx)
	return l.Close()
}

// Charge implements [accountant.Ledger], as long as the ledger is marked.
func (l *Marked) Charge(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	if err := l.marks.Err(); err != nil {
		return 0, err
	}
	return l.recorder.Charge(ctx, c)
}

// Hold implements [accountant.Ledger], as long as the ledger is marked.
func (l *Marked) Hold(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	if err := l.marks.Err(); err != nil {
		return 0, err
	}
	return l.recorder.Hold(ctx, c)
}

// Survey records a survey, as long as the ledger is marked.
func (l *Marked) Survey(ctx context.Context, s accountant.Survey) error {
	if err := l.marks.Err(); err != nil {
		return err
	}
	return l.recorder.Survey(ctx, s)
}

// markByClock marks the ledger until the context ends. Ticks are at moments of the clock, however long one takes.
func markByClock(ctx context.Context, w *witness.Witness, l witness.Ledger) {
	interval := w.Interval()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.Tick(ctx, l)
			if now := w.Interval(); now != interval {
				interval = now
				tick.Reset(now)
			}
		}
	}
}
