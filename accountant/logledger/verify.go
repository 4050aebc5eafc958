package logledger

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// A Summary describes a ledger in which [Verify] found no damage.
type Summary struct {
	ID      string // of the ledger, hexadecimal
	Entries uint64
	Runs    int
	Charges int
	Head    string // SHA-256 of the last entry, hexadecimal
	Marked  uint64 // the last entry known to have been acknowledged
	Bytes   int64  // of the log
	// Torn is how many bytes follow the last entry: an interrupted write, or
	// one that another process is about to finish.
	Torn      int64
	Balances  []accountant.Balance
	Incidents []accountant.Incident
}

// Verify reads the whole ledger in a directory and checks frames, numbers,
// hashes, the mark and every step. It writes nothing and needs no lock, so it
// may be run on a ledger in use.
func Verify(ctx context.Context, dir string) (Summary, error) {
	var s Summary
	count := func(r history.Record) bool {
		switch r.Entry.(type) {
		case history.BeginEntry:
			s.Runs++
		case history.ChargeEntry:
			s.Charges++
		case history.LimitsEntry, history.VoidEntry, history.HoldEntry, history.StepEntry, history.SettleEntry,
			history.UnansweredEntry, history.IncidentEntry, history.ClearEntry, history.RaiseEntry, history.LowerEntry, history.FreezeEntry,
			history.FenceEntry, history.RestoreEntry, history.NoteEntry, history.CheckpointEntry, history.SurveyEntry, history.EpochEntry,
			history.FormatEntry, history.PolicyEntry, history.RenameEntry, history.RetireEntry:
		}
		return true
	}
	r, want, err := read(ctx, dir, count)
	if err != nil {
		return Summary{}, err
	}
	if want != nil {
		s.Marked = want.seq
	}
	s.ID, s.Entries, s.Head = r.id.String(), r.at.seq, hex.EncodeToString(r.at.head[:])
	s.Bytes, s.Torn = r.at.offset+r.torn, r.torn
	s.Incidents = r.state.Incidents()
	s.Balances, err = r.state.Balances()
	return s, err
}

// Entries returns the entries of the ledger in a directory, checked like
// [Verify] does. It writes nothing and needs no lock. An error ends it.
func Entries(ctx context.Context, dir string) iter.Seq2[history.Record, error] {
	return func(yield func(history.Record, error) bool) {
		more := true
		_, _, err := read(ctx, dir, func(r history.Record) bool {
			more = yield(r, nil)
			return more
		})
		if err != nil && more {
			yield(history.Record{}, err)
		}
	}
}

// read replays the ledger in a directory without changing it. It reads the mark
// first: a log in use may pass it meanwhile, never fall behind it.
func read(ctx context.Context, dir string, visit func(history.Record) bool) (_ *logReader, want *mark, err error) {
	d, err := openDir(dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w in %s", ErrNoLedger, dir)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("logledger: %w", err)
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := ensureLedger(d, ledgerID{}); err != nil {
		return nil, nil, err
	}
	if want, _, err = findMark(d); err != nil {
		return nil, nil, err
	}
	log, err := d.open(logName, os.O_RDONLY)
	if err != nil {
		return nil, nil, fmt.Errorf("logledger: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	r, err := replay(ctx, log, want, nil, visit)
	return r, want, err
}

// HasEntry reports whether the ledger or journal in a directory has an entry with a number and a hash. It checks the
// ledger as [Verify] does.
func HasEntry(ctx context.Context, dir string, seq uint64, head history.Hash) (bool, error) {
	for r, err := range Entries(ctx, dir) {
		if err != nil || r.Seq == seq {
			return err == nil && r.Hash() == head, err
		}
	}
	return false, nil
}
