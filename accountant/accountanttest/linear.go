package accountanttest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"dpproxy/accountant"
)

// Budgets is how many budgets a history of [Call]s is about.
const Budgets = 4

// Amounts are amounts of the budgets of a history, in picos.
type Amounts [Budgets]int64

// A Call is one call of a history on a few budgets, with its outcome: a charge or
// a hold adds to the amount taken, a settle or the end of a run gives back, and a
// decision raises a limit.
type Call struct {
	Client int
	// Start and End are from a clock that all clients share. The call took effect
	// between them.
	Start, End int64
	Take       Amounts // negative when it is given back
	Raise      Amounts
	Denied     bool // for lack of a budget
}

// counters is the whole specification of a ledger that is shared: for each budget
// the limit, and the amount taken.
type counters struct{ limit, taken Amounts }

// after returns the counters after a call, and whether its outcome is the right one.
func (c counters) after(call Call) (counters, bool) {
	next, fits := c, true
	for i := range Budgets {
		next.limit[i] += call.Raise[i]
		next.taken[i] += call.Take[i]
		if call.Take[i] > 0 && next.taken[i] > next.limit[i] {
			fits = false
		}
		if next.taken[i] < 0 {
			return c, false // more was given back than had been taken
		}
	}
	if call.Denied {
		return c, !fits
	}
	return next, fits
}

// CheckLinearizable says whether the calls can be put into an order that agrees
// with the clock and in which each outcome is right, and so whether the clients
// saw one ledger. A search that takes longer than the patience is an error.
func CheckLinearizable(limits Amounts, calls []Call, patience time.Duration) error {
	history := make([]porcupine.Operation, len(calls))
	for i, c := range calls {
		history[i] = porcupine.Operation{ClientId: c.Client, Input: c, Call: c.Start, Return: c.End}
	}
	model := porcupine.Model{
		Init: func() any { return counters{limit: limits} },
		Step: func(state, input, _ any) (bool, any) {
			before, _ := state.(counters)
			call, _ := input.(Call)
			after, right := before.after(call)
			return right, after
		},
	}
	if got := porcupine.CheckOperationsTimeout(model, history, patience); got != porcupine.Ok {
		return fmt.Errorf("accountanttest: a history of %d calls is no linear one: %s", len(calls), got)
	}
	return nil
}

// testLinearizable has eight clients charge two budgets, or hold amounts of them and settle,
// and looks for an order that explains the outcomes.
func testLinearizable(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	h := &historian{}
	var clients sync.WaitGroup
	for n := range 8 {
		clients.Go(func() { h.client(t, l, n) })
	}
	clients.Wait()
	limits := Amounts{Limits()[0].Loss.Pico(), Limits()[1].Loss.Pico()}
	if err := CheckLinearizable(limits, h.calls, time.Minute); err != nil {
		t.Error(err)
	}
	denied := 0
	for _, c := range h.calls {
		if c.Denied {
			denied++
		}
	}
	if denied == 0 {
		t.Error("no charge was denied, so that the budgets decided nothing")
	}
}

// A historian notes calls. Its clock counts starts and ends.
type historian struct {
	clock atomic.Int64
	mu    sync.Mutex
	calls []Call
}

// note notes a call that was started at a time and has just ended.
func (h *historian) note(c Call) {
	c.End = h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, c)
}

func (h *historian) client(t *testing.T, l accountant.Ledger, n int) {
	for i := range int64(40) {
		take := Amounts{(7*i + 11*int64(n)) % 30, (13*i + 5*int64(n)) % 30}
		kept := i%8 == 0
		reserve := l.Hold
		if kept {
			reserve = l.Charge
		}
		call := Call{Client: n, Start: h.clock.Add(1), Take: take}
		id, err := reserve(t.Context(), Charge(
			accountant.Debit{Scope: unit, Loss: ZCDP(take[0], 0)}, accountant.Debit{Scope: table, Loss: ZCDP(take[1], 0)}))
		var short *accountant.InsufficientError
		call.Denied = errors.As(err, &short)
		if err != nil && !call.Denied {
			t.Errorf("a charge or hold: %v", err)
			return
		}
		h.note(call)
		if err != nil || kept {
			continue
		}
		back := Call{Client: n, Start: h.clock.Add(1), Take: Amounts{-take[0], -take[1]}}
		if err := l.Settle(t.Context(), id); err != nil {
			t.Errorf("Settle: %v", err)
			return
		}
		h.note(back)
	}
}
