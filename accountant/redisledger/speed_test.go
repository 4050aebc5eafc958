package redisledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/logledger"
	"dpproxy/dp"
)

// chargesVariable names the environment variable with the number of charges that
// TestSpeed makes for each row, and times a hundred for the long ledger.
const chargesVariable = "DPPROXY_SPEED"

// A speed is one row of the table.
type speed struct {
	perSecond float64
	p50, p99  time.Duration
}

func (s speed) String() string {
	return fmt.Sprintf("%8.0f/s  p50 %8v  p99 %8v", s.perSecond, s.p50.Round(time.Microsecond), s.p99.Round(time.Microsecond))
}

// measure calls f n times from so many clients.
func measure(t *testing.T, n, clients int, f func(client int) error) speed {
	t.Helper()
	each := max(1, n/clients)
	times := make([][]time.Duration, clients)
	var wg sync.WaitGroup
	begin := time.Now()
	for c := range clients {
		wg.Go(func() {
			for range each {
				start := time.Now()
				if err := f(c); err != nil {
					t.Error(err)
					return
				}
				times[c] = append(times[c], time.Since(start))
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	all := slices.Concat(times...)
	if len(all) == 0 {
		t.FailNow()
	}
	slices.Sort(all)
	return speed{float64(len(all)) / took.Seconds(), all[len(all)/2], all[len(all)*99/100]}
}

// limits of budgets that no test exhausts.
func wideLimits() []accountant.Limit {
	limits := accountanttest.Limits()
	for i, l := range limits {
		wide, err := dp.NewLoss(l.Loss.Measure(), dp.MaxPico, 0)
		if err != nil {
			panic(err)
		}
		limits[i].Loss = wide
	}
	return limits
}

// charge debits three budgets, as a statement about one table does.
func charge(l accountant.Ledger) func(int) error {
	limits := accountanttest.Limits()
	c := accountant.Charge{
		Analyst: "ana", Shape: "0123456789abcdef0123456789abcdef", Events: []string{"laplace l0=1 linf=1 scale=10"},
		Debits: []accountant.Debit{
			{Scope: limits[0].Scope, Loss: accountanttest.ZCDP(1, 0)},
			{Scope: limits[1].Scope, Loss: accountanttest.ZCDP(1, 0)},
			{Scope: limits[2].Scope, Loss: accountanttest.Pure(1)},
		},
	}
	return func(int) error {
		_, err := l.Charge(context.Background(), c)
		return err
	}
}

// TestSpeed compares both ledgers with the least that could do: a line appended to a
// file and fsynced, and a field set in the same Redis. It asserts nothing; with -v it
// prints the table.
func TestSpeed(t *testing.T) {
	n := 200
	if text := os.Getenv(chargesVariable); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	testEmbeddedSpeed(t, n)
	testRedisSpeed(t, n)
	testLongLedger(t, 100*n)
}

func testEmbeddedSpeed(t *testing.T, n int) {
	t.Helper()
	dir := t.TempDir()
	l, err := logledger.Open(t.Context(), filepath.Join(dir, "ledger"), wideLimits(), logledger.Options{Create: true, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	before := size(t, filepath.Join(dir, "ledger", "ledger.log"))
	ours := map[int]speed{}
	for _, clients := range []int{1, 16, 64} {
		ours[clients] = measure(t, n*clients, clients, charge(l))
	}
	line := make([]byte, (size(t, filepath.Join(dir, "ledger", "ledger.log"))-before)/int64(n*(1+16+64)))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "raw"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, clients := range []int{1, 16, 64} {
		batch := slices.Repeat(line, clients)
		raw := measure(t, n, 1, func(int) error {
			if _, err := f.Write(batch); err != nil {
				return err
			}
			return f.Sync()
		})
		raw.perSecond *= float64(clients)
		t.Logf("embedded, %2d clients  %v", clients, ours[clients])
		t.Logf("  raw appends of %3d   %v  ratio of p50 %.2f, of throughput %.2f", clients, raw,
			float64(ours[clients].p50)/float64(raw.p50), ours[clients].perSecond/raw.perSecond)
	}
	t.Logf("a charge has %d bytes", len(line))
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func testRedisSpeed(t *testing.T, n int) {
	t.Helper()
	s := startRedis(t)
	o := s.options(t)
	o.CheckpointEvery, o.Now = 0, time.Now
	l := initAndOpen(t, o, wideLimits())
	for _, clients := range []int{1, 16, 64} {
		ours := measure(t, n*clients, clients, charge(l))
		line := string(make([]byte, 450))
		bare := measure(t, n*clients, clients, func(c int) error {
			return s.Client.HSet(context.Background(), "bare", strconv.Itoa(c), line).Err()
		})
		t.Logf("redis, %2d clients     %v", clients, ours)
		t.Logf("  bare HSET           %v  ratio of p50 %.2f, of throughput %.2f", bare,
			float64(ours.p50)/float64(bare.p50), ours.perSecond/bare.perSecond)
	}
}

// testLongLedger opens a ledger of many entries.
func testLongLedger(t *testing.T, n int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ledger")
	l, err := logledger.Open(t.Context(), dir, wideLimits(), logledger.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	measure(t, n, 256, charge(l))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"with its snapshot", "without"} {
		before := heap()
		start := time.Now()
		l, err := logledger.Open(t.Context(), dir, wideLimits(), logledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		t.Logf("a ledger of %d entries opens %s in %v and keeps %.1f bytes an entry",
			n, how, took.Round(time.Microsecond), max(0, float64(heap()-before)/float64(n)))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "ledger.snapshot")); err != nil {
			t.Fatal(err)
		}
	}
}

// heap returns the bytes that are alive.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
