package logledger_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/dp"
)

func TestLedger(t *testing.T) {
	accountanttest.TestLedger(t, func(t *testing.T, limits []accountant.Limit) accountant.Ledger {
		return mustOpen(t, t.TempDir(), limits)
	})
}

// mustOpen opens, or creates, the ledger in dir and closes it when the test ends.
func mustOpen(t testing.TB, dir string, limits []accountant.Limit) *logledger.Ledger {
	t.Helper()
	l, err := logledger.Open(t.Context(), dir, limits, logledger.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func mustClose(t testing.TB, l *logledger.Ledger) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func annLimit(pico int64) []accountant.Limit {
	return []accountant.Limit{{Scope: ann, Loss: accountanttest.Pure(pico)}}
}

func wantBalance(t *testing.T, l *logledger.Ledger, limit, spent int64) {
	t.Helper()
	b, err := l.Balances(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	want := accountant.Balance{
		Scope: ann, Limit: accountanttest.Pure(limit), Spent: accountanttest.Pure(spent), Held: accountanttest.Pure(0),
	}
	if b[0] != want {
		t.Errorf("balance %v, want %v", b[0], want)
	}
}

// TestReopen reopens the ledger after each step.
func TestReopen(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir, annLimit(100))
	var ids []accountant.ChargeID
	for range 5 {
		id, err := l.Charge(t.Context(), charge(10))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(ids, id) {
			t.Errorf("the ID %d was used twice", id)
		}
		ids = append(ids, id)
		hold, err := l.Hold(t.Context(), charge(10))
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, l)
		l = mustOpen(t, dir, annLimit(100))
		wantBalance(t, l, 100, int64(10*len(ids)))
		if err := l.Settle(t.Context(), hold); !errors.Is(err, accountant.ErrNotHeld) {
			t.Errorf("a settle after a restart: %v, want ErrNotHeld", err)
		}
	}
	in := accountant.Incident{Charge: ids[0], Analyst: "ann", Shape: "s"}
	if err := l.Incident(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	mustClose(t, l)
	l = mustOpen(t, dir, annLimit(100))
	if got, err := l.Incidents(t.Context()); err != nil || !slices.Equal(got, []accountant.Incident{in}) {
		t.Errorf("Incidents = %v, %v", got, err)
	}
	if err := l.ClearIncidents(t.Context(), "ann", "done"); err != nil {
		t.Fatal(err)
	}
	mustClose(t, l)
	l = mustOpen(t, dir, annLimit(100))
	if got, err := l.Incidents(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("Incidents = %v, %v, want none", got, err)
	}
}

// TestLimits opens a ledger under one configuration after the other.
func TestLimits(t *testing.T) {
	dir := t.TempDir()
	l := mustOpen(t, dir, annLimit(100))
	if _, err := l.Charge(t.Context(), charge(60)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, l)

	l = mustOpen(t, dir, annLimit(50)) // lowered, below the amount spent
	wantBalance(t, l, 50, 60)
	var short *accountant.InsufficientError
	if _, err := l.Charge(t.Context(), charge(1)); !errors.As(err, &short) || !short.Remaining.IsZero() {
		t.Errorf("Charge above the limit: %v, want nothing remaining", err)
	}
	mustClose(t, l)

	wantOpenError(t, dir, annLimit(51), accountant.ErrLimitRaise)
	wantOpenError(t, dir, []accountant.Limit{{Scope: ann, Loss: accountanttest.ZCDP(1, 0)}}, dp.ErrMeasure)

	other := accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}
	l = mustOpen(t, dir, []accountant.Limit{{Scope: other, Loss: accountanttest.ZCDP(5, 5)}}) // ann is not mentioned
	wantBalance(t, l, 50, 60)
	if err := l.SetLimits(t.Context(), annLimit(70)); !errors.Is(err, accountant.ErrLimitRaise) {
		t.Errorf("SetLimits: %v, want ErrLimitRaise", err)
	}
	if err := l.Decide(t.Context(), history.RaiseEntry{Limit: annLimit(70)[0]}); err == nil {
		t.Error("a limit was raised by nobody for no reason")
	}
	if err := l.Decide(t.Context(), history.RaiseEntry{Limit: annLimit(70)[0], Who: "carol", Reason: "new study"}); err != nil {
		t.Errorf("Decide: %v", err)
	}
	mustClose(t, l)
	l = mustOpen(t, dir, annLimit(70))
	wantBalance(t, l, 70, 60)
	if err := l.SetLimits(t.Context(), annLimit(65)); err != nil {
		t.Errorf("SetLimits: %v", err)
	}
	wantBalance(t, l, 65, 60)
}

// wantOpenError expects Open to refuse limits and to record nothing.
func wantOpenError(t *testing.T, dir string, limits []accountant.Limit, want error) {
	t.Helper()
	before := verify(t, dir)
	if _, err := logledger.Open(t.Context(), dir, limits, logledger.Options{}); !errors.Is(err, want) {
		t.Errorf("Open: %v, want %v", err, want)
	}
	if d := cmp.Diff(before, verify(t, dir), cmp.AllowUnexported(dp.Loss{})); d != "" {
		t.Errorf("a refused Open changed the ledger: %s", d)
	}
}

func verify(t *testing.T, dir string) logledger.Summary {
	t.Helper()
	s, err := logledger.Verify(t.Context(), dir)
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	return s
}

func TestDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	_, err := logledger.Open(t.Context(), dir, nil, logledger.Options{})
	if !errors.Is(err, logledger.ErrNoLedger) {
		t.Errorf("Open without a directory: %v, want ErrNoLedger", err)
	}
	if _, err := logledger.Verify(t.Context(), dir); !errors.Is(err, logledger.ErrNoLedger) {
		t.Errorf("Verify without a directory: %v, want ErrNoLedger", err)
	}
	l := mustOpen(t, dir, annLimit(1))
	if _, err := logledger.Open(t.Context(), dir, nil, logledger.Options{}); !errors.Is(err, logledger.ErrLocked) {
		t.Errorf("a second Open: %v, want ErrLocked", err)
	}
	verify(t, dir) // in use
	mustClose(t, l)
	mustClose(t, mustOpen(t, dir, annLimit(1)))
	for _, name := range []string{"ledger.log", "ledger.mark"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "ledger.log")); err != nil {
		t.Fatal(err)
	}
	var corrupt *logledger.CorruptError
	if _, err := logledger.Open(t.Context(), dir, nil, logledger.Options{Create: true}); !errors.As(err, &corrupt) {
		t.Errorf("Open without the log: %v, want a CorruptError", err)
	}
}

// TestTornTail cuts an interrupted write off and says so.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	mustClose(t, mustOpen(t, dir, annLimit(1)))
	f, err := os.OpenFile(filepath.Join(dir, "ledger.log"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.WriteString("torn"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	before := verify(t, dir)
	if before.Torn != 4 {
		t.Errorf("Verify found %d torn bytes, want 4", before.Torn)
	}
	var said strings.Builder
	l, err := logledger.Open(t.Context(), dir, nil, logledger.Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, l)
	want := fmt.Sprintf("offset=%d bytes=4 last_entry=3", before.Bytes-4)
	if !strings.Contains(said.String(), want) {
		t.Errorf("Open said %q, want %q", said.String(), want)
	}
	if s := verify(t, dir); s.Torn != 0 || s.Entries != 6 {
		t.Errorf("after the repair: %+v", s)
	}
}

// TestExport checks the exported lines with nothing but SHA-256, and the
// summary with the lines.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	noon := time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)
	l, err := logledger.Open(t.Context(), dir, accountanttest.Limits(),
		logledger.Options{Create: true, Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Charge(t.Context(), charge(7)); err != nil {
		t.Fatal(err)
	}
	id, err := l.Hold(t.Context(), charge(7))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Settle(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	var prev string
	var kinds []string
	for r, err := range logledger.Entries(t.Context(), dir) { // in use
		if err != nil {
			t.Fatal(err)
		}
		if prev != "" && !strings.Contains(string(r.Line), `"prev":"`+prev+`"`) {
			t.Errorf("line %d does not contain %s: %s", r.Seq, prev, r.Line)
		}
		sum := sha256.Sum256(r.Line)
		prev = hex.EncodeToString(sum[:])
		kinds = append(kinds, fmt.Sprintf("%T", r.Entry))
		if !r.Time.Equal(noon) {
			t.Errorf("entry %d is dated %v", r.Seq, r.Time)
		}
	}
	want := []string{"history.BeginEntry", "history.LimitsEntry", "history.ChargeEntry", "history.HoldEntry", "history.SettleEntry"}
	if !slices.Equal(kinds, want) {
		t.Errorf("entries %v, want %v", kinds, want)
	}
	s := verify(t, dir)
	if s.Head != prev || s.Entries != 5 || s.Runs != 1 || s.Charges != 1 || s.Marked != 5 || len(s.Balances) != 3 {
		t.Errorf("summary %+v", s)
	}
	for range logledger.Entries(t.Context(), dir) {
		break // a reader may stop early
	}
	mustClose(t, l)
}

func BenchmarkCharge(b *testing.B) {
	for _, clients := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) { benchmarkCharge(b, clients) })
	}
}

func benchmarkCharge(b *testing.B, clients int) {
	limits := accountanttest.Limits()
	for i, m := range []dp.Measure{dp.ZCDP, dp.ZCDP, dp.PureDP} {
		var err error
		if limits[i].Loss, err = dp.NewLoss(m, dp.MaxPico, 0); err != nil {
			b.Fatal(err)
		}
	}
	l := mustOpen(b, b.TempDir(), limits)
	c := accountanttest.Charge(
		accountant.Debit{Scope: limits[0].Scope, Loss: accountanttest.ZCDP(1, 0)},
		accountant.Debit{Scope: limits[1].Scope, Loss: accountanttest.ZCDP(1, 0)},
		accountant.Debit{Scope: limits[2].Scope, Loss: accountanttest.Pure(1)})
	b.ReportAllocs()
	b.SetParallelism(max(1, clients/runtime.GOMAXPROCS(0)))
	if clients == 1 {
		for b.Loop() {
			if _, err := l.Charge(b.Context(), c); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := l.Charge(b.Context(), c); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
