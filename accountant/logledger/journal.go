package logledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"dpproxy/accountant/history"
)

// A Journal is one proxy's own copy of a ledger that several share elsewhere: the
// same lines in the same files as a [Ledger]'s, so that an acknowledged line is
// lost only if both are. It admits nothing itself. Its methods are not safe for
// concurrent use.
type Journal struct {
	files
	err error // of every call, once a write failed
}

// OpenJournal opens the journal of the ledger with the given ID in a directory,
// locks it against other processes, and checks it as [Open] does. Where there is
// none it creates an empty one. The state that the lines add up to is the
// caller's from then on.
func OpenJournal(ctx context.Context, dir, id string, log *slog.Logger) (*Journal, *history.State, error) {
	own, err := parseLedgerID(id)
	if err != nil {
		return nil, nil, err
	}
	d, err := openDir(dir, true)
	if err != nil {
		return nil, nil, fmt.Errorf("logledger: %w", err)
	}
	return openJournal(ctx, d, own, log)
}

func openJournal(ctx context.Context, d disk, id ledgerID, log *slog.Logger) (*Journal, *history.State, error) {
	j := &Journal{files: files{log: log, disk: d}}
	err := j.open(ctx, id)
	if err == nil && j.store.id != id {
		err = fmt.Errorf("logledger: the journal is of the ledger %v, not of %v", j.store.id, id)
	}
	if err != nil {
		return nil, nil, errors.Join(err, j.closeFiles())
	}
	return j, j.state, nil
}

// JournalID returns the ID of the ledger whose journal is in a directory, or
// [ErrNoLedger].
func JournalID(dir string) (string, error) {
	d, err := openDir(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w in %s", ErrNoLedger, dir)
	}
	if err != nil {
		return "", fmt.Errorf("logledger: %w", err)
	}
	m, _, err := findMark(d)
	if err = errors.Join(err, d.close()); err != nil {
		return "", err
	}
	if m == nil {
		return "", fmt.Errorf("%w in %s", ErrNoLedger, dir)
	}
	return m.id.String(), nil
}

// Last returns the number and the hash of the last line: 0 and the hash of the
// header, before the first.
func (j *Journal) Last() (seq uint64, head history.Hash) { return j.at.seq, j.at.head }

// Append makes lines durable that follow the last one. The caller has applied
// them to the state. After an error nothing more can be appended.
func (j *Journal) Append(lines [][]byte) error {
	b := newBatch()
	for i, line := range lines {
		j.at = j.at.after(line)
		b.frames = appendFrame(b.frames, line)
		if i < len(lines)-1 && len(b.frames) < maxBatch {
			continue
		}
		b.end = j.at
		if j.err == nil {
			j.err = j.store.commit(b)
		}
		if j.err != nil {
			return fmt.Errorf("logledger: the journal: %w", j.err)
		}
		b = newBatch()
	}
	return nil
}

// Checkpoint writes the snapshot's file. The snapshot is of the state before the
// last line that was appended, a checkpoint.
func (j *Journal) Checkpoint(text []byte, seq uint64, head history.Hash, line []byte) {
	at := position{offset: j.at.offset - frameHead - int64(len(line)), seq: seq, head: head}
	s := snapshot{id: j.store.id, at: at, text: text}
	if err := s.write(j.disk); err != nil {
		j.log.Warn("the journal's snapshot could not be written; the next start reads more of it", "cause", err)
	}
}

// Close lets go of the directory.
func (j *Journal) Close() error {
	var err error
	if j.err == nil {
		err = j.store.mark.sync()
	}
	return errors.Join(err, j.closeFiles())
}
