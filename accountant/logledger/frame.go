package logledger

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"dpproxy/accountant/history"
)

// The sizes in a log, in bytes.
const (
	headerSize = 32 // magic, version, ID, CRC-32C
	frameHead  = 8  // length, CRC-32C
	// maxPayload bounds one entry, and with it the bytes that a damaged length can ask for.
	maxPayload = history.MaxLine
	// maxBatch is how full a batch may be and still take another frame.
	maxBatch = 1 << 20
	// maxTorn is the longest tail that an interrupted write can leave.
	maxTorn = maxBatch + frameHead + maxPayload
)

const (
	magic   = "dpledger"
	version = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A ledgerID tells two ledgers apart.
type ledgerID [16]byte

// String writes the ID in hexadecimal.
func (id ledgerID) String() string { return hex.EncodeToString(id[:]) }

// parseLedgerID is the inverse of String.
func parseLedgerID(text string) (id ledgerID, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("logledger: %q is not the ID of a ledger", text)
	}
	return ledgerID(b), nil
}

// A CorruptError says where a ledger is damaged. Nothing was changed.
type CorruptError struct {
	Offset int64 // in ledger.log
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("logledger: the ledger is damaged at byte %d: %s", e.Offset, e.Reason)
}

// errTorn ends a log whose last write was interrupted.
var errTorn = errors.New("logledger: the last write was interrupted")

func encodeHeader(id ledgerID) []byte {
	h := make([]byte, 0, headerSize)
	h = append(h, magic...)
	h = binary.BigEndian.AppendUint32(h, version)
	h = append(h, id[:]...)
	return binary.BigEndian.AppendUint32(h, crc32.Checksum(h, castagnoli))
}

func decodeHeader(h []byte) (ledgerID, error) {
	crc := binary.BigEndian.Uint32(h[headerSize-4:])
	switch {
	case string(h[:len(magic)]) != magic:
		return ledgerID{}, &CorruptError{0, "this is not a ledger"}
	case crc32.Checksum(h[:headerSize-4], castagnoli) != crc:
		return ledgerID{}, &CorruptError{0, "the header fails its checksum"}
	case binary.BigEndian.Uint32(h[len(magic):]) != version:
		return ledgerID{}, &CorruptError{0, "the header names a format of another version of dpproxy"}
	}
	return ledgerID(h[len(magic)+4 : headerSize-4]), nil
}

// Genesis returns the hash that the first line of a ledger follows.
func Genesis(id string) (history.Hash, error) {
	own, err := parseLedgerID(id)
	if err != nil {
		return history.Hash{}, err
	}
	return sha256.Sum256(encodeHeader(own)), nil
}

func appendFrame(b, payload []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(payload, castagnoli))
	return append(b, payload...)
}

// A position is a place between two entries.
type position struct {
	offset int64        // in ledger.log
	seq    uint64       // of the entry before it; 0 at the start
	head   history.Hash // of that entry's payload; of the header at the start
}

// after returns the position behind a frame with the given payload.
func (p position) after(payload []byte) position {
	return position{p.offset + frameHead + int64(len(payload)), p.seq + 1, sha256.Sum256(payload)}
}

// A logReader reads the entries of a log in their order and checks frames,
// numbers, hashes and steps.
type logReader struct {
	r     *bufio.Reader
	id    ledgerID
	state *history.State
	at    position
	torn  int64 // bytes after at, once next returned errTorn
}

// newLogReader reads the header.
func newLogReader(r io.Reader) (*logReader, error) {
	b := bufio.NewReader(r)
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(b, header); err != nil {
		if shortRead(err) {
			return nil, &CorruptError{0, "the header is cut short"}
		}
		return nil, fmt.Errorf("logledger: reading the header: %w", err)
	}
	id, err := decodeHeader(header)
	if err != nil {
		return nil, err
	}
	start := position{offset: headerSize, head: sha256.Sum256(header)}
	return &logReader{r: b, id: id, state: history.NewState(), at: start}, nil
}

// startAt makes a reader that has read its header go on from a snapshot; r reads
// from there.
func (l *logReader) startAt(s *snapshot, r io.Reader) {
	l.r, l.state, l.at = bufio.NewReader(r), s.state, s.at
}

// confirm reads the checkpoint that must follow a snapshot; applying it compares
// the states.
func (l *logReader) confirm(pass func(ledgerID, position) error) error {
	if err := pass(l.id, l.at); err != nil {
		return err
	}
	r, err := l.next()
	if err != nil {
		return fmt.Errorf("logledger: the entry after the snapshot: %w", err)
	}
	if _, ok := r.Entry.(history.CheckpointEntry); !ok {
		return &CorruptError{l.at.offset, fmt.Sprintf("entry %d, after the snapshot, is no checkpoint", r.Seq)}
	}
	return nil
}

// next returns the next entry, after applying it to the state. It returns
// io.EOF at the end, errTorn before the remains of an interrupted write, and a
// *CorruptError for damage.
func (l *logReader) next() (history.Record, error) {
	head := make([]byte, frameHead)
	n, err := io.ReadFull(l.r, head)
	if errors.Is(err, io.EOF) {
		return history.Record{}, io.EOF
	}
	if err != nil {
		return history.Record{}, l.tail(head[:n], err)
	}
	length := binary.BigEndian.Uint32(head)
	if length == 0 || length > maxPayload {
		return history.Record{}, l.tail(head, nil)
	}
	payload := make([]byte, length)
	if n, err := io.ReadFull(l.r, payload); err != nil {
		return history.Record{}, l.tail(append(slices.Clip(head), payload[:n]...), err)
	}
	if crc32.Checksum(payload, castagnoli) != binary.BigEndian.Uint32(head[4:]) {
		return history.Record{}, l.tail(append(slices.Clip(head), payload...), nil)
	}
	return l.apply(payload)
}

func (l *logReader) apply(payload []byte) (history.Record, error) {
	r, err := history.Decode(payload, l.at.seq+1, l.at.head)
	if err != nil {
		return history.Record{}, &CorruptError{l.at.offset, err.Error()}
	}
	if err := l.state.Apply(r.Run, r.Entry); err != nil {
		return history.Record{}, &CorruptError{l.at.offset, fmt.Sprintf("entry %d is not a valid step: %v", r.Seq, err)}
	}
	l.at = l.at.after(payload)
	return r, nil
}

// tail classifies the bytes from l.at on, given those that were read as a frame
// and are none: the remains of an interrupted write, or damage.
func (l *logReader) tail(read []byte, err error) error {
	if err != nil && !shortRead(err) {
		return fmt.Errorf("logledger: reading at byte %d: %w", l.at.offset, err)
	}
	rest, err := io.ReadAll(io.LimitReader(l.r, maxTorn))
	if err != nil {
		return fmt.Errorf("logledger: reading after byte %d: %w", l.at.offset, err)
	}
	all := slices.Concat(read, rest)
	if len(all) > maxTorn {
		return &CorruptError{l.at.offset, "a bad frame, and more bytes after it than one write can leave"}
	}
	for i := 1; i < len(all); i++ {
		if startsWithFrame(all[i:]) {
			return &CorruptError{l.at.offset, fmt.Sprintf("a bad frame, and a valid one after it at byte %d", l.at.offset+int64(i))}
		}
	}
	l.torn = int64(len(all))
	return errTorn
}

// startsWithFrame reports whether b begins with a whole frame. It looks at the
// first bytes of the payload before it computes a checksum.
func startsWithFrame(b []byte) bool {
	if len(b) < frameHead || !bytes.HasPrefix(b[frameHead:], []byte(`{"seq":`)) {
		return false
	}
	length := int64(binary.BigEndian.Uint32(b))
	if length > maxPayload || length > int64(len(b)-frameHead) {
		return false
	}
	return crc32.Checksum(b[frameHead:frameHead+length], castagnoli) == binary.BigEndian.Uint32(b[4:])
}

func shortRead(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
