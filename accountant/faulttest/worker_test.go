package faulttest_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/redisledger"
	"dpproxy/dp"
)

// workerVar holds the plan of a process that charges until it dies.
const workerVar = "DPPROXY_FAULT_WORKER"

// The exit codes of a worker.
const (
	exitDone    = 0
	exitFailed  = 1
	exitStopped = 3 // the ledger may not be used any more
)

// A bug is a mistake that a worker makes on purpose.
type bug string

const (
	noBug         bug = ""
	retryAnew     bug = "charge again after an unknown outcome"
	answerAnyway  bug = "answer after an unknown outcome"
	forgetJournal bug = "open with an empty journal"
)

// A plan is a worker's instructions.
type plan struct {
	URL, Name, Dir, Out string
	Worker, Life        int
	Clients             int
	Seed                uint64
	Patience            time.Duration
	Failpoint           string // where the worker kills itself
	FailAt              int64  // on passing it so often
	Bug                 bug
	JustBegin           bool // open and close, no more
}

// An event is a line that a worker writes.
type event struct {
	At   int64 // nanoseconds of a clock that all processes share
	What verb
	Op   string         // the operation's name; nothing else has it
	ID   uint64         `json:",omitempty"` // that the ledger gave
	Pico [budgets]int64 `json:",omitempty"`
	Err  string         `json:",omitempty"`
}

// A verb is the kind of an event.
type verb string

const (
	opened   verb = "opened"
	intends  verb = "intends"
	charged  verb = "charged" // acknowledged
	released verb = "released"
	denied   verb = "denied"
	unknown  verb = "unknown"
	settles  verb = "settles"
	settled  verb = "settled"
	stopped  verb = "stopped"
)

// The budgets of a fault run: the unit's, and those of three analysts, which run
// out.
const budgets = accountanttest.Budgets

func scope(i int) accountant.Scope {
	if i == 0 {
		return accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}
	}
	return accountant.Scope{Kind: accountant.AnalystScope, Name: fmt.Sprint("analyst", i)}
}

func loss(pico int64) dp.Loss { return accountanttest.ZCDP(pico, 0) }

// firstLimits are those that a fault run begins with.
var firstLimits = accountanttest.Amounts{1 << 40, 60, 60, 60}

func limits() []accountant.Limit {
	var all []accountant.Limit
	for i, pico := range firstLimits {
		all = append(all, accountant.Limit{Scope: scope(i), Loss: loss(pico)})
	}
	return all
}

func debits(picos [budgets]int64) []accountant.Debit {
	var all []accountant.Debit
	for i, pico := range picos {
		if pico > 0 {
			all = append(all, accountant.Debit{Scope: scope(i), Loss: loss(pico)})
		}
	}
	return all
}

// A silence discards the lines that the client of Redis would print about every
// failed call.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	text := os.Getenv(workerVar)
	if text == "" {
		os.Exit(m.Run())
	}
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
	os.Exit(work(context.Background(), p))
}

// A worker is a process that charges.
type worker struct {
	plan
	ledger *redisledger.Ledger
	out    *os.File
	mu     sync.Mutex
	passes atomic.Int64 // of the failpoint
	exit   chan int
}

func work(ctx context.Context, p plan) int {
	out, err := os.OpenFile(p.Out, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailed
	}
	w := &worker{plan: p, out: out, exit: make(chan int, p.Clients+1)}
	if p.Bug == forgetJournal {
		w.Dir = p.Dir + rand.Text()
	}
	if !w.open(ctx) {
		return exitStopped
	}
	w.write(event{What: opened})
	if p.JustBegin {
		if err := w.ledger.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitFailed
		}
		return exitDone
	}
	for n := range p.Clients {
		go w.client(ctx, n)
	}
	return <-w.exit
}

// open opens the ledger as soon as it can be reached.
func (w *worker) open(ctx context.Context) bool {
	o := redisledger.Options{URL: w.URL, Name: w.Name, Dir: w.Dir, Patience: w.Patience, CheckpointEvery: 300}
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for ; ; <-pause.C {
		l, err := redisledger.Open(ctx, nil, o)
		var diverged *redisledger.DivergedError
		switch {
		case err == nil:
			w.ledger = l
			return true
		case errors.As(err, &diverged), errors.Is(err, redisledger.ErrNoLedger):
			w.write(event{What: stopped, Err: err.Error()})
			return false
		}
	}
}

// write writes a line, and puts it on disk if an answer depends on it.
func (w *worker) write(e event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.At = time.Now().UnixNano()
	line, err := json.Marshal(e)
	if err == nil {
		_, err = w.out.Write(append(line, '\n'))
	}
	if err == nil && (e.What == intends || e.What == released) {
		err = w.out.Sync()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		w.exit <- exitFailed
	}
}

// pass is a place where a worker can be told to die.
func (w *worker) pass(failpoint string) {
	if w.Failpoint == failpoint && w.passes.Add(1) == w.FailAt {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it is delivered
	}
}

// client performs operations, one after the other.
func (w *worker) client(ctx context.Context, n int) {
	rng := mathrand.New(mathrand.NewPCG(w.Seed, uint64(w.Worker)<<40|uint64(w.Life)<<20|uint64(n)))
	for i := 0; ; i++ {
		op := fmt.Sprintf("%d.%d.%d.%d", w.Worker, w.Life, n, i)
		picos := [budgets]int64{1 + rng.Int64N(5)}
		if rng.IntN(3) == 0 {
			picos[1+rng.IntN(budgets-1)] = 1 + rng.Int64N(5)
		}
		if rng.IntN(5) == 0 {
			w.chain(ctx, op, picos, rng.Int64N(4), rng.IntN(4) > 0)
		} else {
			w.charge(ctx, op, picos)
		}
	}
}

func charge(op string, picos [budgets]int64) accountant.Charge {
	return accountant.Charge{Analyst: "ann", Shape: op, Debits: debits(picos)}
}

// charge makes one charge, and answers.
func (w *worker) charge(ctx context.Context, op string, picos [budgets]int64) {
	w.write(event{What: intends, Op: op, Pico: picos})
	w.pass("after-intent")
	id, err := w.ledger.Charge(ctx, charge(op, picos))
	short := func() bool { return errors.As(err, new(*accountant.InsufficientError)) }
	for w.Bug == retryAnew && w.refused(op, err) && !short() {
		id, err = w.ledger.Charge(ctx, charge(op, picos))
	}
	if err != nil && (w.Bug == retryAnew || w.refused(op, err)) && (w.Bug != answerAnyway || short()) {
		return
	}
	w.write(event{What: charged, Op: op, ID: uint64(id)})
	w.pass("after-charge")
	w.write(event{What: released, Op: op, ID: uint64(id)})
	w.pass("after-release")
}

// chain holds enough for some releases, makes them if there are any, and settles or forgets to.
func (w *worker) chain(ctx context.Context, op string, picos [budgets]int64, steps int64, settle bool) {
	worst := picos
	for i := range worst {
		worst[i] *= 3
	}
	w.write(event{What: intends, Op: op, Pico: worst})
	id, err := w.ledger.Hold(ctx, charge(op, worst))
	if w.refused(op, err) {
		return
	}
	w.write(event{What: charged, Op: op, ID: uint64(id)})
	for n := range steps {
		step := fmt.Sprintf("%s#%d", op, n)
		w.write(event{What: intends, Op: step, Pico: picos})
		if err := w.ledger.Step(ctx, id, []string{step}, debits(picos)); w.refused(step, err) {
			break
		}
		w.pass("after-charge")
		w.write(event{What: released, Op: step})
		w.pass("after-release")
	}
	if !settle {
		return
	}
	w.write(event{What: settles, Op: op})
	if err := w.ledger.Settle(ctx, id); !w.refused(op, err) {
		w.write(event{What: settled, Op: op})
	}
}

// refused says whether a call failed, and notes how. It ends the process when the
// ledger may not be used any more.
func (w *worker) refused(op string, err error) bool {
	var diverged *redisledger.DivergedError
	switch {
	case err == nil:
		return false
	case errors.As(err, new(*accountant.InsufficientError)):
		w.write(event{What: denied, Op: op})
	case errors.As(err, &diverged), errors.Is(err, accountant.ErrFenced):
		w.write(event{What: stopped, Op: op, Err: err.Error()})
		w.exit <- exitStopped
		select {} // the process ends
	default:
		w.write(event{What: unknown, Op: op, Err: err.Error()})
	}
	return true
}
