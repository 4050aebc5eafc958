package redisledger_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
	"dpproxy/accountant/redisledger"
	"dpproxy/accountant/witness"
)

// The moments of a start at which another proxy can begin, charge and mark.
var moments = []string{"found", "reading", "read", "writing"}

// A starting is proxies that start inside each other: at its moment each one waits until the next has started.
type starting struct {
	t    *testing.T
	s    redisServer
	o    redisledger.Options
	at   []string
	kept []byte // the mark
}

// come is called at each moment of the start of a proxy, which has one after it for each moment that is left.
func (s *starting) come(proxy int, moment string) {
	if proxy < len(s.at) && s.at[proxy] == moment {
		s.at[proxy] = "" // once
		s.start(proxy + 1)
	}
}

// start starts a proxy as dpproxy run does, charges, and marks.
func (s *starting) start(proxy int) {
	s.t.Helper()
	marks := witness.New(bytes.Repeat([]byte{7}, 32), true, slog.New(slog.DiscardHandler), time.Now, place{s, proxy})
	o := another(s.t, s.o)
	o.Confirm = func(ctx context.Context, p history.Past) error {
		s.come(proxy, "found")
		return marks.Confirm(ctx, p)
	}
	l, err := redisledger.Open(s.t.Context(), accountanttest.Limits(), o)
	if err != nil {
		s.t.Fatalf("proxy %d of a ledger that has lost nothing: %v", proxy, err)
	}
	s.t.Cleanup(func() { l.Close() })
	for range 2 {
		chargeUnit(s.t, l, 1)
		if err := marks.Mark(s.t.Context(), l); err != nil {
			s.t.Fatalf("the mark of proxy %d: %v", proxy, err)
		}
	}
}

// A place is the one place of marks, as a proxy sees it.
type place struct {
	*starting
	proxy int
}

func (p place) Name() string { return "the mirror" }

func (p place) Read(context.Context, string) ([]byte, error) {
	p.come(p.proxy, "reading")
	kept := p.kept
	p.come(p.proxy, "read")
	return kept, nil
}

func (p place) Write(_ context.Context, _ string, old, sealed []byte) (bool, error) {
	p.come(p.proxy, "writing")
	if !bytes.Equal(p.kept, old) {
		return false, nil
	}
	p.kept = sealed
	return true, nil
}

func (place) Others(context.Context, string) (map[string][]byte, error) { return nil, nil }

func (place) Remove(context.Context, string) error { return nil }

// TestStartTogether starts proxies of one ledger in every order in which each of them can be overtaken by the next one once:
// no ledger is taken for an older copy.
func TestStartTogether(t *testing.T) {
	s := startRedis(t)
	for _, first := range moments {
		for _, second := range moments {
			t.Run(fmt.Sprint(first, " ", second), func(t *testing.T) {
				o := s.options(t)
				if err := redisledger.Init(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				together := &starting{t: t, s: s, o: o}
				together.start(0) // so that there is a mark
				together.at = []string{"", first, second}
				together.start(1)
			})
		}
	}
}
