package logledger

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
)

func TestHeaderFormat(t *testing.T) {
	id := ledgerID{1, 2, 3}
	want := "64706c6564676572" + "00000002" + "01020300000000000000000000000000" + "dd5f6712"
	if got := hex.EncodeToString(encodeHeader(id)); got != want {
		t.Errorf("the header is %s, want %s", got, want)
	}
	if got, err := decodeHeader(encodeHeader(id)); got != id || err != nil {
		t.Errorf("the header is read as %v, %v", got, err)
	}
}

func TestMarkFormat(t *testing.T) {
	m := mark{ledgerID{1}, 1<<64 - 1, history.Hash{2}}
	slot := m.slot()
	want := "dpledger mark ledger=01000000000000000000000000000000 seq=18446744073709551615 head=02" + strings.Repeat("00", 31) + " "
	if len(slot) != slotSize || !strings.HasPrefix(string(slot), want) || slot[slotSize-1] != '\n' {
		t.Errorf("the mark is %q", slot)
	}
	if got, err := parseSlot(slot); got != m || err != nil {
		t.Errorf("the mark is read as %v, %v", got, err)
	}
}

// FuzzLog reads any bytes as a log. It must end with io.EOF, a torn tail or an
// error, and account for every byte.
func FuzzLog(f *testing.F) {
	header := encodeHeader(ledgerID{})
	prev := sha256.Sum256(header)
	body, err := history.Prepare("", history.LimitsEntry(accountanttest.Limits()))
	if err != nil {
		f.Fatal(err)
	}
	payload := body.Line(1, prev, time.Time{})
	f.Add(appendFrame(nil, payload))
	f.Add(append(appendFrame(nil, payload), 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := newLogReader(strings.NewReader(string(header) + string(b)))
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			seq := r.at.seq
			if _, err = r.next(); err == nil && r.at.seq != seq+1 {
				t.Fatalf("entry %d follows %d", r.at.seq, seq)
			}
		}
		if end := r.at.offset + r.torn; r.torn > 0 && end != int64(headerSize+len(b)) {
			t.Fatalf("the log ends at %d, of %d bytes", end, headerSize+len(b))
		}
	})
}
