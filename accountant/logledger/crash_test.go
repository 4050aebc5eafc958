package logledger_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
)

// childVar names the ledger's directory to a child that charges until it dies.
const childVar = "LOGLEDGER_TEST_CHILD"

const childLimit = 3000

var ann = accountant.Scope{Kind: accountant.AnalystScope, Name: "ann"}

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

// child charges from four goroutines and prints each charge's ID once it is
// acknowledged. It ends when the budget does.
func child(dir string) int {
	ctx := context.Background()
	l, err := logledger.Open(ctx, dir, childLimits(), logledger.Options{Create: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var out sync.Mutex
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				id, err := l.Charge(ctx, charge(1))
				if err != nil {
					return
				}
				out.Lock()
				fmt.Fprintln(os.Stdout, id)
				out.Unlock()
			}
		})
	}
	clients.Wait()
	return 0
}

func childLimits() []accountant.Limit {
	return []accountant.Limit{{Scope: ann, Loss: accountanttest.Pure(childLimit)}}
}

func charge(pico int64) accountant.Charge {
	return accountanttest.Charge(accountant.Debit{Scope: ann, Loss: accountanttest.Pure(pico)})
}

// TestKill kills a process that charges, twenty times over one ledger. Every
// charge it acknowledged is in the ledger, and the budget is never exceeded.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	acked := map[uint64]bool{}
	for round := range 20 {
		runChild(t, dir, 5+17*round, acked)
		found := charges(t, dir)
		for id := range acked {
			if !found[id] {
				t.Fatalf("round %d: the charge %d was acknowledged and is lost", round, id)
			}
		}
		if len(found) > childLimit {
			t.Fatalf("round %d: %d charges, and the budget is %d", round, len(found), childLimit)
		}
	}
	l := mustOpen(t, dir, childLimits())
	balances, err := l.Balances(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	if spent := balances[0].Spent.Pico(); spent != int64(len(charges(t, dir))) {
		t.Errorf("spent %d, and the log has %d charges", spent, len(charges(t, dir)))
	}
}

// runChild starts a child, kills it after it acknowledged a number of charges,
// and adds all that it acknowledged.
func runChild(t *testing.T, dir string, kill int, acked map[uint64]bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for n := 1; lines.Scan(); n++ {
		id, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err != nil {
			break // the kill cut the line short
		}
		acked[id] = true
		if n == kill {
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if stderr.Len() > 0 {
		t.Fatalf("child: %s", &stderr)
	}
}

// charges returns the IDs of the charges in a log.
func charges(t *testing.T, dir string) map[uint64]bool {
	t.Helper()
	found := map[uint64]bool{}
	for r, err := range logledger.Entries(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.Entry.(history.ChargeEntry); ok {
			found[r.Seq] = true
		}
	}
	return found
}
