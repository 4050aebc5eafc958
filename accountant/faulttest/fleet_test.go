package faulttest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/redisledger"
	"dpproxy/internal/await"
)

// A fleet is some worker processes and the Redis that they share, with a network
// between them.
type fleet struct {
	t       *testing.T
	redis   *redisServer
	net     *cutter
	dir     string
	plan    plan // of every worker
	rng     *rand.Rand
	admin   *redisledger.Ledger // raises limits; nil when it is not open
	mu      sync.Mutex
	workers []*process
	ending  bool
	lives   sync.WaitGroup
}

// A process is one worker and the lives it has had.
type process struct {
	n, life   int
	cmd       *exec.Cmd
	failpoint string // of the next life
	failAt    int64
	stopped   bool // it has found that the ledger may not be used
}

// newFleet makes a ledger with the first limits.
func newFleet(t *testing.T, seed uint64, workers, clients int) *fleet {
	t.Helper()
	r := startRedis(t)
	f := &fleet{t: t, redis: r, net: newCutter(t, r.Socket()), dir: t.TempDir(), rng: rand.New(rand.NewPCG(seed, 0))}
	f.plan = plan{
		URL: "redis://" + f.net.addr(), Name: "shared", Clients: clients, Seed: seed, Patience: 250 * time.Millisecond,
	}
	if err := redisledger.Init(t.Context(), f.options("")); err != nil {
		t.Fatal(err)
	}
	l, err := redisledger.Open(t.Context(), limits(), f.options(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for n := range workers {
		f.workers = append(f.workers, &process{n: n})
	}
	t.Cleanup(f.end)
	return f
}

// options are those of the test itself, past the network that fails.
func (f *fleet) options(dir string) redisledger.Options {
	return redisledger.Options{URL: f.redis.URL(""), Name: f.plan.Name, Dir: dir, Patience: 5 * time.Second}
}

func (f *fleet) journal(n int) string { return filepath.Join(f.dir, fmt.Sprint("journal", n)) }

func (f *fleet) journals() []string {
	var all []string
	for _, p := range f.workers {
		all = append(all, f.journal(p.n))
	}
	return all
}

// start starts workers.
func (f *fleet) start(workers []*process) {
	for _, p := range workers {
		f.begin(p)
	}
}

// begin begins a life of a worker. When it is killed it is started again; when it has found
// that the ledger may not be used it is not.
func (f *fleet) begin(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		return
	}
	p.stopped = false
	cmd, stderr := f.command(p, false)
	if err := cmd.Start(); err != nil {
		f.t.Error(err)
		return
	}
	p.cmd = cmd
	f.lives.Go(func() {
		_ = cmd.Wait()
		f.ended(p, cmd.ProcessState, stderr.String())
	})
}

// command prepares the next life of a worker.
func (f *fleet) command(p *process, justBegin bool) (*exec.Cmd, *bytes.Buffer) {
	p.life++
	plan := f.plan
	plan.Worker, plan.Life, plan.Dir, plan.JustBegin = p.n, p.life, f.journal(p.n), justBegin
	plan.Out = filepath.Join(f.dir, fmt.Sprintf("out%d.%d", p.n, p.life))
	plan.Failpoint, p.failpoint = p.failpoint, ""
	plan.FailAt = p.failAt
	text, err := json.Marshal(plan)
	if err != nil {
		f.t.Error(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerVar+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	return cmd, &stderr
}

func (f *fleet) ended(p *process, state *os.ProcessState, stderr string) {
	switch status, _ := state.Sys().(syscall.WaitStatus); {
	case status.Signaled():
		f.begin(p)
	case state.ExitCode() == exitStopped:
		f.mu.Lock()
		p.stopped = true
		f.mu.Unlock()
	default:
		f.t.Errorf("worker %d ended with %v: %s", p.n, state, stderr)
	}
}

// killWorker kills a worker as a crash would.
func (f *fleet) killWorker(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
	}
}

// end kills all workers for good.
func (f *fleet) end() {
	f.mu.Lock()
	f.ending = true
	f.mu.Unlock()
	for _, p := range f.workers {
		f.killWorker(p)
	}
	f.lives.Wait()
	f.mu.Lock()
	f.ending = false
	f.mu.Unlock()
	f.closeAdmin()
}

func (f *fleet) closeAdmin() {
	if f.admin != nil {
		_ = f.admin.Close() // a call under way may have failed
		f.admin = nil
	}
}

// allStopped says whether workers have all found that the ledger may not be used.
func (f *fleet) allStopped(workers []*process) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !slices.ContainsFunc(workers, func(p *process) bool { return !p.stopped })
}

// A life is the output of one process of a worker.
type life struct {
	worker, life int
	events       []event
}

// outputs reads the output of all workers so far.
func (f *fleet) outputs() []life {
	f.t.Helper()
	var all []life
	for _, p := range f.workers {
		f.mu.Lock()
		last := p.life
		f.mu.Unlock()
		for n := 1; n <= last; n++ {
			text, err := os.ReadFile(filepath.Join(f.dir, fmt.Sprintf("out%d.%d", p.n, n)))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				f.t.Fatal(err)
			}
			l := life{worker: p.n, life: n}
			for line := range strings.Lines(string(text)) {
				var e event
				if !strings.HasSuffix(line, "\n") {
					break // it was killed while it wrote that
				}
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					f.t.Fatalf("%v: %q", err, line)
				}
				l.events = append(l.events, e)
			}
			all = append(all, l)
		}
	}
	return all
}

// count returns how many events of a kind the workers have written.
func (f *fleet) count(what verb) (n int) {
	for _, l := range f.outputs() {
		for _, e := range l.events {
			if e.What == what {
				n++
			}
		}
	}
	return n
}

// awaitAnswers waits until the workers have answered n times more.
func (f *fleet) awaitAnswers(n int) {
	f.t.Helper()
	before := f.count(released)
	await.Within(f.t, patience, fmt.Sprintf("%d more answers", n), func() bool { return f.count(released) >= before+n })
}

// awaitIdle waits, while Redis is down, until no call is under way that began
// before: every client has begun another one.
func (f *fleet) awaitIdle() {
	f.t.Helper()
	before := f.lastIntents()
	await.Within(f.t, patience, "every client has begun another call", func() bool {
		for client, at := range f.lastIntents() {
			if at == before[client] {
				return false
			}
		}
		return true
	})
}

// lastIntents returns when each client last began an operation.
func (f *fleet) lastIntents() map[string]int64 {
	last := map[string]int64{}
	for _, l := range f.outputs() {
		for _, e := range l.events {
			if e.What == intends {
				parts := strings.SplitN(e.Op, ".", 4)
				last[parts[0]+"."+parts[2]] = e.At
			}
		}
	}
	return last
}

// A fault is something that goes wrong, or that an administrator does.
type fault string

// The faults.
const (
	killAWorker fault = "worker killed"
	failpoint   fault = "failpoint armed"
	killRedis   fault = "Redis killed"
	cutNet      fault = "network cut"
	resetNet    fault = "connections reset"
	blackHole   fault = "replies lost"
	latency     fault = "replies late"
	killUnheard fault = "worker killed before it heard"
	raiseLimit  fault = "limit raised"
)

var allFaults = []fault{
	killAWorker, killUnheard, failpoint, killRedis, cutNet, resetNet, resetNet, blackHole, latency, raiseLimit, raiseLimit,
}

// torment injects faults every 100 to 400 milliseconds, each kind in its turn and in
// ever another order, for as long as more says, and returns how many of each.
func (f *fleet) torment(faults []fault, more func() bool) map[fault]int {
	f.t.Helper()
	injected := map[fault]int{}
	for n := 0; more(); n++ {
		<-time.After(time.Duration(100+f.rng.IntN(300)) * time.Millisecond)
		if n%len(faults) == 0 {
			faults = slices.Clone(faults)
			f.rng.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
		}
		what := faults[n%len(faults)]
		f.inject(what)
		injected[what]++
	}
	f.net.heal()
	return injected
}

func (f *fleet) inject(what fault) {
	f.t.Helper()
	p := f.workers[f.rng.IntN(len(f.workers))]
	while := time.Duration(50+f.rng.IntN(400)) * time.Millisecond
	switch what {
	case killAWorker:
		f.killWorker(p)
	case failpoint:
		points := []string{"after-intent", "after-charge", "after-release"}
		f.mu.Lock()
		p.failpoint, p.failAt = points[f.rng.IntN(len(points))], 1+f.rng.Int64N(20)
		f.mu.Unlock()
		f.killWorker(p) // it takes effect in the next life
	case killRedis:
		f.redis.Kill()
		f.redis.Start(f.t)
	case cutNet:
		f.net.cut()
		f.net.healAfter(while)
	case resetNet:
		f.net.reset()
	case blackHole:
		f.net.swallow()
		f.net.healAfter(while)
	case killUnheard: // its entries are in Redis, not in its journal
		f.net.swallow()
		<-time.After(20 * time.Millisecond)
		f.killWorker(p)
		f.net.heal()
	case latency:
		f.net.slow(time.Duration(1+f.rng.IntN(30)) * time.Millisecond)
		f.net.healAfter(while)
	case raiseLimit:
		f.raise(1 + f.rng.IntN(budgets-1))
	}
}

// raise raises the limit of an analyst.
func (f *fleet) raise(analyst int) {
	f.t.Helper()
	if f.admin == nil {
		l, err := redisledger.OpenReader(f.t.Context(), f.options(""), func(history.Record) {})
		if err != nil {
			f.t.Fatal(err)
		}
		f.admin = l
	}
	at, err := f.admin.Balances(f.t.Context(), scope(analyst))
	if err != nil {
		f.t.Fatal(err)
	}
	raise := history.RaiseEntry{
		Limit: accountant.Limit{Scope: scope(analyst), Loss: loss(at[0].Limit.Pico() + 40)}, Who: "carol", Reason: "a new study",
	}
	if err := f.admin.Decide(f.t.Context(), raise); err != nil {
		f.t.Fatal(err)
	}
}

// describe writes which faults were injected.
func describe(injected map[fault]int) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(injected)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, injected[what]))
	}
	return strings.Join(parts, ", ")
}
