package logledger

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// TestDurableWaits holds that a moment is shown only once it is durable, and not at all if it will not be.
func TestDurableWaits(t *testing.T) {
	for _, outcome := range []error{nil, errInjected} {
		synctest.Test(t, func(t *testing.T) {
			d := newFakeDisk()
			l, err := mountAndOpen(t, d, annLimit(budget))
			if err != nil {
				t.Fatal(err)
			}
			if m, err := l.Durable(t.Context()); err != nil || m.Seq != 2 || len(m.Balances) != 1 {
				t.Errorf("of a ledger that has just begun: %+v, %v", m, err)
			}
			held := make(chan struct{})
			d.fault = func(op, name string) error {
				if op == "sync" && name == logName {
					<-held
					return outcome
				}
				return nil
			}
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = l.Charge(t.Context(), one(1)) })
			synctest.Wait()
			wg.Go(func() { _, _ = l.Charge(t.Context(), one(1)) }) // is in the next batch
			synctest.Wait()
			shown := false
			wg.Go(func() {
				m, err := l.Durable(t.Context())
				shown = true
				switch {
				case outcome == nil && (err != nil || m.Seq != 4 || m.Balances[0].Spent.Pico() != 2):
					t.Errorf("after two charges: %+v, %v", m, err)
				case outcome != nil && !errors.Is(err, accountant.ErrUnavailable):
					t.Errorf("after a failed fsync: %v", err)
				}
			})
			synctest.Wait()
			if shown {
				t.Error("a moment was shown that is not durable")
			}
			close(held)
			wg.Wait()
			d.fault = nil
			_ = l.Close()
		})
	}
}

// TestConfirm holds that a ledger is shown as it is found, that each of its entries is known by its hash, from behind the snapshot
// and before it, and that a refusal leaves it as it was.
func TestConfirm(t *testing.T) {
	d := newFakeDisk()
	heads := map[uint64]history.Hash{}
	for range 3 {
		l, err := open(t.Context(), d.mount(), annLimit(budget), Options{Create: true, CheckpointEvery: 4})
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			if _, err := l.Charge(t.Context(), one(1)); err != nil {
				t.Fatal(err)
			}
			m, err := l.Durable(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			heads[m.Seq] = m.Head
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	refused := errors.New("an older one")
	before := len(d.files()[logName])
	confirm := func(ctx context.Context, p history.Past) error {
		for seq, want := range heads {
			if got, err := p.HeadOf(ctx, seq); err != nil || got != want {
				t.Errorf("entry %d has the hash %x, want %x: %v", seq, got, want, err)
			}
		}
		for _, seq := range []uint64{0, p.Seq + 1, 1 << 40} {
			if _, err := p.HeadOf(ctx, seq); !errors.Is(err, history.ErrNoEntry) {
				t.Errorf("entry %d: %v", seq, err)
			}
		}
		if p.Balances[0].Spent.Pico() != 18 {
			t.Errorf("spent %v", p.Balances[0].Spent)
		}
		return refused
	}
	if _, err := open(t.Context(), d.mount(), annLimit(budget), Options{Confirm: confirm}); !errors.Is(err, refused) {
		t.Errorf("a ledger that was refused opens: %v", err)
	}
	if after := len(d.files()[logName]); after != before {
		t.Errorf("a refusal wrote %d bytes", after-before)
	}
}
