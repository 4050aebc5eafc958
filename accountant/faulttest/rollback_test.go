package faulttest_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/redisledger"
	"dpproxy/internal/await"
)

// answersAfterRollback has the workers charge and gives Redis back an append-only
// file of an earlier time. It returns how many answers came after that, from
// workers that lived through it and from their successors.
func answersAfterRollback(t *testing.T, f *fleet) int {
	t.Helper()
	f.start(f.workers)
	f.awaitAnswers(60)
	f.redis.Kill()
	old := filepath.Join(t.TempDir(), "aof")
	f.redis.saveAOF(old)
	f.redis.Start(f.t)
	f.awaitAnswers(60)
	f.redis.Kill()
	f.awaitIdle()
	before := f.count(released)
	f.redis.restoreAOF(old)
	f.redis.Start(f.t)
	return f.answersAfter(f.workers, before)
}

// answersAfter waits until workers have found that the ledger may not be used,
// starts them again and waits once more, and returns how many answers there were
// beyond those before. It waits no longer when there are some.
func (f *fleet) answersAfter(workers []*process, before int) int {
	f.t.Helper()
	over := func() bool { return f.allStopped(workers) || f.count(released) > before }
	await.Within(f.t, patience, "the workers have stopped, or one has answered", over)
	if f.allStopped(workers) {
		f.start(workers)
		await.Within(f.t, patience, "the successors have stopped, or one has answered", over)
	}
	return f.count(released) - before
}

// stops returns how many lives ended for a reason.
func (f *fleet) stops(reason string) (n int) {
	for _, l := range f.outputs() {
		for _, e := range l.events {
			if e.What == stopped && strings.Contains(e.Err, reason) {
				n++
			}
		}
	}
	return n
}

// repair repairs the ledger from the workers' journals.
func (f *fleet) repair() redisledger.Repair {
	f.t.Helper()
	rep, err := redisledger.RepairFrom(f.t.Context(), f.options(""), f.journals(), "carol", "Redis had lost charges")
	if err != nil {
		f.t.Fatal(err)
	}
	return rep
}

// TestOldAOF puts an older append-only file in the place of the newest.
func TestOldAOF(t *testing.T) {
	t.Parallel()
	f := newFleet(t, *firstSeed, 2, 2)
	if n := answersAfterRollback(t, f); n != 0 {
		t.Fatalf("%d answers after Redis had gone backwards", n)
	}
	rep := f.repair()
	if rep.PutBack == 0 || len(rep.Restored) > 0 || len(rep.SetAside) > 0 {
		t.Errorf("the repair did %+v, want lines put back and no more", rep)
	}
	f.start(f.workers)
	f.awaitAnswers(20)
	a := f.audit()
	answers := a.outputs(f.outputs())
	for _, found := range a.all {
		t.Error(found)
	}
	t.Logf("Redis lost %d of %d entries; no answer until they were put back; %d answers in all", rep.PutBack, rep.Entries, answers)
}

// replicate starts a replica of a fleet's Redis behind a network of its own, and
// waits until it acknowledges at once, which can take a second after it is in step.
func replicate(t *testing.T, master *redisServer) (*redisServer, *cutter) {
	t.Helper()
	link := newCutter(t, master.Socket())
	replica := startRedis(t, "--replicaof", "127.0.0.1 "+link.port())
	prompt := 0
	await.Within(t, patience, "the replica acknowledges at once", func() bool {
		if err := master.Client.Set(t.Context(), "probe", "", 0).Err(); err != nil {
			t.Fatal(err)
		}
		acks, err := master.Client.Wait(t.Context(), 1, 100*time.Millisecond).Result()
		if prompt++; err != nil || acks < 1 {
			prompt = 0
		}
		return prompt == 3
	})
	return replica, link
}

// promote makes a replica the one that the workers reach.
func (f *fleet) promote(replica *redisServer) {
	f.t.Helper()
	if err := replica.Client.Do(f.t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		f.t.Fatal(err)
	}
	f.redis = replica
	f.net.retarget(replica.Socket())
}

// TestStaleReplica promotes a replica that lacks the latest charges. A new proxy
// that has no journal cannot know that, and goes on; those that have one must not,
// be the ledger shorter than the one they have seen, or another one by then.
func TestStaleReplica(t *testing.T) {
	t.Parallel()
	f := newFleet(t, *firstSeed, 3, 2)
	master := f.redis
	replica, link := replicate(t, master)
	old, newcomer := f.workers[:2], f.workers[2:]
	f.start(old)
	f.awaitAnswers(40)
	link.cut()
	f.awaitAnswers(40)
	master.Kill()
	f.awaitIdle()
	before := f.count(released)
	f.promote(replica)
	if n := f.answersAfter(old, before); n != 0 {
		t.Fatalf("%d answers from a replica that had gone backwards", n)
	}
	f.start(newcomer)
	f.awaitAnswers(100) // the replica is now longer than the master was
	f.end()
	before = f.count(released)
	f.start(old)
	if n := f.answersAfter(old, before); n != 0 {
		t.Fatalf("%d answers from a replica that continues another history", n)
	}
	for _, reason := range []string{"went backwards", "continues another history"} {
		if f.stops(reason) == 0 {
			t.Errorf("no worker stopped because the ledger %s", reason)
		}
	}
	f.end()
	rep := f.repair()
	if rep.PutBack != 0 || len(rep.SetAside) != 2 || len(rep.Restored) == 0 {
		t.Errorf("the repair did %+v, want the charges of two journals restored", rep)
	}
	f.checkSums(rep)
}

// checkSums checks that a repaired ledger has spent at least the losses of all
// answers.
func (f *fleet) checkSums(rep redisledger.Repair) {
	f.t.Helper()
	a, err := auditLedger(f.t.Context(), f.redis, f.options(""))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, found := range a.all {
		f.t.Error(found)
	}
	var answered accountanttest.Amounts
	lost := 0
	for _, l := range f.outputs() {
		wanted := map[string]accountanttest.Amounts{}
		for _, e := range l.events {
			if e.What == intends {
				wanted[e.Op] = e.Pico
			}
			if e.What == released {
				if _, charged := a.ops[e.Op]; !charged {
					lost++
				}
				for b := range budgets {
					answered[b] += wanted[e.Op][b]
				}
			}
		}
	}
	if lost == 0 {
		f.t.Error("the replica had lost no charge of an answer, so that the repair shows nothing")
	}
	for b := range budgets {
		if spent := a.spent[scope(b)]; spent < answered[b] {
			f.t.Errorf("%v: answers cost %d, and after the repair %d is spent", scope(b), answered[b], spent)
		}
	}
	f.t.Logf("the replica had lost the charges of %d answers; no proxy that had made one went on; the repair charged %v again",
		lost, rep.Restored)
}

// TestReplicasWithhold asks for one replica. While it is cut off, nothing may be
// acknowledged.
func TestReplicasWithhold(t *testing.T) {
	t.Parallel()
	master := startRedis(t)
	_, link := replicate(t, master)
	o := redisledger.Options{
		URL: master.URL(""), Name: "shared", Dir: filepath.Join(t.TempDir(), "journal"), Replicas: 1, Patience: 2 * time.Second,
	}
	if err := redisledger.Init(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	l, err := redisledger.Open(t.Context(), limits(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	acked := 0
	attempt := func(op string) error {
		_, err := l.Charge(t.Context(), charge(op, [budgets]int64{1}))
		if err == nil {
			acked++
		}
		return err
	}
	if err := attempt("with"); err != nil {
		t.Fatalf("with its replica: %v", err)
	}
	link.cut()
	await.Within(t, patience, "Redis knows of no replica", func() bool {
		info, err := master.Client.Info(t.Context(), "replication").Result()
		return err == nil && strings.Contains(info, "connected_slaves:0")
	})
	for range 2 {
		if err := attempt("without"); !errors.Is(err, accountant.ErrUnavailable) {
			t.Errorf("a charge without the replica: %v", err)
		}
	}
	link.heal()
	await.Within(t, patience, "charges are acknowledged again", func() bool { return attempt("again") == nil })

	// A replica that seems to be there, and gets nothing: the charge lands, and its question is not paid twice.
	link.swallow()
	asked := charge("asked", [budgets]int64{100})
	asked.Question = "q"
	if _, err := l.Charge(t.Context(), asked); !errors.Is(err, accountant.ErrUnavailable) {
		t.Errorf("a charge that the replica does not get: %v", err)
	}
	link.heal()
	link.reset() // what was on its way is lost
	await.Within(t, patience, "the charge is prepaid", func() bool {
		asked.Prepaid, err = l.Prepaid(t.Context(), "q")
		return err == nil && asked.Prepaid.Charge != 0
	})
	asked.Debits = nil
	if _, err := l.Charge(t.Context(), asked); err != nil {
		t.Errorf("the question asked again: %v", err)
	}
	a, err := auditLedger(t.Context(), master, redisledger.Options{URL: o.URL, Name: o.Name})
	if err != nil {
		t.Fatal(err)
	}
	a.all = slices.DeleteFunc(a.all, func(found string) bool { return found[:13] == "charged twice" }) // the names are used again
	for _, found := range a.all {
		t.Error(found)
	}
	if spent := a.spent[scope(0)]; spent != int64(acked)+100 {
		t.Errorf("%d is spent by %d acknowledged charges of 1, and one of 100 that was asked again", spent, acked)
	}
}
