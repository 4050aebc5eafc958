package witness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/dp"
)

var testKey = bytes.Repeat([]byte{7}, 32)

const testLedger = "0123456789abcdef0123456789abcdef"

// memory is a place in memory.
type memory struct {
	kept   []byte
	err    error
	writes []int // their lengths
	others map[string][]byte
}

func (m *memory) Name() string { return "memory" }

func (m *memory) Read(context.Context, string) ([]byte, error) { return m.kept, m.err }

func (m *memory) Write(_ context.Context, _ string, old, sealed []byte) (bool, error) {
	if m.err != nil || !bytes.Equal(m.kept, old) {
		return false, m.err
	}
	if bytes.Equal(sealed, old) {
		return false, errors.New("the same bytes are written again")
	}
	m.kept, m.writes = bytes.Clone(sealed), append(m.writes, len(sealed))
	return true, nil
}

func (m *memory) Others(context.Context, string) (map[string][]byte, error) {
	return maps.Clone(m.others), m.err
}

func (m *memory) Remove(_ context.Context, ledger string) error {
	delete(m.others, ledger)
	return m.err
}

// counter is a ledger that has so many entries, of which each spent a pico.
type counter uint64

func (c counter) Durable(context.Context) (history.Moment, error) { return c.moment(), nil }

func (c counter) moment() history.Moment {
	return history.Moment{Ledger: testLedger, Seq: uint64(c), Head: headOf(uint64(c)), Balances: []accountant.Balance{
		balance("unit", uint64(c), 0), balance("ana", uint64(c)/2, 3),
	}}
}

func (c counter) past(prepaid ...accountant.Debit) history.Past {
	return history.Past{Moment: c.moment(), Prepaid: prepaid, HeadOf: func(_ context.Context, seq uint64) (history.Hash, error) {
		if seq > uint64(c) {
			return history.Hash{}, history.ErrNoEntry
		}
		return headOf(seq), nil
	}}
}

func headOf(seq uint64) history.Hash { return sha256.Sum256([]byte(fmt.Sprint(seq))) }

func balance(name string, spent, held uint64) accountant.Balance {
	return accountant.Balance{
		Scope: accountant.Scope{Kind: accountant.UnitScope, Name: name},
		Limit: loss(1 << 40), Spent: loss(spent), Held: loss(held),
	}
}

func loss(pico uint64) dp.Loss {
	l, err := dp.NewLoss(dp.ZCDP, int64(pico), int64(pico)*2)
	if err != nil {
		panic(err)
	}
	return l
}

func witnessOf(t *testing.T, now *time.Time, shared bool, places ...Place) *Witness {
	t.Helper()
	return New(testKey, shared, slog.New(slog.DiscardHandler), func() time.Time { return *now }, places...)
}

// TestSeal holds that a mark is read as it was written, by the key and for the ledger alone, and that its length tells
// nothing but which budgets there are.
func TestSeal(t *testing.T) {
	var lengths []int
	for _, c := range []counter{1, 999_999_999} {
		sealed, err := seal(testKey, c.moment())
		if err != nil {
			t.Fatal(err)
		}
		lengths = append(lengths, len(sealed))
		m, err := unseal(testKey, testLedger, sealed)
		if want := c.moment(); err != nil || fmt.Sprint(m) != fmt.Sprint(want) {
			t.Errorf("%v, want %v: %v", m, want, err)
		}
		if _, err := unseal(bytes.Repeat([]byte{8}, 32), testLedger, sealed); !errors.Is(err, ErrSeal) {
			t.Errorf("with another key: %v", err)
		}
		if _, err := unseal(testKey, strings.ToUpper(testLedger), sealed); !errors.Is(err, ErrSeal) {
			t.Errorf("of another ledger: %v", err)
		}
		sealed[len(sealed)/2] ^= 1
		if _, err := unseal(testKey, testLedger, sealed); !errors.Is(err, ErrSeal) {
			t.Errorf("damaged: %v", err)
		}
	}
	if lengths[0] != lengths[1] {
		t.Errorf("the lengths tell how much was spent: %v", lengths)
	}
}

// TestConfirm holds that a ledger which lacks the entry of a mark is refused, with the losses that it has to count again.
func TestConfirm(t *testing.T) {
	now := time.Unix(0, 0)
	p := &memory{}
	w := witnessOf(t, &now, false, p)
	if err := w.Confirm(t.Context(), counter(5).past()); err != nil {
		t.Errorf("no mark: %v", err)
	}
	if err := w.Mark(t.Context(), counter(10)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []counter{10, 11, 5000} {
		if err := w.Confirm(t.Context(), c.past()); err != nil {
			t.Errorf("a ledger of %d entries: %v", c, err)
		}
	}
	err := w.Confirm(t.Context(), counter(4).past())
	behind, ok := errors.AsType[*BehindError](err)
	if !ok || behind.Forked() || behind.Has != 4 || behind.Mark.Seq != 10 {
		t.Fatalf("an older one: %v", err)
	}
	// ana had 5 spent and 3 held at the mark, and has 2.
	want := []accountant.Debit{
		{Scope: accountant.Scope{Kind: accountant.UnitScope, Name: "unit"}, Loss: loss(6)},
		{Scope: accountant.Scope{Kind: accountant.UnitScope, Name: "ana"}, Loss: loss(6)},
	}
	if fmt.Sprint(behind.Lost) != fmt.Sprint(want) {
		t.Errorf("lost %v, want %v", behind.Lost, want)
	}
	behind, _ = errors.AsType[*BehindError](w.Confirm(t.Context(), counter(4).past(want[0])))
	if behind.Lost[0].Loss != loss(12) {
		t.Errorf("with a prepaid amount, which may have been used: %v", behind.Lost)
	}
	forked := counter(20).past()
	forked.HeadOf = func(_ context.Context, seq uint64) (history.Hash, error) { return headOf(seq + 1000), nil }
	behind, ok = errors.AsType[*BehindError](w.Confirm(t.Context(), forked))
	if !ok || !behind.Forked() || behind.Lost[0].Loss != loss(10) || behind.Lost[1].Loss != loss(8) {
		t.Errorf("an older one that went on: %v", behind)
	}
	p.err = errors.New("away")
	if err := w.Confirm(t.Context(), counter(10).past()); !errors.Is(err, p.err) {
		t.Errorf("a place that cannot be read: %v", err)
	}
	p.err, p.kept = nil, []byte("what is that?")
	if err := w.Confirm(t.Context(), counter(10).past()); !errors.Is(err, ErrSeal) {
		t.Errorf("a mark that is none: %v", err)
	}
}

// TestDecisions holds that a mended ledger has the budgets of the mark, its lower limits and its freezes, and none is raised.
func TestDecisions(t *testing.T) {
	marked := []accountant.Balance{balance("new", 1, 0), balance("lowered", 1, 0), balance("raised", 1, 0), balance("frozen", 1, 0)}
	marked[1].Limit, marked[2].Limit, marked[3].Frozen = loss(5), loss(1<<41), true
	has := []accountant.Balance{balance("lowered", 1, 0), balance("raised", 1, 0), balance("frozen", 1, 0)}
	e := &BehindError{Mark: Mark{Balances: marked}, Lost: []accountant.Debit{{Scope: marked[0].Scope, Loss: loss(1)}}}
	limits, decisions, err := e.Decisions(has, "who", "why")
	if err != nil || len(limits) != 1 || limits[0].Scope.Name != "new" || len(decisions) != 3 {
		t.Fatalf("%v, %v, %v", limits, decisions, err)
	}
	if d, ok := decisions[0].(history.LowerEntry); !ok || d.Limit.Scope.Name != "lowered" || d.Limit.Loss != loss(5) {
		t.Errorf("%v", decisions[0])
	}
	if d, ok := decisions[1].(history.FreezeEntry); !ok || d.Scope.Name != "frozen" || !d.Frozen {
		t.Errorf("%v", decisions[1])
	}
	if d, ok := decisions[2].(history.RestoreEntry); !ok || len(d.Debits) != 1 {
		t.Errorf("%v", decisions[2])
	}
}

// TestTicks holds that each tick writes the mark of the one before, in as many bytes, whether there is something new or not.
func TestTicks(t *testing.T) {
	now := time.Unix(0, 0)
	p := &memory{}
	w := witnessOf(t, &now, false, p)
	if err := w.Mark(t.Context(), counter(1)); err != nil {
		t.Fatal(err)
	}
	before := counter(1)
	for _, c := range []counter{7, 7, 7, 1000, 123456} {
		now = now.Add(time.Second)
		w.Tick(t.Context(), c)
		m, err := unseal(testKey, testLedger, p.kept)
		if err != nil || m.Seq != uint64(before) {
			t.Errorf("the mark of entry %d was written, want %d: %v", m.Seq, before, err)
		}
		before = c
	}
	for _, n := range p.writes {
		if n != p.writes[0] || len(p.writes) != 6 {
			t.Errorf("the lengths of writes tell what is new: %v", p.writes)
		}
	}
	if w.Interval() != time.Second {
		t.Errorf("the interval is %v", w.Interval())
	}
}

// TestLate holds that nothing is charged when no place has taken a mark for long, and again once one does.
func TestLate(t *testing.T) {
	now := time.Unix(0, 0)
	p, other := &memory{}, &memory{}
	w := witnessOf(t, &now, false, p, other)
	if err := w.Mark(t.Context(), counter(1)); err != nil {
		t.Fatal(err)
	}
	step := func(want error) {
		t.Helper()
		now = now.Add(Patience + time.Second)
		w.Tick(t.Context(), counter(1))
		if err := w.Err(); !errors.Is(err, want) || want != nil && !errors.Is(err, accountant.ErrUnavailable) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	p.err = errors.New("away")
	step(nil) // there is the other
	other.err = p.err
	step(ErrLate)
	p.err = nil
	step(nil)
}

// TestOtherProcess holds that a process whose ledger is a copy that another one goes on with charges nothing any more, and
// that it is told from a place that was restored.
func TestOtherProcess(t *testing.T) {
	now := time.Unix(0, 0)
	for _, c := range []struct {
		kept   counter // 0: nothing
		fork   bool
		shared bool
		want   error
		then   uint64 // the mark that is kept
	}{
		{kept: 30, want: ErrOther, then: 30},
		{kept: 30, shared: true, then: 30},
		{kept: 5, then: 20},
		{kept: 0, then: 20},
		{kept: 5, shared: true, then: 20},
		{kept: 20, fork: true, want: ErrOther, then: 20},
		{kept: 20, fork: true, shared: true, want: ErrOther, then: 20},
	} {
		p := &memory{}
		w := witnessOf(t, &now, c.shared, p)
		if err := w.Mark(t.Context(), counter(20)); err != nil {
			t.Fatal(err)
		}
		p.kept = nil
		if c.kept > 0 {
			m := c.kept.moment()
			if c.fork {
				m.Head = headOf(1)
			}
			var err error
			if p.kept, err = seal(testKey, m); err != nil {
				t.Fatal(err)
			}
		}
		w.Tick(t.Context(), counter(20))
		m, err := unseal(testKey, testLedger, p.kept)
		if !errors.Is(w.Err(), c.want) || err != nil || m.Seq != c.then {
			t.Errorf("%+v: %v, and the mark of entry %d is kept: %v", c, w.Err(), m.Seq, err)
		}
	}
}

// TestFile holds that a file keeps one ledger's mark, and that a folder which is not there is an error and no mark that is lacking.
func TestFile(t *testing.T) {
	f := File(filepath.Join(t.TempDir(), "mark"))
	now := time.Unix(0, 0)
	w := witnessOf(t, &now, false, f)
	if err := w.Confirm(t.Context(), counter(1).past()); err != nil {
		t.Error(err)
	}
	for range 3 {
		if err := w.Mark(t.Context(), counter(9)); err != nil {
			t.Fatal(err)
		}
	}
	if err := witnessOf(t, &now, false, f).Confirm(t.Context(), counter(3).past()); err == nil {
		t.Error("an older ledger is confirmed")
	}
	if _, err := f.Read(t.Context(), strings.ToUpper(testLedger)); err == nil {
		t.Error("another ledger's mark is read")
	}
	if _, err := (f + "/gone/mark").Read(t.Context(), testLedger); err == nil {
		t.Error("a folder that is not there has no mark")
	}
}

// refusal is an error of a server.
type refusal struct{}

func (refusal) Error() string    { return "Key (name)=(Ada) already exists" }
func (refusal) SQLState() string { return "23505" }

// TestFailuresInTheLog holds that the log has no words of a server.
func TestFailuresInTheLog(t *testing.T) {
	var said bytes.Buffer
	now, place := time.Unix(1_700_000_000, 0), &memory{}
	w := witnessOf(t, &now, false, place)
	w.log = slog.New(slog.NewTextHandler(&said, nil))
	place.err = fmt.Errorf("the mark: %w", refusal{})
	w.Tick(t.Context(), counter(5))
	if text := said.String(); !strings.Contains(text, "SQLSTATE 23505") || strings.Contains(text, "Ada") {
		t.Errorf("the log says %s", text)
	}
}
