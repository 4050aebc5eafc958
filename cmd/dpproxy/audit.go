package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/dp"
)

// An audit is the sum of all entries of a ledger.
type audit struct {
	state   *history.State
	entries uint64
	charges int // holds among them
	voids   int
	begun   int // runs
	head    history.Hash
	runs    map[string]*runJSON // by boot, ended ones too
	failed  map[accountant.Incident]time.Time
}

// A runJSON is a run that goes on, as JSON.
type runJSON struct {
	Run       string    `json:"run"`
	Begun     time.Time `json:"begun"`
	LastEntry uint64    `json:"last_entry"`
	LastTime  time.Time `json:"last_time"`
}

// audit reads and verifies the whole ledger.
func (s *books) audit(ctx context.Context, log *slog.Logger) (*audit, error) {
	a := newAudit()
	return a, s.entries(ctx, log, a.add)
}

func newAudit() *audit {
	return &audit{state: history.NewState(), runs: map[string]*runJSON{}, failed: map[accountant.Incident]time.Time{}}
}

func (a *audit) add(r history.Record) error {
	if err := a.state.Apply(r.Run, r.Entry); err != nil {
		return fmt.Errorf("entry %d is not a valid step: %w", r.Seq, err)
	}
	a.entries, a.head = r.Seq, r.Hash()
	if e, ok := r.Entry.(history.BeginEntry); ok {
		a.begun++
		a.runs[e.Boot] = &runJSON{e.Boot, r.Time, r.Seq, r.Time}
	}
	if is[history.ChargeEntry](r.Entry) || is[history.HoldEntry](r.Entry) {
		a.charges++
	}
	if in, ok := r.Entry.(history.IncidentEntry); ok {
		a.failed[accountant.Incident(in)] = r.Time
	}
	if is[history.VoidEntry](r.Entry) {
		a.voids++
	}
	if run := a.runs[r.Run]; run != nil {
		run.LastEntry, run.LastTime = r.Seq, r.Time
	}
	return nil
}

func is[E history.Entry](e history.Entry) bool {
	_, ok := e.(E)
	return ok
}

// running returns the runs that go on.
func (a *audit) running() []runJSON {
	running := []runJSON{}
	for _, boot := range a.state.Runs() {
		running = append(running, *a.runs[boot])
	}
	return running
}

// A balanceJSON is the balance of a budget, as JSON. Amounts are exact decimals.
type balanceJSON struct {
	Kind           string      `json:"kind"`
	Name           string      `json:"name"`
	Measure        string      `json:"measure"`
	Limit          json.Number `json:"limit"`
	Spent          json.Number `json:"spent"`
	Held           json.Number `json:"held"`
	Remaining      json.Number `json:"remaining"`
	DeltaLimit     json.Number `json:"delta_limit"`
	DeltaSpent     json.Number `json:"delta_spent"`
	DeltaHeld      json.Number `json:"delta_held"`
	DeltaRemaining json.Number `json:"delta_remaining"`
	Frozen         bool        `json:"frozen"`
	Retired        bool        `json:"retired,omitempty"`
	// The budget of the scope in the policy, if it has one.
	PolicyLimit      json.Number `json:"policy_limit,omitempty"`
	PolicyDeltaLimit json.Number `json:"policy_delta_limit,omitempty"`
}

// amountOf and deltaOf write the parts of a loss, exactly.
func amountOf(l dp.Loss) json.Number { return json.Number(dp.Decimal(l.Pico(), 12)) }
func deltaOf(l dp.Loss) json.Number  { return json.Number(dp.Decimal(l.Atto(), 18)) }

// stated returns the policy's budget of a scope.
func (s *books) stated(scope accountant.Scope) (dp.Loss, bool, error) {
	limits, err := s.policy.Scopes()
	if err != nil {
		return dp.Loss{}, false, err
	}
	i := slices.IndexFunc(limits, func(l accountant.Limit) bool { return l.Scope == scope })
	if i < 0 {
		return dp.Loss{}, false, nil
	}
	return limits[i].Loss, true, nil
}

func (s *books) balancesJSON(balances []accountant.Balance) ([]balanceJSON, error) {
	all := []balanceJSON{}
	for _, b := range balances {
		left := b.Remaining()
		j := balanceJSON{
			Kind: string(b.Scope.Kind), Name: b.Scope.Name, Measure: b.Limit.Measure().String(), Frozen: b.Frozen, Retired: b.Retired,
			Limit: amountOf(b.Limit), Spent: amountOf(b.Spent), Held: amountOf(b.Held), Remaining: amountOf(left),
			DeltaLimit: deltaOf(b.Limit), DeltaSpent: deltaOf(b.Spent), DeltaHeld: deltaOf(b.Held), DeltaRemaining: deltaOf(left),
		}
		l, ok, err := s.stated(b.Scope)
		if err != nil {
			return nil, err
		}
		if ok {
			j.PolicyLimit, j.PolicyDeltaLimit = amountOf(l), deltaOf(l)
		}
		all = append(all, j)
	}
	return all, nil
}

// balances are those of a state, with a note for each budget of objects.
func (s *books) balances(state *history.State) ([]accountant.Balance, map[accountant.Scope]string, error) {
	balances, err := state.Balances()
	if err != nil {
		return nil, nil, err
	}
	return localBooks{s}.withObjects(state, balances)
}

func (s *books) balanceRows(balances []accountant.Balance, about map[accountant.Scope]string) ([][]string, error) {
	rows := [][]string{{"SCOPE", "LIMIT", "SPENT", "HELD", "REMAINING", "NOTE"}}
	for _, b := range balances {
		l, ok, err := s.stated(b.Scope)
		if err != nil {
			return nil, err
		}
		var notes []string
		if note := about[b.Scope]; note != "" {
			notes = append(notes, note)
		}
		if b.Frozen {
			notes = append(notes, "frozen")
		}
		if b.Retired {
			notes = append(notes, "retired")
		}
		switch {
		case !ok:
			notes = append(notes, "not in the policy")
		case l != b.Limit:
			notes = append(notes, fmt.Sprintf("the policy says %v", l))
		}
		rows = append(rows, []string{
			b.Scope.String(), b.Limit.String(), b.Spent.String(), b.Held.String(), b.Remaining().String(), strings.Join(notes, "; "),
		})
	}
	return rows, nil
}

// headText writes the hash of the last entry.
func (a *audit) headText() string { return hex.EncodeToString(a.head[:]) }
