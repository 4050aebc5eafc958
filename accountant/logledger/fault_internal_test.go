package logledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
)

// budget is the most that ann may spend in these tests, in picos.
const budget = 60

// nth returns a fault of the n-th operation, from 0. With dead every later one
// fails too, as if the machine had stopped.
func nth(n int, dead bool) (fault func(op, name string) error, happened func() bool) {
	count := 0
	return func(string, string) error {
			count++
			if count-1 == n || dead && count-1 > n {
				return errInjected
			}
			return nil
		}, func() bool {
			return count > n
		}
}

// A script is a short life of a ledger: two runs with charges of one pico, a
// torn tail between them. It returns how many charges were tried and how many
// acknowledged, and fails the test if a ledger works again after a failure.
func script(t *testing.T, d *fakeDisk) (tried, acked int64) {
	t.Helper()
	for range 2 {
		l, err := mountAndOpen(t, d, annLimit(budget))
		if err != nil {
			continue
		}
		failed := false
		for range 3 {
			tried++
			_, err := l.Charge(t.Context(), one(1))
			switch {
			case err == nil && failed:
				t.Fatal("a ledger came back after a failure")
			case err == nil:
				acked++
			case !errors.Is(err, accountant.ErrUnavailable):
				t.Fatalf("Charge: %v, want ErrUnavailable", err)
			default:
				failed = true
			}
		}
		if _, err := l.Balances(t.Context()); failed != errors.Is(err, accountant.ErrUnavailable) {
			t.Fatalf("Balances of a ledger with failed=%t: %v", failed, err)
		}
		_ = l.Close() // it may meet the fault
		if n := d.names[logName]; n != nil {
			n.data = append(n.data, 0, 0, 1, 2, 3) // the remains of an interrupted write
		}
	}
	return tried, acked
}

// TestFaultAtEveryOperation fails each operation of the script in turn, once or
// for good, then crashes the machine. Every acknowledged charge survives, and
// nothing is there that was not tried.
func TestFaultAtEveryOperation(t *testing.T) {
	for _, dead := range []bool{false, true} {
		for n := 0; ; n++ {
			d := newFakeDisk()
			fault, happened := nth(n, dead)
			d.fault = fault
			tried, acked := script(t, d)
			d.fault = nil
			if !happened() {
				if n < 20 || acked != tried {
					t.Fatalf("the script has only %d operations, or lost %d of %d charges", n, tried-acked, tried)
				}
				break
			}
			d.crash(rand.New(rand.NewPCG(uint64(n), 1)))
			spent := reopen(t, d, fmt.Sprintf("fault at %d, dead=%t", n, dead))
			if spent < acked || spent > tried {
				t.Fatalf("fault at %d, dead=%t: %d charges count, %d were acknowledged, %d tried", n, dead, spent, acked, tried)
			}
		}
	}
}

// TestCrashWhileRecovering crashes a recovery at each of its operations. The log
// it recovers ends with an entry that was written and never synced.
func TestCrashWhileRecovering(t *testing.T) {
	for n := 0; ; n++ {
		d := newFakeDisk()
		l, err := mountAndOpen(t, d, annLimit(budget))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Charge(t.Context(), one(3)); err != nil {
			t.Fatal(err)
		}
		d.fault, _ = nth(1, true) // the fsync after the write
		if _, err := l.Charge(t.Context(), one(4)); !errors.Is(err, accountant.ErrUnavailable) {
			t.Fatalf("Charge: %v, want ErrUnavailable", err)
		}
		_ = l.Close() // it meets the fault
		fault, happened := nth(n, true)
		d.fault = fault
		if _, err := mountAndOpen(t, d, annLimit(budget)); !happened() {
			if err != nil || n < 4 {
				t.Fatalf("Open: %v, after %d operations", err, n)
			}
			return
		}
		d.crash(nil)
		d.fault = nil
		if spent := reopen(t, d, fmt.Sprintf("crash at %d", n)); spent != 3 && spent != 7 {
			t.Fatalf("crash at %d: spent %d, want 3 or 7", n, spent)
		}
	}
}

// TestTornMark interrupts the writing of a mark: the mark before it still holds.
func TestTornMark(t *testing.T) {
	for charges := range 4 {
		d := newFakeDisk()
		l, err := mountAndOpen(t, d, annLimit(budget))
		if err != nil {
			t.Fatal(err)
		}
		for range charges {
			if _, err := l.Charge(t.Context(), one(1)); err != nil {
				t.Fatal(err)
			}
		}
		acked := l.at.seq
		d.fault = func(op, name string) error {
			if op == "write" && name == markName {
				return errInjected
			}
			return nil
		}
		if _, err := l.Charge(t.Context(), one(1)); !errors.Is(err, accountant.ErrUnavailable) {
			t.Fatalf("Charge: %v, want ErrUnavailable", err)
		}
		wantClosed(t, l)
		wantMark(t, d, acked)
	}
}

// TestMarkAfterClose crashes the machine after an orderly end: the mark is at the
// last entry.
func TestMarkAfterClose(t *testing.T) {
	d := newFakeDisk()
	l, err := mountAndOpen(t, d, annLimit(budget))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := l.Charge(t.Context(), one(1)); err != nil {
			t.Fatal(err)
		}
	}
	wantClosed(t, l)
	d.crash(nil)
	wantMark(t, d, l.at.seq)
}

func wantMark(t *testing.T, d *fakeDisk, seq uint64) {
	t.Helper()
	m, _, err := findMark(d.mount())
	if err != nil || m == nil || m.seq != seq {
		t.Errorf("the mark is %+v, %v, want entry %d", m, err, seq)
	}
}

// reopen opens the ledger as it is and returns the amount that ann has spent.
func reopen(t *testing.T, d *fakeDisk, what string) int64 {
	t.Helper()
	l, err := mountAndOpen(t, d, annLimit(budget))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	spent := annSpent(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return spent
}

// TestFailedSync lets the fsync of a batch of many charges fail: none of them is
// acknowledged, and none is afterwards.
func TestFailedSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDisk()
		l, err := mountAndOpen(t, d, annLimit(budget))
		if err != nil {
			t.Fatal(err)
		}
		d.fault = func(op, name string) error {
			if op == "sync" && name == logName {
				return errInjected
			}
			return nil
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := l.Charge(t.Context(), one(1)); !errors.Is(err, accountant.ErrUnavailable) {
					t.Errorf("Charge: %v, want ErrUnavailable", err)
				}
			})
		}
		wg.Wait()
		d.fault = nil
		if _, err := l.Charge(t.Context(), one(1)); !errors.Is(err, accountant.ErrUnavailable) || !errors.Is(err, errInjected) {
			t.Errorf("Charge after a failed fsync: %v, want ErrUnavailable and its cause", err)
		}
		l.Close()
		d.crash(nil)
		if spent := reopen(t, d, "failed fsync"); spent != 0 {
			t.Errorf("%d unsynced charges survived a crash of the machine", spent)
		}
	})
}

// TestGroupCommit holds the disk up and lets callers gather behind it.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDisk()
		l, err := mountAndOpen(t, d, annLimit(budget))
		if err != nil {
			t.Fatal(err)
		}
		syncs, held := 0, make(chan struct{})
		d.fault = func(op, name string) error {
			if op == "sync" && name == logName {
				syncs++
				<-held
			}
			return nil
		}
		charge := func() {
			if _, err := l.Charge(t.Context(), one(1)); err != nil {
				t.Errorf("Charge: %v", err)
			}
		}
		var wg sync.WaitGroup
		wg.Go(charge)
		synctest.Wait()
		for range 50 {
			wg.Go(charge)
		}
		synctest.Wait()
		close(held)
		wg.Wait()
		if syncs != 2 {
			t.Errorf("51 charges took %d fsyncs, want 2", syncs)
		}
		wantClosed(t, l)
	})
}

func wantClosed(t *testing.T, l *Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestGivingUp cancels a charge while it is being written: its caller gets an
// error, and it counts.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDisk()
		l, err := mountAndOpen(t, d, annLimit(budget))
		if err != nil {
			t.Fatal(err)
		}
		held := make(chan struct{})
		d.fault = func(string, string) error {
			<-held
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			id, err := l.Charge(ctx, one(7))
			if id != 0 || !errors.Is(err, context.Canceled) {
				t.Errorf("Charge = %d, %v, want context.Canceled", id, err)
			}
		})
		synctest.Wait()
		cancel()
		wg.Wait()
		close(held)
		wantClosed(t, l)
		if spent := reopen(t, d, "after giving up"); spent != 7 {
			t.Errorf("spent %d, want 7", spent)
		}
	})
}

// TestFullBatch gathers more than a batch holds behind a slow disk. Some callers
// wait for the next batch; one of them gives up without a charge.
func TestFullBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFakeDisk()
		l, err := mountAndOpen(t, d, annLimit(budget))
		if err != nil {
			t.Fatal(err)
		}
		held, longest := make(chan struct{}), 0
		d.fault = func(_, _ string) error {
			<-held
			longest = max(longest, len(d.names[logName].data)-len(d.names[logName].stable))
			return nil
		}
		big := one(1)
		big.Shape = string(make([]byte, maxBatch/12)) // six bytes of JSON each
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				if _, err := l.Charge(t.Context(), big); err != nil {
					t.Errorf("Charge: %v", err)
				}
			})
		}
		synctest.Wait()
		wg.Go(func() {
			if _, err := l.Charge(ctx, big); !errors.Is(err, context.Canceled) {
				t.Errorf("Charge = %v, want context.Canceled", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(held)
		wg.Wait()
		wantClosed(t, l)
		if spent := reopen(t, d, "full batches"); spent != 12 {
			t.Errorf("spent %d, want 12", spent)
		}
		if longest > maxTorn {
			t.Errorf("a write of %d bytes, want at most %d", longest, maxTorn)
		}
	})
}

// TestTooLong refuses an entry that no frame holds and goes on.
func TestTooLong(t *testing.T) {
	d := newFakeDisk()
	l, err := mountAndOpen(t, d, annLimit(budget))
	if err != nil {
		t.Fatal(err)
	}
	big := one(1)
	big.Events = []string{string(make([]byte, maxPayload))}
	if _, err := l.Charge(t.Context(), big); err == nil {
		t.Error("an entry longer than a frame was taken")
	}
	if _, err := l.Charge(t.Context(), one(1)); err != nil {
		t.Errorf("Charge: %v", err)
	}
	if got := annSpent(t, l); got != 1 {
		t.Errorf("spent %d, want 1", got)
	}
	wantClosed(t, l)
}

// TestCrashUnderLoad stops the machine while many charge.
func TestCrashUnderLoad(t *testing.T) {
	const clients = 16
	for seed := range uint64(60) {
		source := rand.New(rand.NewPCG(seed, 2))
		d := newFakeDisk()
		l, err := mountAndOpen(t, d, annLimit(budget))
		if err != nil {
			t.Fatal(err)
		}
		d.fault, _ = nth(source.IntN(60), true)
		var mu sync.Mutex
		acked := map[accountant.ChargeID]bool{}
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				for range 6 {
					if id, err := l.Charge(t.Context(), one(1)); err == nil {
						mu.Lock()
						acked[id] = true
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		d.crash(source)
		d.fault = nil
		wantAcked(t, d, acked)
	}
}

// wantAcked reads the log and looks for the acknowledged charges.
func wantAcked(t *testing.T, d *fakeDisk, acked map[accountant.ChargeID]bool) {
	t.Helper()
	if spent := reopen(t, d, "crash under load"); spent < int64(len(acked)) || spent > budget {
		t.Fatalf("spent %d, %d were acknowledged, the limit is %d", spent, len(acked), budget)
	}
	f, err := d.mount().open(logName, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := findMark(d.mount())
	if err != nil {
		t.Fatal(err)
	}
	_, err = replay(t.Context(), f, want, nil, func(r history.Record) bool {
		if _, charge := r.Entry.(history.ChargeEntry); charge {
			delete(acked, accountant.ChargeID(r.Seq))
		}
		return true
	})
	if err != nil || len(acked) > 0 {
		t.Fatalf("replay: %v; %d acknowledged charges are missing", err, len(acked))
	}
}

// TestCrashModel compares a ledger on a faulty disk with a number, over many
// crashes: the amount that ann has spent, and the one if the last call, which
// failed, counts.
func TestCrashModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		d := newFakeDisk()
		d.fault = func(string, string) error {
			if rapid.IntRange(0, 29).Draw(r, "fault") == 29 {
				return errInjected
			}
			return nil
		}
		var spent int64
		for range rapid.IntRange(1, 4).Draw(r, "runs") {
			tear := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "tear"), 3))
			l, err := mountAndOpen(t, d, annLimit(budget))
			if err != nil && !errors.Is(err, errInjected) {
				r.Fatalf("Open: %v", err)
			}
			if err != nil {
				d.crash(tear)
				continue
			}
			if got := annSpent(t, l); got != spent {
				r.Fatalf("spent %d, want %d", got, spent)
			}
			known, maybe := run(r, t, l, spent)
			if rapid.Bool().Draw(r, "close") {
				_ = l.Close()
			}
			spent = settle(r, t, d, tear, known, maybe)
		}
	})
}

// run makes random calls until one fails and returns the amounts spent without
// it and with it.
func run(r *rapid.T, t *testing.T, l *Ledger, spent int64) (known, maybe int64) {
	for range rapid.IntRange(0, 10).Draw(r, "calls") {
		amount := rapid.Int64Range(0, 20).Draw(r, "amount")
		spend := chargeOnce
		if rapid.Bool().Draw(r, "hold") {
			spend = holdAndSettle
		}
		least, most, err := spend(r, t, l, amount)
		var short *accountant.InsufficientError
		switch {
		case errors.As(err, &short):
			if spent+amount <= budget {
				r.Fatalf("Charge: %v, and %d fits", err, spent+amount)
			}
			continue
		case err != nil:
			return spent + least, spent + most
		case spent+amount > budget:
			r.Fatalf("spent or held %d of %d", spent+amount, budget)
		}
		spent += most
	}
	return spent, spent
}

// chargeOnce charges an amount and returns how much of it is spent at least and at most.
func chargeOnce(_ *rapid.T, t *testing.T, l *Ledger, amount int64) (least, most int64, err error) {
	if _, err := l.Charge(t.Context(), one(amount)); err != nil {
		return 0, amount, err
	}
	return amount, amount, nil
}

// holdAndSettle holds an amount, spends all of it or nothing, and settles. It returns how much is
// spent at least and at most.
func holdAndSettle(r *rapid.T, t *testing.T, l *Ledger, amount int64) (least, most int64, err error) {
	id, err := l.Hold(t.Context(), one(amount))
	if err != nil {
		return 0, 0, err
	}
	if rapid.Bool().Draw(r, "step") {
		if err := l.Step(t.Context(), id, nil, one(amount).Debits); err != nil {
			return 0, amount, err
		}
		least = amount
	}
	return least, least, l.Settle(t.Context(), id)
}

// settle crashes the machine and finds out whether the last call counts.
func settle(r *rapid.T, t *testing.T, d *fakeDisk, tear *rand.Rand, known, maybe int64) int64 {
	d.crash(tear)
	fault := d.fault
	d.fault = nil
	defer func() { d.fault = fault }()
	spent := reopen(t, d, "crash")
	if spent != known && spent != maybe {
		r.Fatalf("spent %d, want %d, or %d with the failed call", spent, known, maybe)
	}
	return spent
}

// TestCreationIsExplicit asks for a ledger where there is none, and for one that
// is in use.
func TestCreationIsExplicit(t *testing.T) {
	d := newFakeDisk()
	if _, err := open(t.Context(), d.mount(), nil, Options{}); !errors.Is(err, ErrNoLedger) {
		t.Errorf("Open of an empty directory: %v, want ErrNoLedger", err)
	}
	if len(d.names) != 0 {
		t.Errorf("Open left %d files", len(d.names))
	}
	l, err := mountAndOpen(t, d, accountanttest.Limits())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mountAndOpen(t, d, nil); !errors.Is(err, ErrLocked) {
		t.Errorf("a second Open: %v, want ErrLocked", err)
	}
	wantClosed(t, l)
}
