package logledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/internal/durable"
)

// Options are the ways in which one Open can differ from another. The zero
// value opens an existing ledger and says nothing.
type Options struct {
	// Create lets Open begin a new ledger where there is none. Without it a
	// directory that vanished, or a volume that was not mounted, is an error
	// rather than a fresh budget.
	Create bool
	// Log hears of repairs and failures.
	Log *slog.Logger
	// Now dates the entries, for people. Nothing depends on it.
	Now func() time.Time
	// CheckpointEvery is after how many entries the ledger writes its state, so
	// that a start reads only the entries since; 0 is a good number.
	CheckpointEvery int
	// Confirm is shown the ledger as it is found; its error ends Open. Nil confirms all.
	Confirm func(ctx context.Context, p history.Past) error
}

// Open opens the ledger in a directory, locks it against other processes, checks it from its latest
// snapshot on ([Verify] checks all of it), and records the limits of the configuration: it can add
// budgets and lower limits, but not raise one ([accountant.ErrLimitRaise]) or change its measure.
// It returns [ErrNoLedger], [ErrLocked] or a [*CorruptError] where it applies; the package comment
// defines damage. On an error nothing was recorded.
func Open(ctx context.Context, dir string, limits []accountant.Limit, o Options) (*Ledger, error) {
	d, err := openDir(dir, o.Create)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNoLedger, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("logledger: %w", err)
	}
	return open(ctx, d, limits, o)
}

// open opens the ledger on a disk, which it closes on an error.
func open(ctx context.Context, d disk, limits []accountant.Limit, o Options) (*Ledger, error) {
	l := &Ledger{
		files: files{log: o.Log, disk: d},
		now:   o.Now,
		boot:  rand.Text(), every: uint64(max(0, o.CheckpointEvery)),
		batch: newBatch(), kick: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	l.Calls = history.NewCalls(l.boot, l.record, l.read)
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if l.every == 0 {
		l.every = defaultCheckpointEvery
	}
	if l.now == nil {
		l.now = func() time.Time { return time.Time{} }
	}
	if err := l.begin(ctx, limits, o); err != nil {
		return nil, errors.Join(err, l.closeFiles())
	}
	go l.commitLoop()
	return l, nil
}

// begin opens the files and records that a run begins.
func (l *Ledger) begin(ctx context.Context, limits []accountant.Limit, o Options) error {
	id := newLedgerID()
	if !o.Create {
		id = ledgerID{}
	}
	if err := l.open(ctx, id); err != nil {
		return err
	}
	if err := l.confirm(ctx, o.Confirm); err != nil {
		return err
	}
	first := newBatch()
	for _, step := range []struct {
		run   string
		entry history.Entry
	}{
		{"", history.BeginEntry{Boot: l.boot, Sole: true}},
		{l.boot, history.LimitsEntry(limits)},
	} {
		body, err := history.Prepare(step.run, step.entry)
		if err != nil {
			return err
		}
		if err := l.append(first, step.run, step.entry, body); err != nil {
			return err
		}
	}
	return l.store.commit(first)
}

// files are the files of a ledger and their content.
type files struct {
	log        *slog.Logger
	disk       disk
	store      *store
	state      *history.State
	at         position // behind the last entry
	checkpoint uint64   // the number of the last one
	// heads are the hashes of the entries that were read last, for [files.confirm].
	heads map[uint64]history.Hash
}

// open locks the directory and recovers the ledger in it. Where there is none it
// creates one with the given ID, unless that is zero.
func (l *files) open(ctx context.Context, id ledgerID) error {
	if err := l.disk.lock(); err != nil {
		return err
	}
	if err := ensureLedger(l.disk, id); err != nil {
		return err
	}
	return l.recover(ctx)
}

// closeFiles closes the files that are open.
func (l *files) closeFiles() error { return errors.Join(l.store.close(), l.disk.close()) }

// ensureLedger makes a log where there is no trace of a ledger, if it is given an
// ID for it.
func ensureLedger(d disk, id ledgerID) error {
	hasLog, err := exists(d, logName)
	if err != nil {
		return err
	}
	hasMark, err := exists(d, markName)
	switch {
	case err != nil:
		return err
	case hasLog:
		return nil
	case hasMark:
		return &CorruptError{0, "the log is missing, and its mark is there: a budget cannot begin anew"}
	case id == ledgerID{}:
		return fmt.Errorf("%w in the directory, and none may be created", ErrNoLedger)
	}
	return createLog(d, id)
}

// newLedgerID returns a random ID.
func newLedgerID() (id ledgerID) {
	_, _ = rand.Read(id[:]) // ends the process instead of failing
	return id
}

func exists(d disk, name string) (bool, error) {
	f, err := d.open(name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("logledger: %w", err)
	}
	return true, f.Close()
}

// createLog makes a log that has its header from the first moment on.
func createLog(d disk, id ledgerID) error {
	return durable.Replace(folder{d}, logName, encodeHeader(id))
}

// recover opens the files, replays the log into l.state, and cuts off the
// remains of an interrupted write.
func (l *files) recover(ctx context.Context) error {
	log, err := l.disk.open(logName, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return fmt.Errorf("logledger: %w", err)
	}
	l.store = &store{log: log}
	// An earlier Open may have failed between a rename and this.
	if err := l.disk.sync(); err != nil {
		return fmt.Errorf("logledger: syncing the directory: %w", err)
	}
	want, slot, err := findMark(l.disk)
	if err != nil {
		return err
	}
	r, err := l.replay(ctx, want)
	if err != nil {
		return err
	}
	l.state, l.at, l.store.id = r.state, r.at, r.id
	if err := l.cutTail(r.torn); err != nil {
		return err
	}
	return l.openMark(want == nil, slot)
}

// cutTail removes the last n bytes of the log. It syncs the log in any case: an
// entry that only the page cache held is now built on.
func (l *files) cutTail(n int64) error {
	if n > 0 {
		l.log.Warn("the ledger's last write was interrupted; its remains, never acknowledged, are cut off",
			"offset", l.at.offset, "bytes", n, "last_entry", l.at.seq)
		if err := l.store.log.Truncate(l.at.offset); err != nil {
			return fmt.Errorf("logledger: cutting off an interrupted write: %w", err)
		}
	}
	return l.store.log.Sync()
}

// openMark opens the mark's file, or creates it, and marks where the log is.
func (l *files) openMark(create bool, slot int) error {
	m := mark{l.store.id, l.at.seq, l.at.head}
	if create {
		if err := createMark(l.disk, m); err != nil {
			return fmt.Errorf("logledger: creating the mark: %w", err)
		}
	}
	f, err := l.disk.open(markName, os.O_RDWR)
	if err != nil {
		return fmt.Errorf("logledger: %w", err)
	}
	l.store.mark = marker{f: f, next: 1 - slot}
	return errors.Join(l.store.mark.write(m), l.store.mark.sync())
}

// findMark returns the mark and its slot, or nil when there is no file.
func findMark(d disk) (*mark, int, error) {
	f, err := d.open(markName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("logledger: %w", err)
	}
	m, slot, err := readMark(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, 0, err
	}
	return &m, slot, nil
}

// replay reads the log from the last snapshot on, if there is one that it
// confirms, and else from its start.
func (l *files) replay(ctx context.Context, want *mark) (*logReader, error) {
	l.heads = map[uint64]history.Hash{}
	all := func(r history.Record) bool {
		l.heads[r.Seq] = r.Hash()
		delete(l.heads, r.Seq-keptHeads)
		return true
	}
	from, err := readSnapshot(l.disk)
	if err == nil && from != nil {
		var r *logReader
		if r, err = replay(ctx, l.store.log, want, from, all); err == nil {
			l.checkpoint = from.at.seq + 1
			return r, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		l.log.Warn("the ledger's snapshot does not serve; the whole log is read instead", "cause", err)
	}
	return replay(ctx, l.store.log, want, nil, all)
}

// replay reads a log from a snapshot, or from its start when that is nil, to its
// end, or until visit returns false, and checks that it contains the mark. The
// reader it returns stands at the end.
func replay(ctx context.Context, log file, want *mark, from *snapshot, visit func(history.Record) bool) (*logReader, error) {
	size, err := log.size()
	if err != nil {
		return nil, fmt.Errorf("logledger: %w", err)
	}
	r, err := newLogReader(io.NewSectionReader(log, 0, size))
	if err != nil {
		return nil, err
	}
	if from != nil {
		if err := from.belongs(r.id, size); err != nil {
			return nil, err
		}
		r.startAt(from, io.NewSectionReader(log, from.at.offset, size-from.at.offset))
	}
	check := markCheck{want: want}
	if from != nil {
		if err := r.confirm(check.pass); err != nil {
			return nil, err
		}
	}
	for {
		if err := errors.Join(check.pass(r.id, r.at), ctx.Err()); err != nil {
			return nil, err
		}
		record, err := r.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return r, check.end(r.at)
		}
		if err != nil {
			return nil, err
		}
		if !visit(record) {
			return r, nil
		}
	}
}

// close closes the files that are open. It may be called on nil.
func (s *store) close() error {
	if s == nil {
		return nil
	}
	err := s.log.Close()
	if s.mark.f != nil {
		err = errors.Join(err, s.mark.f.Close())
	}
	return err
}

// keptHeads is of how many entries, the last ones, a start remembers the hashes: more than are written between two marks elsewhere.
const keptHeads = 1 << 16

// confirm shows the ledger as it was found.
func (l *files) confirm(ctx context.Context, confirm func(context.Context, history.Past) error) error {
	defer func() { l.heads = nil }()
	if confirm == nil {
		return nil
	}
	p, err := history.PastOf(l.state, l.store.id.String(), l.at.head, l.headOf)
	if err != nil {
		return err
	}
	return confirm(ctx, p)
}

// headOf returns the hash of an entry. One that a start has not read is looked for from the beginning.
func (l *files) headOf(ctx context.Context, seq uint64) (head history.Hash, err error) {
	if seq == l.at.seq {
		return l.at.head, nil
	}
	head, found := l.heads[seq]
	if found || seq > l.at.seq || seq == 0 {
		return head, noEntry(found)
	}
	_, err = replay(ctx, l.store.log, nil, nil, func(r history.Record) bool {
		head, found = r.Hash(), r.Seq == seq
		return !found
	})
	if err == nil {
		err = noEntry(found)
	}
	return head, err
}

func noEntry(found bool) error {
	if found {
		return nil
	}
	return history.ErrNoEntry
}
