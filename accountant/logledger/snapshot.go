package logledger

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"dpproxy/accountant/history"
	"dpproxy/internal/durable"
)

// defaultCheckpointEvery keeps a start below a second and snapshots rare.
const defaultCheckpointEvery = 1 << 16

// A snapshot is a state and where in the log it stands: before a checkpoint,
// which holds the state's digest.
type snapshot struct {
	id    ledgerID
	at    position
	text  []byte         // the state, as [history.State.Snapshot] writes it
	state *history.State // read from text
}

// The JSON of the snapshot's file.
type snapshotJSON struct {
	Ledger string          `json:"ledger"`
	Offset int64           `json:"offset"`
	Seq    uint64          `json:"seq"`
	Head   string          `json:"head"`
	State  json.RawMessage `json:"state"`
}

// appendCheckpoint puts a checkpoint at the end of the batch, and remembers the
// state for the snapshot's file. It is called with l.mu held.
func (l *Ledger) appendCheckpoint() {
	if err := l.tryCheckpoint(); err != nil {
		l.log.Warn("the ledger could not write a checkpoint; the next start reads more of the log", "cause", err)
	}
	l.checkpoint = l.at.seq
}

func (l *Ledger) tryCheckpoint() error {
	text, err := l.state.Snapshot()
	if err != nil {
		return err
	}
	e := history.CheckpointEntry{Digest: history.Digest(text)}
	body, err := history.Prepare(l.boot, e)
	if err != nil {
		return err
	}
	at := l.at
	if err := l.append(l.batch, l.boot, e, body); err != nil {
		return err
	}
	l.batch.snapshot = &snapshot{id: l.store.id, at: at, text: text}
	return nil
}

// write replaces the snapshot's file.
func (s *snapshot) write(d disk) error {
	text, err := json.Marshal(snapshotJSON{s.id.String(), s.at.offset, s.at.seq, hex.EncodeToString(s.at.head[:]), s.text})
	if err != nil {
		return err
	}
	return durable.Replace(folder{d}, snapshotName, text)
}

// readSnapshot returns the snapshot, or nil when there is none.
func readSnapshot(d disk) (*snapshot, error) {
	f, err := d.open(snapshotName, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	size, err := f.size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, size))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return parseSnapshot(text)
}

func parseSnapshot(text []byte) (*snapshot, error) {
	var j snapshotJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, err
	}
	id, err := hex.DecodeString(j.Ledger)
	if err != nil {
		return nil, err
	}
	head, err := hex.DecodeString(j.Head)
	if err != nil {
		return nil, err
	}
	state, err := history.Restore(j.State)
	if err != nil {
		return nil, err
	}
	s := &snapshot{at: position{offset: j.Offset, seq: j.Seq}, state: state}
	if len(id) != len(s.id) || len(head) != len(s.at.head) || state.Seq() != j.Seq {
		return nil, errors.New("its place does not fit its state")
	}
	s.id, s.at.head = ledgerID(id), history.Hash(head)
	return s, nil
}

// belongs checks that a snapshot is of the log with the given ID and size. That
// its state is right, the checkpoint after it says when it is read.
func (s *snapshot) belongs(id ledgerID, size int64) error {
	switch {
	case s.id != id:
		return fmt.Errorf("it is of the ledger %v", s.id)
	case s.at.offset < headerSize || s.at.offset >= size:
		return fmt.Errorf("it stands at byte %d of a log of %d", s.at.offset, size)
	}
	return nil
}
