package faulttest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSeededBugs makes mistakes on purpose. The checks that find nothing wrong with
// the ledger must find each of them.
func TestSeededBugs(t *testing.T) {
	t.Parallel()
	bugs := []struct {
		name   string
		caught func(*testing.T) string // by which findings; empty for none
	}{
		{"a new entry on retry", func(t *testing.T) string { return faultyRun(t, retryAnew, blackHole, "charged twice") }},
		{"an answer after a timeout", func(t *testing.T) string { return faultyRun(t, answerAnyway, cutNet, "answered without a charge") }},
		{"a script with several write commands", tornScript},
		{"the high-water mark switched off", forgottenJournal},
	}
	table := make([]string, len(bugs))
	for i, bug := range bugs {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			caught := bug.caught(t)
			if caught == "" {
				t.Error("this was not found")
			}
			table[i] = fmt.Sprintf("\n%-40s%s", bug.name, caught)
		})
	}
	t.Cleanup(func() { t.Logf("%-39s caught by%s", "seeded bug", strings.Join(table, "")) })
}

// faultyRun has workers with a bug suffer one kind of fault, and audits the ledger
// each time that they have answered some more after an outcome that they did not
// know. An outcome that is not known may have been a failure, so that the first such
// answers need not show the bug.
func faultyRun(t *testing.T, mistake bug, what fault, sign string) string {
	t.Helper()
	f := newFleet(t, *firstSeed, 2, 4)
	f.plan.Bug, f.plan.Patience = mistake, 100*time.Millisecond
	for rash := 12; rash <= 120; rash += 12 {
		f.start(f.workers)
		f.awaitAnswers(20)
		f.torment([]fault{what}, func() bool { return f.rash() < rash })
		a := f.audit()
		a.outputs(f.outputs())
		if strings.Contains(a.kinds(), sign) {
			return a.kinds()
		}
	}
	return ""
}

// rash returns how many operations were answered of which a call's outcome was
// unknown.
func (f *fleet) rash() (n int) {
	for _, l := range f.outputs() {
		unclear := map[string]bool{}
		for _, e := range l.events {
			unclear[e.Op] = unclear[e.Op] || e.What == unknown
			if e.What == released && unclear[e.Op] {
				n++
			}
		}
	}
	return n
}

func tornScript(t *testing.T) string {
	t.Helper()
	right, wrong := tortureScript(t, oneWrite(t)), tortureScript(t, manyWrites(t))
	if right.inconsistent+right.refused > 0 {
		t.Errorf("torn files written by the ledger's own script: %+v", right)
	}
	if wrong.inconsistent == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d torn ledgers inconsistent after the second start (with one command: %d of %d)",
		wrong.inconsistent, wrong.cuts, right.inconsistent, right.cuts)
}

func forgottenJournal(t *testing.T) string {
	t.Helper()
	f := newFleet(t, *firstSeed, 2, 2)
	f.plan.Bug = forgetJournal
	answers := answersAfterRollback(t, f)
	if answers == 0 {
		return ""
	}
	return fmt.Sprintf("answers after Redis had gone backwards (%d when it was noticed; none with it on)", answers)
}
