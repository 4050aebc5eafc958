package redisledger_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
	"dpproxy/accountant/redisledger"
)

// ofUnit returns a charge of the unit's budget.
func ofUnit(pico int64) accountant.Charge {
	return accountanttest.Charge(accountant.Debit{Scope: accountanttest.Limits()[0].Scope, Loss: accountanttest.ZCDP(pico, 0)})
}

func chargeUnit(t *testing.T, l *redisledger.Ledger, n int) {
	t.Helper()
	for range n {
		if _, err := l.Charge(t.Context(), ofUnit(1)); err != nil {
			t.Fatal(err)
		}
	}
}

// save returns the fields of a ledger's hash, as an old copy of Redis has them.
func (s redisServer) save(t *testing.T, o redisledger.Options) map[string]string {
	t.Helper()
	all, err := s.Client.HGetAll(t.Context(), "dp:"+o.Name).Result()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// restore puts an old copy in the place of the ledger.
func (s redisServer) restore(t *testing.T, o redisledger.Options, old map[string]string) {
	t.Helper()
	s.Client.Del(t.Context(), "dp:"+o.Name)
	if len(old) == 0 {
		return
	}
	if err := s.Client.HSet(t.Context(), "dp:"+o.Name, old).Err(); err != nil {
		t.Fatal(err)
	}
}

// wantDiverged expects a proxy to stop, also after a restart.
func wantDiverged(t *testing.T, l *redisledger.Ledger, o redisledger.Options) {
	t.Helper()
	var diverged *redisledger.DivergedError
	for range 2 {
		_, err := l.Charge(t.Context(), ofUnit(1))
		if !errors.Is(err, accountant.ErrUnavailable) || !errors.As(err, &diverged) {
			t.Fatalf("a charge on a ledger that diverged: %v", err)
		}
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := redisledger.Open(t.Context(), accountanttest.Limits(), o); !errors.As(err, &diverged) {
		t.Fatalf("Open of a ledger that diverged: %v", err)
	}
}

// TestRollback gives Redis back an older copy, and an empty one.
func TestRollback(t *testing.T) {
	s := startRedis(t)
	for name, keep := range map[string]bool{"an older copy": true, "nothing": false} {
		t.Run(name, func(t *testing.T) {
			o := s.options(t)
			l := initAndOpen(t, o, accountanttest.Limits())
			chargeUnit(t, l, 20)
			old := s.save(t, o)
			chargeUnit(t, l, 30)
			if !keep {
				old = nil
			}
			s.restore(t, o, old)
			wantDiverged(t, l, o)
			rep, err := redisledger.RepairFrom(t.Context(), o, []string{o.Dir}, "carol", "the disk was restored")
			if err != nil || rep.PutBack == 0 || len(rep.Restored)+len(rep.SetAside) > 0 {
				t.Fatalf("%+v, %v", rep, err)
			}
			l = open(t, o, accountanttest.Limits())
			if got := accountanttest.Spent(t, l)[0]; got != accountanttest.ZCDP(50, 0) {
				t.Errorf("spent %v after the repair, want 50", got)
			}
		})
	}
}

// TestFork loses the charges of one proxy and lets another go on, as a failover to
// a stale replica does.
func TestFork(t *testing.T) {
	s := startRedis(t)
	o := s.options(t)
	first := initAndOpen(t, o, accountanttest.Limits())
	other := another(t, o)
	second := open(t, other, accountanttest.Limits())
	chargeUnit(t, second, 10)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	old := s.save(t, o)
	chargeUnit(t, first, 20)
	s.restore(t, o, old)
	second = open(t, other, accountanttest.Limits())
	chargeUnit(t, second, 40)
	wantDiverged(t, first, o)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	rep, err := redisledger.RepairFrom(t.Context(), o, []string{o.Dir, other.Dir}, "carol", "failover")
	if err != nil || rep.PutBack != 0 || !slices.Equal(rep.SetAside, []string{o.Dir}) {
		t.Fatalf("%+v, %v", rep, err)
	}
	want := accountant.Debit{Scope: accountanttest.Limits()[0].Scope, Loss: accountanttest.ZCDP(20, 0)}
	if !slices.Equal(rep.Restored, []accountant.Debit{want}) {
		t.Errorf("restored %v, want %v", rep.Restored, want)
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		t.Fatal(err)
	}
	first = open(t, o, accountanttest.Limits())
	if got := accountanttest.Spent(t, first)[0]; got != accountanttest.ZCDP(70, 0) {
		t.Errorf("spent %v after the repair, want 70", got)
	}
}

// TestForkWithDecisions loses a budget, a lowered and frozen one, and an incident
// with the history of one proxy: the repair brings them back.
func TestForkWithDecisions(t *testing.T) {
	s := startRedis(t)
	o := s.options(t)
	limits := accountanttest.Limits()
	first := initAndOpen(t, o, limits)
	other := another(t, o)
	second := open(t, other, limits)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	old := s.save(t, o)
	scope := accountant.Scope{Kind: accountant.AnalystScope, Name: "newcomer"}
	if err := first.SetLimits(t.Context(), []accountant.Limit{{Scope: scope, Loss: accountanttest.Pure(20)}}); err != nil {
		t.Fatal(err)
	}
	id, err := first.Charge(t.Context(), accountanttest.Charge(accountant.Debit{Scope: scope, Loss: accountanttest.Pure(7)}))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []history.Entry{
		history.LowerEntry{Limit: accountant.Limit{Scope: limits[0].Scope, Loss: accountanttest.ZCDP(10, 10)}, Who: "carol", Reason: "x"},
		history.FreezeEntry{Scope: limits[1].Scope, Frozen: true, Who: "carol", Reason: "x"},
		history.IncidentEntry{Charge: id, Analyst: "eve", Shape: "bad"},
	} {
		if err := first.Decide(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	s.restore(t, o, old)
	second = open(t, other, limits)
	chargeUnit(t, second, 40)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	wantDiverged(t, first, o)
	rep, err := redisledger.RepairFrom(t.Context(), o, []string{o.Dir, other.Dir}, "carol", "failover")
	if err != nil || len(rep.Carried) != 4 {
		t.Fatalf("%+v, %v", rep, err)
	}
	r, err := redisledger.OpenReader(t.Context(), o, func(history.Record) {})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := r.Balances(t.Context(), scope, limits[0].Scope, limits[1].Scope)
	if err != nil || b[0].Spent != accountanttest.Pure(7) || b[1].Limit != accountanttest.ZCDP(10, 10) || !b[2].Frozen {
		t.Errorf("balances %v, %v", b, err)
	}
	incidents, err := r.Incidents(t.Context())
	if err != nil || len(incidents) != 1 || incidents[0].Shape != "bad" {
		t.Errorf("incidents %v, %v", incidents, err)
	}
}

// TestFence ends a run; its holds are given back and it can charge no more.
func TestFence(t *testing.T) {
	s := startRedis(t)
	o := s.options(t)
	zombie := initAndOpen(t, o, accountanttest.Limits())
	if _, err := zombie.Hold(t.Context(), ofUnit(90)); err != nil {
		t.Fatal(err)
	}
	l := open(t, another(t, o), accountanttest.Limits())
	runs, err := l.Runs(t.Context())
	if err != nil || len(runs) != 2 {
		t.Fatalf("runs %v, %v", runs, err)
	}
	if err := l.Decide(t.Context(), history.FenceEntry{Who: "carol", Reason: "both hang"}); err != nil {
		t.Fatal(err)
	}
	for _, run := range []*redisledger.Ledger{zombie, l} {
		if _, err := run.Charge(t.Context(), ofUnit(1)); !errors.Is(err, accountant.ErrFenced) {
			t.Errorf("a charge of a fenced run: %v", err)
		}
	}
	l = open(t, another(t, o), accountanttest.Limits())
	chargeUnit(t, l, 100)
}

// TestKilledConnections has the server cut all connections while a charge is on
// its way, so that its outcome may be unknown: each charge must count once.
func TestKilledConnections(t *testing.T) {
	s := startRedis(t)
	o := s.options(t)
	l := initAndOpen(t, o, accountanttest.Limits())
	for range 100 {
		killed := make(chan error)
		go func() { killed <- s.Client.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err() }()
		chargeUnit(t, l, 1)
		if err := <-killed; err != nil {
			t.Fatal(err)
		}
	}
	if got := accountanttest.Spent(t, l)[0]; got != accountanttest.ZCDP(100, 0) {
		t.Errorf("spent %v, want 100", got)
	}
}

// TestRestartedServer crashes Redis under load and starts it again.
func TestRestartedServer(t *testing.T) {
	s := startRedis(t)
	o := s.options(t)
	l := initAndOpen(t, o, accountanttest.Limits())
	chargeUnit(t, l, 10)
	for range 3 {
		s.Kill()
		s.Start(t)
		chargeUnit(t, l, 10)
	}
	if got := accountanttest.Spent(t, l)[0]; got != accountanttest.ZCDP(40, 0) {
		t.Errorf("spent %v, want 40", got)
	}
}
