package faulttest_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
	"dpproxy/accountant/redisledger"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the seed of the first fault run")
	seeds     = flag.Uint64("seeds", 1, "how many fault runs there are")
	duration  = flag.Duration("duration", 3*time.Second, "how long faults are injected in a run")
	cuts      = flag.Int("cuts", 12, "at how many offsets an append-only file is torn")
)

// TestFaults has three processes charge through a network that fails, while they
// and Redis are killed, and then compares their notes with the ledger.
func TestFaults(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { faultRun(t, seed) })
	}
}

func faultRun(t *testing.T, seed uint64) {
	f := newFleet(t, seed, 3, 4)
	f.start(f.workers)
	end := time.Now().Add(*duration)
	injected := f.torment(allFaults, func() bool { return time.Now().Before(end) || !f.busy() && time.Now().Before(end.Add(time.Minute)) })
	f.awaitAnswers(3 * 4) // it goes on after the last fault
	a := f.audit()
	lives := f.outputs()
	answers := a.outputs(lives)
	calls := a.calls(lives)
	if len(a.all) == 0 {
		if err := accountanttest.CheckLinearizable(accountanttest.Amounts{}, calls, time.Minute); err != nil {
			a.add("not linear", "%v", err)
		}
	}
	t.Logf("seed %d: %s; %d lives of 3 workers", seed, describe(injected), len(lives))
	t.Logf("%d entries, %d answers, %d denied, %d of unknown outcome, %d settled, %d charges that no worker heard of, "+
		"%d calls put in order; %d violations",
		len(a.records), answers, f.count(denied), f.count(unknown), f.count(settled), a.unheard(lives), len(calls), len(a.all))
	for _, found := range a.all {
		t.Error(found)
	}
	if !f.busy() {
		t.Error("too little happened for the run to show anything")
	}
	f.succeed(a)
}

// busy says whether enough has happened for a run to show something.
func (f *fleet) busy() bool {
	return f.count(released) >= 200 && f.count(denied) >= 10 && f.count(settled) >= 10
}

// audit cuts the network, kills the workers, and reads the ledger when nothing is
// on its way any more.
func (f *fleet) audit() *audit {
	f.t.Helper()
	f.net.cut()
	f.end()
	f.net.heal()
	f.redis.quiet()
	a, err := auditLedger(f.t.Context(), f.redis, f.options(""))
	if err != nil {
		f.t.Fatal(err)
	}
	a.journals(f.t.Context(), f.journals())
	return a
}

// succeed begins successors of all workers but the last, whose run it fences:
// the holds of the dead must have been given back.
func (f *fleet) succeed(before *audit) {
	f.t.Helper()
	if held := before.totalHeld(); held == 0 {
		f.t.Error("no run died with a hold, so that giving back shows nothing")
	}
	for _, p := range f.workers[:len(f.workers)-1] {
		cmd, stderr := f.command(p, true)
		if err := cmd.Run(); err != nil {
			f.t.Errorf("the successor of worker %d: %v: %s", p.n, err, stderr)
		}
	}
	l, err := redisledger.OpenReader(f.t.Context(), f.options(""), func(history.Record) {})
	if err != nil {
		f.t.Fatal(err)
	}
	runs, err := l.Runs(f.t.Context())
	if err != nil || len(runs) > 1 {
		f.t.Errorf("after the successors the runs %v go on, %v", runs, err)
	}
	if err := l.Decide(f.t.Context(), history.FenceEntry{Who: "carol", Reason: "the last one hangs"}); err != nil {
		f.t.Error(err)
	}
	if err := l.Close(); err != nil {
		f.t.Error(err)
	}
	after, err := auditLedger(f.t.Context(), f.redis, f.options(""))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, found := range after.all {
		f.t.Error("after the successors: ", found)
	}
	if held := after.totalHeld(); held != 0 {
		f.t.Errorf("%d is held by runs that have ended", held)
	}
	for i, r := range before.records {
		if string(after.records[i].Line) != string(r.Line) {
			f.t.Fatalf("entry %d has changed", r.Seq)
		}
	}
}

// unheard returns how many charges and holds the ledger has that were never
// acknowledged.
func (a *audit) unheard(lives []life) int {
	heard := map[string]bool{}
	for _, l := range lives {
		for _, e := range l.events {
			heard[e.Op] = heard[e.Op] || e.What == charged || e.What == released
		}
	}
	n := 0
	for op := range a.ops {
		if !heard[op] {
			n++
		}
	}
	return n
}

// totalHeld is the sum of the holds in all budgets.
func (y *tally) totalHeld() (sum int64) {
	for _, pico := range y.held {
		sum += pico
	}
	return sum
}
