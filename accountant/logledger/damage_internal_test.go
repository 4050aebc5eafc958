package logledger

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
	"dpproxy/dp"
)

var annScope = accountant.Scope{Kind: accountant.AnalystScope, Name: "ann"}

// one charges ε = n picos to ann.
func one(n int64) accountant.Charge {
	return accountanttest.Charge(accountant.Debit{Scope: annScope, Loss: accountanttest.Pure(n)})
}

// annLimit gives ann ε = n picos.
func annLimit(n int64) []accountant.Limit {
	return []accountant.Limit{{Scope: annScope, Loss: accountanttest.Pure(n)}}
}

func mountAndOpen(t testing.TB, d *fakeDisk, limits []accountant.Limit) (*Ledger, error) {
	t.Helper()
	return open(t.Context(), d.mount(), limits, Options{Create: true})
}

func annSpent(t testing.TB, l *Ledger) int64 {
	t.Helper()
	b, err := l.Balances(t.Context(), annScope)
	if err != nil {
		t.Fatal(err)
	}
	return b[0].Spent.Pico()
}

// A past is the files of a ledger of entries, one acknowledged after the other,
// with its state after each of them.
type past struct {
	files  map[string][]byte
	ends   []int64  // ends[k] is where entry k ends; ends[0] is the header's end
	spent  []int64  // by ann, after entry k
	marks  [][]byte // the mark's file after entry k; nil before the first run
	limits []accountant.Limit
}

// recordHistory makes the history of a run of charges of 1, 2, 4, ... picos.
func recordHistory(t *testing.T, charges int) past {
	t.Helper()
	h := past{limits: annLimit(dp.MaxPico), ends: []int64{headerSize}, spent: []int64{0}, marks: [][]byte{nil}}
	d := newFakeDisk()
	l, err := mountAndOpen(t, d, h.limits)
	if err != nil {
		t.Fatal(err)
	}
	for i := range charges {
		if _, err := l.Charge(t.Context(), one(1<<i)); err != nil {
			t.Fatal(err)
		}
		h.marks = append(h.marks, d.files()[markName])
	}
	// The run and its limits were acknowledged together.
	h.marks = slices.Insert(h.marks, 1, nil, nil)
	h.files = d.files()
	h.measure(t)
	return h
}

func (h *past) measure(t *testing.T) {
	t.Helper()
	r, err := newLogReader(strings.NewReader(string(h.files[logName])))
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := r.next(); err != nil {
			break
		}
		spent := int64(0)
		if b, err := r.state.Balances(annScope); err == nil {
			spent = b[0].Spent.Pico()
		}
		h.ends, h.spent = append(h.ends, r.at.offset), append(h.spent, spent)
	}
}

func (h *past) last() int { return len(h.ends) - 1 }

// with returns a disk with the given log and the mark after entry k.
func (h *past) with(log []byte, k int) *fakeDisk {
	return diskWith(map[string][]byte{logName: log, markName: h.marks[k]})
}

func wantCorrupt(t *testing.T, d *fakeDisk, limits []accountant.Limit, what string) {
	t.Helper()
	before := d.files()
	l, err := mountAndOpen(t, d, limits)
	if err == nil {
		l.Close()
	}
	if _, ok := errors.AsType[*CorruptError](err); !ok {
		t.Fatalf("%s: Open returned %v, want a CorruptError", what, err)
	}
	if !maps.EqualFunc(before, d.files(), slices.Equal) {
		t.Fatalf("%s: a refused ledger was changed", what)
	}
	if d.locked {
		t.Fatalf("%s: a refused ledger stays locked", what)
	}
}

// wantAlive opens the ledger, expects ann to have spent something, and lives
// through a charge, a crash and two more restarts.
func wantAlive(t *testing.T, d *fakeDisk, limits []accountant.Limit, spent int64) {
	t.Helper()
	for restart := range int64(3) {
		l, err := mountAndOpen(t, d, limits)
		if err != nil {
			t.Fatalf("restart %d: %v", restart, err)
		}
		if got := annSpent(t, l); got != spent+restart {
			t.Fatalf("restart %d: spent %d, want %d", restart, got, spent+restart)
		}
		if _, err := l.Charge(t.Context(), one(1)); err != nil {
			t.Fatal(err)
		}
		d.crash(nil)
	}
}

// TestCut cuts a log everywhere. A cut behind the mark leaves the entries before
// it; one before the mark is a log that went backwards.
func TestCut(t *testing.T) {
	h := recordHistory(t, 5)
	const marked = 4
	log := h.files[logName]
	for cut := range len(log) + 1 {
		whole, _ := slices.BinarySearch(h.ends, int64(cut)+1)
		whole-- // the number of whole entries, −1 when the header is cut
		if whole < marked {
			wantCorrupt(t, h.with(log[:cut], marked), h.limits, "cut before the mark")
			continue
		}
		wantAlive(t, h.with(log[:cut], marked), h.limits, h.spent[whole])
	}
}

// TestFlip damages every byte of a log. It is noticed, except that the last
// entry, when no mark on disk speaks for it, passes for an interrupted write.
func TestFlip(t *testing.T) {
	h := recordHistory(t, 5)
	const marked = 4
	log := h.files[logName]
	for i := range log {
		for _, bits := range []byte{0x01, 0x80} {
			bad := slices.Clone(log)
			bad[i] ^= bits
			wantCorrupt(t, h.with(bad, h.last()), h.limits, "flip in acknowledged bytes")
			if int64(i) < h.ends[h.last()-1] {
				wantCorrupt(t, h.with(bad, marked), h.limits, "flip before the last entry")
				continue
			}
			wantAlive(t, h.with(bad, marked), h.limits, h.spent[h.last()-1])
		}
	}
}

// TestFlipHeader damages the header of a log that holds nothing yet, so that
// nothing but its own checksum can tell.
func TestFlipHeader(t *testing.T) {
	for i := range headerSize {
		bad := encodeHeader(ledgerID{7})
		bad[i] ^= 0x01
		wantCorrupt(t, diskWith(map[string][]byte{logName: bad}), nil, "flip in the header")
	}
	wantAlive(t, diskWith(map[string][]byte{logName: encodeHeader(ledgerID{7})}), annLimit(9), 0)
}

// TestFlipMark damages the mark: one slot is enough, none is not.
func TestFlipMark(t *testing.T) {
	h := recordHistory(t, 3)
	for i := range 2 * slotSize {
		d := h.with(h.files[logName], h.last())
		d.names[markName].data[i] ^= 0x01
		wantAlive(t, d, h.limits, h.spent[h.last()])
	}
	for i := range slotSize {
		d := h.with(h.files[logName], h.last())
		d.names[markName].data[i] ^= 0x01
		d.names[markName].data[2*slotSize-1-i] ^= 0x80
		wantCorrupt(t, d, h.limits, "flip in both slots")
	}
}

// TestTornBytes appends bytes that interrupted writes leave, and bytes that they do not.
func TestTornBytes(t *testing.T) {
	h := recordHistory(t, 3)
	log := h.files[logName]
	frame := log[h.ends[h.last()-1]:]
	source := rand.New(rand.NewChaCha8([32]byte{1}))
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(source.Uint32())
	}
	for name, tail := range map[string][]byte{
		"zeros": make([]byte, 5000), "noise": noise, "half a frame": frame[:len(frame)/2], "one byte": {7},
	} {
		t.Run(name, func(t *testing.T) {
			wantAlive(t, h.with(append(slices.Clone(log), tail...), h.last()), h.limits, h.spent[h.last()])
		})
	}
	for name, tail := range map[string][]byte{
		"a frame twice":           frame,
		"a frame after zeros":     append(make([]byte, 100), frame...),
		"a frame after noise":     append(slices.Clone(noise), frame...),
		"more than one write":     make([]byte, maxTorn+1),
		"a frame without a chain": appendFrame(nil, []byte(`{"seq":6,"prev":"","settle":1}`)),
	} {
		t.Run(name, func(t *testing.T) {
			wantCorrupt(t, h.with(append(slices.Clone(log), tail...), h.last()), h.limits, name)
		})
	}
}

// TestRollback restores old files, whole ones without damage.
func TestRollback(t *testing.T) {
	h := recordHistory(t, 4)
	other := recordHistory(t, 4)
	k := h.last() - 2
	for name, files := range map[string]map[string][]byte{
		"an old log":                {logName: h.files[logName][:h.ends[k]], markName: h.marks[h.last()]},
		"an old log, continued":     {logName: h.forked(t, k), markName: h.marks[h.last()]},
		"a log of another ledger":   {logName: other.files[logName], markName: h.marks[h.last()]},
		"an empty log":              {logName: h.files[logName][:headerSize], markName: h.marks[h.last()]},
		"an empty file":             {logName: nil, markName: h.marks[h.last()]},
		"no log":                    {markName: h.marks[h.last()]},
		"no mark":                   {logName: h.files[logName]},
		"an empty mark":             {logName: h.files[logName], markName: nil},
		"another version's header":  {logName: withVersion(h.files[logName], version+1), markName: h.marks[h.last()]},
		"something else altogether": {logName: []byte(strings.Repeat("not a ledger\n", 10)), markName: h.marks[h.last()]},
	} {
		t.Run(name, func(t *testing.T) { wantCorrupt(t, diskWith(files), h.limits, name) })
	}
	wantAlive(t, h.with(h.files[logName], h.last()), h.limits, h.spent[h.last()])
}

// TestReasons checks that damage of different causes is told apart.
func TestReasons(t *testing.T) {
	h, other := recordHistory(t, 2), recordHistory(t, 2)
	mark, log := h.marks[h.last()], h.files[logName]
	for want, files := range map[string]map[string][]byte{
		"the log is of the ledger":                 {logName: other.files[logName], markName: mark},
		"it ends with entry 3, and entry 4 was":    {logName: log[:h.ends[3]], markName: mark},
		"the log was replaced and continued":       {logName: h.forked(t, 3), markName: mark},
		"a format of another version":              {logName: withVersion(log, 9), markName: mark},
		"the log is missing, and its mark is":      {markName: mark},
		"the mark is missing":                      {logName: log},
		"and a valid one after it at byte":         {logName: slices.Concat(log, []byte{9}, log[h.ends[3]:]), markName: mark},
		"more bytes after it than one write":       {logName: append(slices.Clone(log), make([]byte, maxTorn+1)...), markName: mark},
		"the mark in ledger.mark is unreadable":    {logName: log, markName: {}},
		"damaged at byte 0: the header is cut":     {logName: {1}, markName: mark},
		"damaged at byte 0: this is not a ledger":  {logName: make([]byte, 99), markName: mark},
		"entry 4 stands where 5 is due":            {logName: slices.Concat(log, log[h.ends[3]:]), markName: mark},
		"entry 5 is not a valid step: accountant:": {logName: appendFrame(slices.Clone(log), h.settle(t, 1)), markName: mark},
	} {
		_, err := mountAndOpen(t, diskWith(files), h.limits)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open: %v, want %q", err, want)
		}
	}
}

// settle returns a well-formed next payload that settles a hold.
func (h *past) settle(t *testing.T, id accountant.ChargeID) []byte {
	t.Helper()
	head := sha256.Sum256(h.files[logName][h.ends[h.last()-1]+frameHead:])
	body, err := history.Prepare("", history.SettleEntry{Hold: id})
	if err != nil {
		t.Fatal(err)
	}
	return body.Line(uint64(h.last()+1), head, time.Time{})
}

// forked returns a log that shares k entries with h and then goes its own way,
// further than h.
func (h *past) forked(t *testing.T, k int) []byte {
	t.Helper()
	d := h.with(h.files[logName][:h.ends[k]], k)
	wantAlive(t, d, h.limits, h.spent[k])
	return d.files()[logName]
}

func withVersion(log []byte, v byte) []byte {
	h := slices.Clone(log[:headerSize-4])
	h[len(magic)+3] = v
	h = binary.BigEndian.AppendUint32(h, crc32.Checksum(h, castagnoli))
	return append(h, log[headerSize:]...)
}
