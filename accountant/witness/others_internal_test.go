package witness

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpproxy/accountant"
)

const otherLedger = "fedcba9876543210fedcba9876543210"

// sealedOther is the mark of another ledger, in other bytes at each call.
func sealedOther(t *testing.T, key []byte) []byte {
	t.Helper()
	m := counter(3).moment()
	m.Ledger = otherLedger
	sealed, err := seal(key, m)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// TestAlone holds that a ledger is opened only if no other of its secret is being marked, however late within its interval.
func TestAlone(t *testing.T) {
	now := time.Unix(0, 0)
	strange := bytes.Repeat([]byte{8}, 32)
	for name, c := range map[string]struct {
		key   []byte
		there bool
		after int // pauses until the mark is written anew, 0: it is not
		want  error
		found int
	}{
		"nothing":                 {key: testKey},
		"dead":                    {key: testKey, there: true, found: 1},
		"written at once":         {key: testKey, there: true, after: 1, want: ErrSecond},
		"written late":            {key: testKey, there: true, after: int(shortest/poll) + 2, want: ErrSecond},
		"of another secret":       {key: strange, there: true},
		"of another, and written": {key: strange, there: true, after: 1},
	} {
		p := &memory{others: map[string][]byte{}}
		if c.there {
			p.others[otherLedger] = sealedOther(t, c.key)
		}
		w := witnessOf(t, &now, false, &memory{}, p)
		pauses := 0
		w.pause = func(context.Context, time.Duration) error {
			if pauses++; pauses == c.after {
				p.others[otherLedger] = sealedOther(t, c.key)
			}
			return nil
		}
		found, err := w.Alone(t.Context(), testLedger)
		if !errors.Is(err, c.want) || len(found) != c.found {
			t.Errorf("%s: %v, %v", name, found, err)
		}
		if c.found == 0 && c.want == nil && pauses > 0 {
			t.Errorf("%s: a start waits for nothing", name)
		}
		if c.want != nil && !strings.Contains(err.Error(), otherLedger) {
			t.Errorf("%s: %v does not name the ledger", name, err)
		}
		if err := w.Remove(t.Context(), found); err != nil || c.found > 0 && len(p.others) > 0 {
			t.Errorf("%s: %v are left: %v", name, p.others, err)
		}
	}
}

// TestSecondLedger holds that a process charges nothing any more once another ledger of its secret is marked anew, that it leaves
// its own mark then, and that neither a dead one nor that of another secret hinders it.
func TestSecondLedger(t *testing.T) {
	now := time.Unix(0, 0)
	dead := sealedOther(t, testKey)
	for name, c := range map[string]struct {
		first, then []byte
		want        error
	}{
		"dead":              {dead, dead, nil},
		"removed":           {dead, nil, nil},
		"written anew":      {dead, sealedOther(t, testKey), ErrSecond},
		"new":               {nil, sealedOther(t, testKey), ErrSecond},
		"of another secret": {nil, sealedOther(t, bytes.Repeat([]byte{8}, 32)), nil},
	} {
		for _, shared := range []bool{false, true} {
			p := &memory{others: map[string][]byte{}}
			put := func(sealed []byte) {
				delete(p.others, otherLedger)
				if sealed != nil {
					p.others[otherLedger] = sealed
				}
			}
			put(c.first)
			w := witnessOf(t, &now, shared, p)
			w.pause = func(context.Context, time.Duration) error { return nil }
			if _, err := w.Alone(t.Context(), testLedger); err != nil {
				t.Fatal(err)
			}
			if err := w.Mark(t.Context(), counter(20)); err != nil {
				t.Fatal(err)
			}
			w.Tick(t.Context(), counter(21))
			put(c.then)
			w.Tick(t.Context(), counter(22))
			err := w.Err()
			if !errors.Is(err, c.want) || c.want != nil && !errors.Is(err, accountant.ErrUnavailable) {
				t.Errorf("%s: %v", name, err)
			}
			put(c.then) // it stays so
			w.Tick(t.Context(), counter(23))
			if !errors.Is(w.Err(), c.want) {
				t.Errorf("%s: afterwards %v", name, w.Err())
			}
		}
	}
}

// TestUnseenOthers holds that a place which cannot be searched for other ledgers takes no marks: after a while nothing is charged.
func TestUnseenOthers(t *testing.T) {
	now := time.Unix(0, 0)
	p := &blind{}
	w := witnessOf(t, &now, false, p)
	if err := w.Mark(t.Context(), counter(1)); err != nil {
		t.Fatal(err)
	}
	now = now.Add(Patience + time.Second)
	w.Tick(t.Context(), counter(1))
	if err := w.Err(); !errors.Is(err, ErrLate) {
		t.Errorf("charges go on unseen: %v", err)
	}
	if _, err := w.Alone(t.Context(), testLedger); !errors.Is(err, errBlind) {
		t.Errorf("a start: %v", err)
	}
}

// blind does not show marks of other ledgers.
type blind struct{ memory }

var errBlind = errors.New("blind")

func (*blind) Others(context.Context, string) (map[string][]byte, error) { return nil, errBlind }

// TestFileOfAnother holds that a file shows the mark of another ledger, and loses it on demand alone.
func TestFileOfAnother(t *testing.T) {
	f := File(filepath.Join(t.TempDir(), "mark"))
	sealed := sealedOther(t, testKey)
	if others, err := f.Others(t.Context(), testLedger); err != nil || len(others) > 0 {
		t.Errorf("without a file: %v, %v", others, err)
	}
	if done, err := f.Write(t.Context(), otherLedger, nil, sealed); err != nil || !done {
		t.Fatal(done, err)
	}
	if err := f.Remove(t.Context(), testLedger); err != nil {
		t.Fatal(err)
	}
	if others, err := f.Others(t.Context(), testLedger); err != nil || !bytes.Equal(others[otherLedger], sealed) {
		t.Errorf("%x, %v", others, err)
	}
	if others, err := f.Others(t.Context(), otherLedger); err != nil || len(others) > 0 {
		t.Errorf("its own: %v, %v", others, err)
	}
	if err := f.Remove(t.Context(), otherLedger); err != nil {
		t.Fatal(err)
	}
	if kept, err := f.Read(t.Context(), testLedger); err != nil || kept != nil {
		t.Errorf("after it was removed: %x, %v", kept, err)
	}
}
