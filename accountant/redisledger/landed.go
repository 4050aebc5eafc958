package redisledger

import (
	"context"
	"fmt"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// A call can fail although its line has landed: too few replicas have said that they have it, or the server could not be
// reached again in time. Nothing is drawn for it then, so that its charge is prepaid for the same question.

// finishLanded finishes requests whose lines have been found in Redis. Of a server whose last write was in doubt, nobody can
// tell any more whether replicas have the lines, or whether they were synced.
func (l *Ledger) finishLanded(batch []*request, landed map[*request]uint64) (rest []*request) {
	for _, r := range batch {
		seq, ok := landed[r]
		switch {
		case !ok:
			rest = append(rest, r)
		case l.server.doubt != nil:
			if prepayable(r.entry) {
				l.undrawn = append(l.undrawn, seq)
			}
			r.finish(fmt.Errorf("%w: %w", accountant.ErrUnavailable, l.server.doubt))
		default:
			r.seq = seq
			r.finish(nil)
		}
	}
	return rest
}

// prepayable reports whether an entry pays for a question.
func prepayable(e history.Entry) bool {
	switch e := e.(type) { //nolint:gochecksumtype // the others pay for nothing
	case history.ChargeEntry:
		return e.Question != ""
	case history.HoldEntry:
		return e.Question != ""
	}
	return false
}

// abandon remembers the lines of charges that may land yet, or have landed, although their calls fail.
func (l *Ledger) abandon(sent map[string]*request) {
	for line, r := range sent {
		if r != nil && prepayable(r.entry) {
			l.abandoned[line] = true
		}
	}
}

// sayUndrawn records that nothing was drawn for charges that landed, and whose calls have failed. If that fails, it is tried
// before the next call.
func (l *Ledger) sayUndrawn(ctx context.Context) {
	for len(l.undrawn) > 0 {
		l.state.Try()
		d := &draft{at: l.at}
		for _, seq := range l.undrawn {
			e := history.UnansweredEntry{Charge: accountant.ChargeID(seq)}
			body, err := history.Prepare(l.boot, e)
			if err == nil {
				err = l.admit(d, l.boot, e, body)
			}
			if err == nil { // otherwise it has been said, or the run has ended
				d.owners = append(d.owners, nil)
			}
		}
		if len(d.lines) == 0 {
			l.state.Rollback()
			l.undrawn = nil
			return
		}
		missed, err := l.server.append(ctx, l.at, d.lines, d.at.head)
		if err != nil || missed != nil {
			l.state.Rollback()
		}
		switch {
		case err == nil && missed == nil:
			l.state.Keep()
			l.undrawn = nil
			err = l.keep(d, nil)
		case err == nil:
			_, err = l.absorb(missed, nil, nil)
		}
		if err != nil {
			return // the call behind it finds out the same
		}
	}
}
