package logledger

import (
	"context"
	"fmt"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// A batch is the entries that one write and one fsync make durable.
type batch struct {
	frames []byte
	end    position      // behind the last frame
	taken  chan struct{} // closed once another batch collects entries
	done   chan struct{} // closed once the batch is durable or lost
	err    error         // to be read after done
	// snapshot is the state before the last entry of the batch, a checkpoint, if
	// that is one.
	snapshot *snapshot
}

func newBatch() *batch { return &batch{taken: make(chan struct{}), done: make(chan struct{})} }

func (b *batch) finish(err error) {
	b.err = err
	close(b.done)
}

// A store is the open files of a ledger. Only one goroutine uses it.
type store struct {
	id   ledgerID
	log  file
	mark marker
}

// commit makes a batch durable.
func (s *store) commit(b *batch) error {
	if _, err := s.log.Write(b.frames); err != nil {
		return fmt.Errorf("writing the log: %w", err)
	}
	if err := s.log.Sync(); err != nil {
		return fmt.Errorf("syncing the log: %w", err)
	}
	// The mark comes before the acknowledgement, so that no acknowledged entry
	// can vanish unnoticed while the machine stays up.
	if err := s.mark.write(mark{s.id, b.end.seq, b.end.head}); err != nil {
		return fmt.Errorf("writing the mark: %w", err)
	}
	return nil
}

// record takes one step and returns its number when it is durable. A caller
// that gives up leaves its entry in the batch.
func (l *Ledger) record(ctx context.Context, run string, e history.Entry) (uint64, error) {
	b, seq, err := l.enqueue(ctx, run, e)
	if err != nil {
		return 0, err
	}
	select {
	case <-b.done:
		if b.err != nil {
			return 0, b.err
		}
		return seq, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("logledger: given up while entry %d was being written, and it may count: %w", seq, ctx.Err())
	}
}

// enqueue admits an entry against all before it and puts it into the batch that
// will be written next.
func (l *Ledger) enqueue(ctx context.Context, run string, e history.Entry) (*batch, uint64, error) {
	body, err := history.Prepare(run, e) // which takes longer than all that needs the lock
	if err != nil {
		return nil, 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.awaitRoom(ctx); err != nil {
		return nil, 0, err
	}
	if err := l.append(l.batch, run, e, body); err != nil {
		return nil, 0, err
	}
	b, seq := l.batch, l.at.seq
	if seq-l.checkpoint >= l.every {
		l.appendCheckpoint()
	}
	select {
	case l.kick <- struct{}{}:
	default: // the committer has been told already
	}
	return b, seq, nil
}

// awaitRoom returns nil once the ledger works and its batch takes another
// entry. It is called with l.mu held, which it lets go of while it waits.
func (l *Ledger) awaitRoom(ctx context.Context) error {
	for l.err == nil && ctx.Err() == nil && len(l.batch.frames) >= maxBatch {
		full := l.batch
		l.mu.Unlock()
		select {
		case <-full.taken:
		case <-ctx.Done():
		}
		l.mu.Lock()
	}
	if l.err != nil {
		return l.err
	}
	return ctx.Err()
}

// append puts an entry of a run, or of an administrator, at the end of a batch if the
// state allows it, and changes nothing otherwise. It is called with l.mu held.
func (l *Ledger) append(b *batch, run string, e history.Entry, body history.Body) error {
	if err := l.state.Apply(run, e); err != nil {
		return err
	}
	line := body.Line(l.at.seq+1, l.at.head, l.now())
	l.at = l.at.after(line)
	b.frames = appendFrame(b.frames, line)
	b.end = l.at
	return nil
}

// commitLoop makes one batch after another durable, until Close.
func (l *Ledger) commitLoop() {
	defer close(l.stopped)
	for range l.kick {
		l.commitNext()
	}
	l.commitNext()
}

func (l *Ledger) commitNext() {
	b := l.takeBatch()
	if len(b.frames) == 0 {
		b.finish(nil)
		return
	}
	if err := l.store.commit(b); err != nil {
		b.finish(l.fail(err))
		return
	}
	b.finish(nil)
	if b.snapshot == nil {
		return
	}
	if err := b.snapshot.write(l.disk); err != nil {
		l.log.Warn("the ledger's snapshot could not be written; the next start reads more of the log", "cause", err)
	}
}

func (l *Ledger) takeBatch() *batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before = l.replaceBatch()
	return l.before
}

// replaceBatch starts a new batch and returns the one before. It is called with
// l.mu held.
func (l *Ledger) replaceBatch() *batch {
	b := l.batch
	l.batch = newBatch()
	close(b.taken)
	return b
}

// fail ends the ledger: it returns the error of every later call, and of those
// that wait.
func (l *Ledger) fail(cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = true
	l.err = fmt.Errorf("%w: %w", accountant.ErrUnavailable, cause)
	l.log.Error("the ledger cannot record and stays unavailable until it is opened again", "cause", cause)
	l.replaceBatch().finish(l.err)
	return l.err
}
