package redisledger

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

const (
	firstPause = 5 * time.Millisecond // before trying again
	lastPause  = 500 * time.Millisecond
)

// commitLoop serves requests until Close.
func (l *Ledger) commitLoop() {
	defer close(l.stopped)
	for range l.kick {
		l.serveQueue()
	}
	l.serveQueue()
}

func (l *Ledger) serveQueue() {
	for {
		batch := l.takeBatch()
		if len(batch) == 0 {
			return
		}
		l.serve(batch)
	}
}

// takeBatch takes as many requests as one call can append.
func (l *Ledger) takeBatch() []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.queue), maxBatch)
	batch := l.queue[:n:n]
	l.queue = l.queue[n:]
	return batch
}

// serve finishes every request of a batch. It tries again while the outcome is
// not known, for as long as the patience lasts.
func (l *Ledger) serve(batch []*request) {
	ctx, cancel := context.WithTimeout(context.Background(), l.server.patience)
	defer cancel()
	sent := map[string]*request{} // by calls of unknown outcome
	pause := firstPause
	var cause error // of the last attempt that did not end since the time was over
	for {
		l.sayUndrawn(ctx)
		rest, err := l.attempt(ctx, batch, sent)
		if len(rest) == 0 {
			return
		}
		batch = rest
		// A read that ends with the time can be told before the context is.
		if cause == nil || ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			cause = err
		}
		var diverged *DivergedError
		switch {
		case err == nil: // others were first
			continue
		case errors.As(err, &diverged), errors.Is(err, errJournal):
			l.fail(err, batch)
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			pause = min(2*pause, lastPause)
		case <-ctx.Done():
			timer.Stop()
			l.abandon(sent)
			finishAll(batch, fmt.Errorf("%w: %w", accountant.ErrUnavailable, cause))
			return
		}
	}
}

func finishAll(batch []*request, err error) {
	for _, r := range batch {
		r.finish(err)
	}
}

// fail ends the ledger with an error for every later call, and for those that
// wait.
func (l *Ledger) fail(cause error, batch []*request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.log.Error("the ledger is unavailable until it is repaired and opened again", "cause", cause)
	}
	l.err = fmt.Errorf("%w: %w", accountant.ErrUnavailable, cause)
	finishAll(append(slices.Clip(batch), l.queue...), l.err)
	l.queue = nil
}

// A draft is a batch as lines, admitted on trial.
type draft struct {
	lines    [][]byte
	owners   []*request // of the lines; nil for a checkpoint
	refused  map[*request]error
	at       position // behind the lines
	snapshot []byte   // before the last line, if that is a checkpoint
	unsent   []*request
}

// attempt makes one call for a batch and returns the requests that it did not
// finish.
func (l *Ledger) attempt(ctx context.Context, batch []*request, sent map[string]*request) (rest []*request, err error) {
	l.state.Try()
	d := l.draft(batch)
	missed, err := l.server.append(ctx, l.at, d.lines, d.at.head)
	switch {
	case err != nil:
		l.state.Rollback()
		for i, line := range d.lines {
			sent[string(line)] = d.owners[i]
		}
		return batch, err
	case missed != nil:
		l.state.Rollback()
		return l.absorb(missed, batch, sent)
	}
	l.state.Keep()
	clear(l.abandoned) // each was to follow the line that this one follows
	if err := l.keep(d, batch); err != nil {
		return batch, err
	}
	return d.unsent, nil
}

// draft admits a batch on trial and writes its lines.
func (l *Ledger) draft(batch []*request) *draft {
	d := &draft{refused: map[*request]error{}, at: l.at}
	bytes := 0
	for i, r := range batch {
		if bytes > maxBytes {
			d.unsent = batch[i:]
			break
		}
		if r.entry == nil {
			continue
		}
		if err := l.admit(d, r.run, r.entry, r.body); err != nil {
			d.refused[r] = err
			continue
		}
		d.owners = append(d.owners, r)
		bytes += len(d.lines[len(d.lines)-1])
	}
	if len(d.lines) > 0 && d.at.seq-l.checkpoint >= l.every {
		l.admitCheckpoint(d)
	}
	return d
}

// admit puts an entry behind a draft if the state allows it.
func (l *Ledger) admit(d *draft, run string, e history.Entry, body history.Body) error {
	if err := l.state.Apply(run, e); err != nil {
		return err
	}
	line := body.Line(d.at.seq+1, d.at.head, l.now())
	d.lines = append(d.lines, line)
	d.at = position{d.at.seq + 1, sha256.Sum256(line)}
	return nil
}

func (l *Ledger) admitCheckpoint(d *draft) {
	text, err := l.state.Snapshot()
	if err == nil {
		e := history.CheckpointEntry{Digest: history.Digest(text)}
		var body history.Body
		if body, err = history.Prepare(l.boot, e); err == nil {
			err = l.admit(d, l.boot, e, body)
		}
	}
	if err != nil {
		l.log.Warn("no checkpoint could be written; the next start reads more lines", "cause", err)
		return
	}
	d.owners = append(d.owners, nil)
	d.snapshot = text
}

// keep journals the lines that Redis has appended, and then acknowledges them.
func (l *Ledger) keep(d *draft, batch []*request) error {
	before := l.at
	l.at = d.at
	if err := l.write(d.lines); err != nil {
		return err
	}
	if d.snapshot != nil {
		head := before.head
		if n := len(d.lines); n > 1 {
			head = sha256.Sum256(d.lines[n-2])
		}
		l.journal.Checkpoint(d.snapshot, d.at.seq-1, head, d.lines[len(d.lines)-1])
		l.checkpoint = d.at.seq
	}
	for i, r := range d.owners {
		if r != nil {
			r.seq = before.seq + uint64(i) + 1
			r.finish(nil)
		}
	}
	for _, r := range batch[:len(batch)-len(d.unsent)] {
		switch {
		case r.entry == nil:
			r.read(l.state)
			r.finish(nil)
		case d.refused[r] != nil:
			r.finish(d.refused[r])
		}
	}
	return nil
}

// errJournal is wrapped where the journal failed: nothing can be acknowledged.
var errJournal = errors.New("redisledger: this proxy's journal failed")

// absorb applies lines that Redis has and this proxy has missed. Lines that it
// sent itself, in a call whose reply was lost, finish their requests.
func (l *Ledger) absorb(missed [][]byte, batch []*request, sent map[string]*request) (rest []*request, err error) {
	landed := map[*request]uint64{}
	var unwritten [][]byte
	for _, line := range missed {
		before, err := l.replay(line)
		if err != nil {
			return batch, err
		}
		if r := sent[string(line)]; r != nil {
			landed[r] = l.at.seq
		}
		if l.abandoned[string(line)] {
			l.undrawn = append(l.undrawn, l.at.seq)
		}
		unwritten = append(unwritten, line)
		if before != nil {
			if err := l.write(unwritten); err != nil {
				return batch, err
			}
			unwritten = nil
			l.journal.Checkpoint(before.text, before.at.seq, before.at.head, line)
		}
	}
	clear(l.abandoned)
	if err := l.write(unwritten); err != nil {
		return batch, err
	}
	return l.finishLanded(batch, landed), nil
}

// write journals lines that Redis has.
func (l *Ledger) write(lines [][]byte) error {
	if len(lines) == 0 {
		return nil
	}
	if err := l.journal.Append(lines); err != nil {
		return fmt.Errorf("%w: %w", errJournal, err)
	}
	return nil
}

// A state before a checkpoint.
type checkpointed struct {
	text []byte
	at   position
}

// replay applies the next line of the ledger. Of a checkpoint it returns the
// state before it.
func (l *Ledger) replay(line []byte) (*checkpointed, error) {
	record, err := history.Decode(line, l.at.seq+1, l.at.head)
	if err != nil {
		return nil, &DivergedError{"continues another history or is damaged: " + err.Error()}
	}
	var before *checkpointed
	if _, ok := record.Entry.(history.CheckpointEntry); ok {
		text, err := l.state.Snapshot()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errJournal, err)
		}
		before = &checkpointed{text, l.at}
		l.checkpoint = record.Seq
	}
	if err := l.state.Apply(record.Run, record.Entry); err != nil {
		return nil, &DivergedError{fmt.Sprintf("holds an entry %d that is not a valid step: %v", record.Seq, err)}
	}
	l.at = position{record.Seq, record.Hash()}
	return before, nil
}
