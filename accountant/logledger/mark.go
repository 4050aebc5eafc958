package logledger

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"dpproxy/accountant/history"
	"dpproxy/internal/durable"
)

// slotSize is the size of one of the two slots of the mark's file. A sector of
// a disk is written whole or not at all, so one slot is always good.
const slotSize = 512

// A mark says how far a log was when its last entry was acknowledged.
type mark struct {
	id   ledgerID
	seq  uint64
	head history.Hash
}

const markFormat = "dpledger mark ledger=%x seq=%d head=%x"

// slot writes the mark as one line of text that fills a slot.
func (m mark) slot() []byte {
	text := fmt.Sprintf(markFormat, m.id[:], m.seq, m.head[:])
	return fmt.Appendf(nil, "%-*s crc=%08x\n", slotSize-14, text, crc32.Checksum([]byte(text), castagnoli))
}

// parseSlot is the inverse of slot.
func parseSlot(b []byte) (mark, error) {
	var id, head []byte
	var m mark
	if _, err := fmt.Sscanf(string(b), markFormat, &id, &m.seq, &head); err != nil {
		return mark{}, err
	}
	if len(id) != len(m.id) || len(head) != len(m.head) {
		return mark{}, errors.New("logledger: a mark with fields of the wrong length")
	}
	m.id, m.head = ledgerID(id), history.Hash(head)
	if string(m.slot()) != string(b) {
		return mark{}, errors.New("logledger: a mark that fails its checksum")
	}
	return m, nil
}

// readMark returns the later of the marks in the two slots, and which slot it
// is in.
func readMark(f file) (m mark, slot int, err error) {
	found := false
	for i := range 2 {
		b := make([]byte, slotSize)
		if _, err := f.ReadAt(b, int64(i)*slotSize); err != nil && !errors.Is(err, io.EOF) {
			return mark{}, 0, fmt.Errorf("logledger: reading the mark: %w", err)
		}
		if in, err := parseSlot(b); err == nil && (!found || in.seq > m.seq) {
			m, slot, found = in, i, true
		}
	}
	if !found {
		return mark{}, 0, &CorruptError{0, "the mark in " + markName + " is unreadable"}
	}
	return m, slot, nil
}

// A marker keeps the mark's file. Its slots are written in turn, so that the
// slot with the later mark is never the one that a crash can damage.
type marker struct {
	f       file
	next    int // the slot to write
	pending int // marks since the last fsync
}

// marksPerSync is how many marks are written to an fsync. An unsynced mark
// outlives the process but perhaps not the machine.
const marksPerSync = 1024

// createMark makes the mark's file with m in both slots.
func createMark(d disk, m mark) error {
	return durable.Replace(folder{d}, markName, append(m.slot(), m.slot()...))
}

// write records m, durably against a crash of the process.
func (k *marker) write(m mark) error {
	if _, err := k.f.WriteAt(m.slot(), int64(k.next)*slotSize); err != nil {
		return err
	}
	k.next = 1 - k.next
	if k.pending++; k.pending < marksPerSync {
		return nil
	}
	return k.sync()
}

// sync makes the last mark durable against a crash of the machine.
func (k *marker) sync() error {
	k.pending = 0
	return k.f.Sync()
}

// A markCheck watches a log go by and tells whether it contains the mark.
type markCheck struct {
	want *mark // nil when there is no file
	seen bool
}

// pass looks at one position of the log.
func (c *markCheck) pass(id ledgerID, at position) error {
	switch {
	case c.want == nil:
		return nil
	case id != c.want.id:
		return &CorruptError{0, fmt.Sprintf("the log is of the ledger %v, its mark of %v", id, c.want.id)}
	case at.seq != c.want.seq:
		return nil
	case at.head != c.want.head:
		return &CorruptError{at.offset, fmt.Sprintf(
			"entry %d is not the one that was acknowledged: the log was replaced and continued", at.seq)}
	}
	c.seen = true
	return nil
}

// end judges a log that ends at a position.
func (c *markCheck) end(at position) error {
	switch {
	case c.want == nil && at.seq == 0:
		return nil // the creation was interrupted between the two files
	case c.want == nil:
		return &CorruptError{at.offset, "the mark is missing, so the log may have gone backwards"}
	case !c.seen:
		return &CorruptError{at.offset, fmt.Sprintf(
			"the log went backwards: it ends with entry %d, and entry %d was acknowledged", at.seq, c.want.seq)}
	}
	return nil
}
