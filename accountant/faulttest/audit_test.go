package faulttest_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/accountant/redisledger"
)

// Findings are violations of the promises of docs/ledger.md.
type findings struct{ all []string }

func (f *findings) add(what, format string, args ...any) {
	f.all = append(f.all, what+": "+fmt.Sprintf(format, args...))
}

// kinds says how many there are of each kind.
func (f *findings) kinds() string {
	count := map[string]int{}
	for _, found := range f.all {
		what, _, _ := strings.Cut(found, ":")
		count[what]++
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", what, count[what]))
	}
	return strings.Join(parts, ", ")
}

// A tally adds up a ledger's entries on its own, apart from package history, and
// looks for steps that the rules forbid.
type tally struct {
	findings
	limit, spent, held map[accountant.Scope]int64
	runs               map[string]bool
	holds              map[uint64]*taken
	ops                map[string]uint64 // the number of each operation's entry
	settled            map[string]bool
}

// A taken is one hold: the amounts that it still holds, and those that its steps have taken.
type taken struct {
	run, op string
	left    map[accountant.Scope]int64
	stepped map[accountant.Scope]int64
}

func newTally() *tally {
	return &tally{
		limit: map[accountant.Scope]int64{}, spent: map[accountant.Scope]int64{}, held: map[accountant.Scope]int64{},
		runs: map[string]bool{}, holds: map[uint64]*taken{}, ops: map[string]uint64{}, settled: map[string]bool{},
	}
}

func picos(all []accountant.Debit) map[accountant.Scope]int64 {
	sum := map[accountant.Scope]int64{}
	for _, d := range all {
		sum[d.Scope] += d.Loss.Pico()
	}
	return sum
}

// entry adds one record.
func (y *tally) entry(r history.Record) {
	switch e := r.Entry.(type) {
	case history.BeginEntry:
		y.runs[e.Boot] = true
	case history.LimitsEntry:
		for _, l := range e {
			if old, known := y.limit[l.Scope]; known && l.Loss.Pico() > old {
				y.add("a limit rose without a decision", "entry %d, %v", r.Seq, l.Scope)
			}
			y.limit[l.Scope] = l.Loss.Pico()
		}
	case history.RaiseEntry:
		y.limit[e.Limit.Scope] = e.Limit.Loss.Pico()
		if e.Who == "" || e.Reason == "" {
			y.add("a limit rose without a reason", "entry %d", r.Seq)
		}
	case history.ChargeEntry:
		y.operation(r, e.Shape)
		y.take(r, y.spent, e.Debits)
	case history.HoldEntry:
		y.operation(r, e.Shape)
		y.holds[r.Seq] = &taken{r.Run, e.Shape, picos(e.Debits), map[accountant.Scope]int64{}}
		y.take(r, y.held, e.Debits)
	case history.StepEntry:
		y.step(r, e)
	case history.VoidEntry:
		y.add("a charge was taken back", "entry %d", r.Seq)
	case history.SettleEntry:
		y.settle(r, uint64(e.Hold))
	case history.FenceEntry:
		y.fence(e.Boot)
	case history.RestoreEntry:
		for scope, pico := range picos(e.Debits) {
			y.spent[scope] += pico
		}
	case history.LowerEntry:
		y.limit[e.Limit.Scope] = e.Limit.Loss.Pico()
	case history.UnansweredEntry, history.IncidentEntry, history.ClearEntry, history.FreezeEntry, history.NoteEntry,
		history.CheckpointEntry, history.SurveyEntry, history.EpochEntry, history.FormatEntry, history.PolicyEntry, history.RenameEntry,
		history.RetireEntry:
	}
}

// operation notes the entry of an operation, which must be its only one.
func (y *tally) operation(r history.Record, op string) {
	if !y.runs[r.Run] {
		y.add("a charge of a run that has ended", "entry %d, %s", r.Seq, op)
	}
	if before, twice := y.ops[op]; twice {
		y.add("charged twice", "%s in the entries %d and %d", op, before, r.Seq)
	}
	y.ops[op] = r.Seq
}

// take adds debits to the amounts spent or held, within the limits.
func (y *tally) take(r history.Record, part map[accountant.Scope]int64, all []accountant.Debit) {
	for scope, pico := range picos(all) {
		part[scope] += pico
		if y.spent[scope]+y.held[scope] > y.limit[scope] {
			y.add("a limit was exceeded", "entry %d, %v", r.Seq, scope)
		}
	}
}

func (y *tally) step(r history.Record, e history.StepEntry) {
	h := y.holds[uint64(e.Hold)]
	if h == nil || h.run != r.Run {
		y.add("a step of no hold", "entry %d", r.Seq)
		return
	}
	y.operation(r, e.Events[0])
	for scope, pico := range picos(e.Debits) {
		h.left[scope] -= pico
		h.stepped[scope] += pico
		y.held[scope] -= pico
		y.spent[scope] += pico
		if h.left[scope] < 0 {
			y.add("a step of more than was held", "entry %d", r.Seq)
		}
	}
}

func (y *tally) settle(r history.Record, id uint64) {
	h := y.holds[id]
	if h == nil || h.run != r.Run {
		y.add("a settle of no hold", "entry %d", r.Seq)
		return
	}
	y.settled[h.op] = true
	y.release(id)
}

// release gives back the rest of a hold.
func (y *tally) release(id uint64) {
	if h := y.holds[id]; h != nil {
		for scope, pico := range h.left {
			y.held[scope] -= pico
		}
		delete(y.holds, id)
	}
}

func (y *tally) fence(boot string) {
	for id, h := range y.holds {
		if boot == "" || h.run == boot {
			y.release(id)
		}
	}
	if boot == "" {
		clear(y.runs)
	}
	delete(y.runs, boot)
}

// stepping is the sum of the steps of holds that go on: balances show it as held.
func (y *tally) stepping(scope accountant.Scope) (sum int64) {
	for _, h := range y.holds {
		sum += h.stepped[scope]
	}
	return sum
}

// balances compares the tally with the ledger's own sums.
func (y *tally) balances(all []accountant.Balance) {
	if len(all) != len(y.limit) {
		y.add("balances differ from the replay", "%d instead of %d", len(all), len(y.limit))
	}
	for _, b := range all {
		got := [3]int64{b.Limit.Pico(), b.Spent.Pico(), b.Held.Pico()}
		stepping := y.stepping(b.Scope)
		want := [3]int64{y.limit[b.Scope], y.spent[b.Scope] - stepping, y.held[b.Scope] + stepping}
		if got != want {
			y.add("balances differ from the replay", "%v has limit, spent and held %v, the entries add up to %v", b.Scope, got, want)
		}
	}
}

// An audit is a ledger as it was read, with the violations in it.
type audit struct {
	*tally
	records []history.Record
	raw     map[string]string
}

// auditLedger reads a ledger twice, through its verifying reader and raw.
func auditLedger(ctx context.Context, s *redisServer, o redisledger.Options) (*audit, error) {
	a := &audit{tally: newTally()}
	var err error
	if a.raw, err = s.Client.HGetAll(ctx, "dp:"+o.Name).Result(); err != nil {
		return nil, err
	}
	a.rawForm()
	l, err := redisledger.OpenReader(ctx, o, func(r history.Record) {
		a.records = append(a.records, r)
		a.entry(r)
	})
	if err != nil {
		a.add("the chain does not verify", "%v", err)
		return a, nil
	}
	balances, err := l.Balances(ctx)
	if err != nil {
		return nil, err
	}
	a.balances(balances)
	return a, l.Close()
}

// rawForm checks that the hash has the fields of a ledger, the lines densely
// numbered, and the hash of the last one as its head.
func (a *audit) rawForm() {
	seq, err := strconv.Atoi(a.raw["seq"])
	if err != nil || len(a.raw) != seq+3 || a.raw["id"] == "" {
		a.add("the fields are not those of a ledger", "%d fields, and seq is %q", len(a.raw), a.raw["seq"])
	}
	for n := 1; n <= seq; n++ {
		if a.raw["x:"+strconv.Itoa(n)] == "" {
			a.add("the sequence has a gap", "line %d of %d", n, seq)
		}
	}
	last := history.Record{Line: []byte(a.raw["x:"+strconv.Itoa(seq)])}
	if hash := last.Hash(); seq > 0 && a.raw["head"] != fmt.Sprintf("%x", hash[:]) {
		a.add("the head is not the last line's", "seq %d", seq)
	}
}

// outputs compares the workers' own notes with the ledger.
func (a *audit) outputs(lives []life) (answers int) {
	seen := map[string]bool{}
	for _, l := range lives {
		for _, e := range l.events {
			switch e.What {
			case released:
				answers++
				a.answer(e, seen[e.Op])
				seen[e.Op] = true
			case denied:
				if seq, charged := a.ops[e.Op]; charged {
					a.add("denied and charged", "%s in entry %d", e.Op, seq)
				}
			case settled:
				if !a.settled[e.Op] {
					a.add("a settle is lost", "%s", e.Op)
				}
			case charged, opened, intends, unknown, settles, stopped:
			}
		}
	}
	return answers
}

func (a *audit) answer(e event, again bool) {
	seq, ok := a.ops[e.Op]
	switch {
	case !ok:
		a.add("answered without a charge", "%s", e.Op)
	case again:
		a.add("answered twice", "%s", e.Op)
	case e.ID != 0 && e.ID != seq:
		a.add("acknowledged as another entry", "%s as %d, is %d", e.Op, e.ID, seq)
	}
}

// journals checks that the journals are beginnings of the ledger.
func (a *audit) journals(ctx context.Context, dirs []string) {
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			continue // the worker never got that far
		}
		n := 0
		for r, err := range logledger.Entries(ctx, dir) {
			if err != nil {
				a.add("a journal does not verify", "%s: %v", dir, err)
				break
			}
			if n >= len(a.records) || !bytes.Equal(r.Line, a.records[n].Line) {
				a.add("a journal is no beginning of the ledger", "%s from line %d", dir, n+1)
				break
			}
			n++
		}
	}
}
