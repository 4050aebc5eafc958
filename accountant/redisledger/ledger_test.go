package redisledger_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
	"dpproxy/accountant/redisledger"
	"dpproxy/internal/redistemp"
)

// A redisServer is a Redis of a test's own.
type redisServer struct{ *redistemp.Server }

// startRedis starts a Redis with the settings that the ledger requires and more.
func startRedis(t *testing.T, more ...string) redisServer {
	t.Helper()
	return redisServer{redistemp.Start(t, slices.Concat(redistemp.Durable, more)...)}
}

var ledgers atomic.Int64

// options name a new ledger on the server.
func (s redisServer) options(t *testing.T) redisledger.Options {
	return redisledger.Options{
		URL: s.URL(""), Name: fmt.Sprint("test", ledgers.Add(1)), Dir: filepath.Join(t.TempDir(), "journal"),
		CheckpointEvery: 50, Patience: 2 * time.Second,
	}
}

// initAndOpen makes a ledger and opens it.
func initAndOpen(t *testing.T, o redisledger.Options, limits []accountant.Limit) *redisledger.Ledger {
	t.Helper()
	if err := redisledger.Init(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return open(t, o, limits)
}

func open(t *testing.T, o redisledger.Options, limits []accountant.Limit) *redisledger.Ledger {
	t.Helper()
	l, err := redisledger.Open(t.Context(), limits, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestLedger(t *testing.T) {
	s := startRedis(t)
	accountanttest.TestLedger(t, func(t *testing.T, limits []accountant.Limit) accountant.Ledger {
		return initAndOpen(t, s.options(t), limits)
	})
}

// another returns the options of another proxy on the same ledger.
func another(t *testing.T, o redisledger.Options) redisledger.Options {
	o.Dir = filepath.Join(t.TempDir(), "journal")
	return o
}

func TestTwoProxies(t *testing.T) {
	s := startRedis(t)
	o := s.options(t)
	first := initAndOpen(t, o, accountanttest.Limits())
	second := open(t, another(t, o), accountanttest.Limits())
	var taken atomic.Int64
	done := make(chan struct{})
	unit := accountanttest.Limits()[0].Scope
	for i := range 64 {
		l := []*redisledger.Ledger{first, second}[i%2]
		go func() {
			defer func() { done <- struct{}{} }()
			for range 3 {
				_, err := l.Charge(t.Context(), accountanttest.Charge(accountant.Debit{Scope: unit, Loss: accountanttest.ZCDP(7, 0)}))
				var short *accountant.InsufficientError
				switch {
				case err == nil:
					taken.Add(1)
				case !errors.As(err, &short):
					t.Errorf("Charge: %v", err)
				}
			}
		}()
	}
	for range 64 {
		<-done
	}
	if taken.Load() != 100/7 {
		t.Errorf("%d charges succeeded, want %d", taken.Load(), 100/7)
	}
	for _, l := range []*redisledger.Ledger{first, second} {
		if got := accountanttest.Spent(t, l)[0]; got != accountanttest.ZCDP(98, 0) {
			t.Errorf("spent %v", got)
		}
	}
}

func TestRefusesUndurableServers(t *testing.T) {
	for name, change := range map[string][]string{
		"appendonly":                {"--appendonly", "no"},
		"appendfsync":               {"--appendfsync", "everysec"},
		"no-appendfsync-on-rewrite": {"--no-appendfsync-on-rewrite", "yes"},
		"aof-load-truncated":        {"--aof-load-truncated", "yes"},
		"maxmemory-policy":          {"--maxmemory-policy", "allkeys-lru"},
	} {
		s := startRedis(t, change...)
		var bad *redisledger.DurabilityError
		err := redisledger.Init(t.Context(), s.options(t))
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), name+" is ") {
			t.Errorf("%s: %v", name, err)
		}
		s.Kill()
	}
}

func TestReopen(t *testing.T) {
	s := startRedis(t)
	o := s.options(t)
	l := initAndOpen(t, o, accountanttest.Limits())
	one := accountanttest.Charge(accountant.Debit{Scope: accountanttest.Limits()[2].Scope, Loss: accountanttest.Pure(1)})
	for range 40 {
		if _, err := l.Charge(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = open(t, o, accountanttest.Limits())
	}
	if got := accountanttest.Spent(t, l)[2]; got != accountanttest.Pure(40) {
		t.Errorf("spent %v", got)
	}
	var seen int
	r, err := redisledger.OpenReader(t.Context(), o, func(history.Record) { seen++ })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if seen < 160 {
		t.Errorf("a reader saw %d entries", seen)
	}
}
