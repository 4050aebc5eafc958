package logledger

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/dp"
)

// The format of every kind of entry. Ledgers live longer than releases: a line
// here may be joined by others, never changed.
var format = []struct {
	entry accountant.Entry
	json  string
}{
	{accountant.RunEntry{Boot: "b"}, `"run":{"boot":"b"}`},
	{accountant.LimitsEntry{}, `"limits":[]`},
	{accountant.LimitsEntry(accountanttest.Limits()), `"limits":[` +
		`{"kind":"unit","name":"patient","measure":"zcdp","pico":100,"atto":"10"},` +
		`{"kind":"table","name":"public.labs","measure":"zcdp","pico":80,"atto":"10"},` +
		`{"kind":"analyst","name":"ann","measure":"pure","pico":50}]`},
	{
		accountant.RaiseEntry{Limit: annLimit(7)[0], Who: "carol", Reason: "why"},
		`"raise":{"limit":{"kind":"analyst","name":"ann","measure":"pure","pico":7},"who":"carol","reason":"why"}`,
	},
	{accountant.ChargeEntry(one(1 << 53)), `"charge":{"analyst":"ann","shape":"shape","events":["laplace \u003c1\u003e"],` +
		`"debits":[{"kind":"analyst","name":"ann","measure":"pure","pico":9007199254740992}]}`},
	{accountant.ChargeEntry{Analyst: "ann", Debits: []accountant.Debit{
		{Scope: annScope, Loss: accountanttest.ZCDP(0, dp.AttoPerUnit)},
	}}, `"charge":{"analyst":"ann","debits":[{"kind":"analyst","name":"ann","measure":"zcdp","pico":0,"atto":"1000000000000000000"}]}`},
	{accountant.VoidEntry{Charge: 0}, `"void":0`},
	{accountant.VoidEntry{Charge: 1<<64 - 1}, `"void":18446744073709551615`},
	{accountant.IncidentEntry{Charge: 3, Analyst: "ann", Shape: "s"}, `"incident":{"charge":3,"analyst":"ann","shape":"s"}`},
	{accountant.ClearEntry{Analyst: "ann", Reason: "why"}, `"clear":{"analyst":"ann","reason":"why"}`},
	{accountant.ClearEntry{Reason: "why"}, `"clear":{"reason":"why"}`},
}

func TestFormat(t *testing.T) {
	prev := sha256.Sum256(nil)
	noon := time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)
	for _, f := range format {
		got, err := encodeRecord(9, prev, noon, f.entry)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"seq":9,"prev":"` + hex.EncodeToString(prev[:]) + `","time":"2024-05-06T12:00:00Z",` + f.json + `}`
		if string(got) != want {
			t.Errorf("%#v is written as\n%s\nwant\n%s", f.entry, got, want)
		}
		r, err := decodeRecord(got, 9, prev)
		if err != nil {
			t.Errorf("%s: %v", got, err)
			continue
		}
		if d := cmp.Diff(Record{9, noon, f.entry, got}, r, cmp.AllowUnexported(dp.Loss{})); d != "" {
			t.Errorf("%s is read as something else: %s", got, d)
		}
	}
}

func TestHeaderFormat(t *testing.T) {
	id := ledgerID{1, 2, 3}
	want := "64706c6564676572" + "00000001" + "01020300000000000000000000000000" + "3d7203f3"
	if got := hex.EncodeToString(encodeHeader(id)); got != want {
		t.Errorf("the header is %s, want %s", got, want)
	}
	if got, err := decodeHeader(encodeHeader(id)); got != id || err != nil {
		t.Errorf("the header is read as %v, %v", got, err)
	}
}

func TestMarkFormat(t *testing.T) {
	m := mark{ledgerID{1}, 1<<64 - 1, hash{2}}
	slot := m.slot()
	want := "dpledger mark ledger=01000000000000000000000000000000 seq=18446744073709551615 head=02" + strings.Repeat("00", 31) + " "
	if len(slot) != slotSize || !strings.HasPrefix(string(slot), want) || slot[slotSize-1] != '\n' {
		t.Errorf("the mark is %q", slot)
	}
	if got, err := parseSlot(slot); got != m || err != nil {
		t.Errorf("the mark is read as %v, %v", got, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	prev := hash{}
	head := `{"seq":1,"prev":"` + hex.EncodeToString(prev[:]) + `"`
	for name, payload := range map[string]string{
		"no JSON":           `x`,
		"another number":    `{"seq":2,"prev":"` + hex.EncodeToString(prev[:]) + `","void":1}`,
		"another chain":     `{"seq":1,"prev":"00","void":1}`,
		"no step":           head + `}`,
		"two steps":         head + `,"void":1,"run":{"boot":"b"}}`,
		"an unknown step":   head + `,"refund":1}`,
		"bytes after it":    head + `,"void":1} {}`,
		"an unknown field":  head + `,"run":{"boot":"b","x":1}}`,
		"no measure":        head + `,"limits":[{"kind":"unit","name":"u","measure":"","pico":1}]}`,
		"a negative limit":  head + `,"limits":[{"kind":"unit","name":"u","measure":"pure","pico":-1}]}`,
		"a negative charge": head + `,"charge":{"analyst":"a","debits":[{"kind":"unit","name":"u","measure":"zcdp","pico":-1}]}}`,
		"a negative raise":  head + `,"raise":{"limit":{"kind":"unit","name":"u","measure":"zcdp","pico":-1},"who":"w","reason":"r"}}`,
		"a fraction":        head + `,"limits":[{"kind":"unit","name":"u","measure":"pure","pico":0.5}]}`,
		"delta of pure":     head + `,"limits":[{"kind":"unit","name":"u","measure":"pure","pico":1,"atto":"1"}]}`,
	} {
		if r, err := decodeRecord([]byte(payload), 1, prev); err == nil {
			t.Errorf("%s: %s was read as %#v", name, payload, r.Entry)
		}
	}
}

// FuzzLog reads any bytes as a log. It must end with io.EOF, a torn tail or an
// error, and account for every byte.
func FuzzLog(f *testing.F) {
	header := encodeHeader(ledgerID{})
	prev := sha256.Sum256(header)
	payload, err := encodeRecord(1, prev, time.Time{}, accountant.LimitsEntry(accountanttest.Limits()))
	if err != nil {
		f.Fatal(err)
	}
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
