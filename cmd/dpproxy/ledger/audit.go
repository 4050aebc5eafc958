package ledger

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
	"dpproxy/planner/policy"
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
func (s *Books) audit(ctx context.Context, log *slog.Logger) (*audit, error) {
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
	// PolicyName is the name there, if it is another one, and Tables are those whose statements are charged to a table's budget, if they
	// are not the one of that name.
	PolicyName string   `json:"policy_name,omitempty"`
	Tables     []string `json:"tables,omitempty"`
}

// amountOf and deltaOf write the parts of a loss, exactly.
func amountOf(l dp.Loss) json.Number { return json.Number(dp.Decimal(l.Pico(), 12)) }
func deltaOf(l dp.Loss) json.Number  { return json.Number(dp.Decimal(l.Atto(), 18)) }

// Budgets of the ledger have the names that they were made under, or that decisions have given them. A policy can have other names for
// the same budgets: a table that was renamed, or moved to another schema, keeps its budget, and two that have swapped names share theirs.

// stated returns the policy's budget that is for one of the ledger.
func (s *Books) stated(state *history.State, scope accountant.Scope) (l accountant.Limit, ok bool, err error) {
	limits, err := s.Policy.Scopes()
	if err != nil {
		return l, false, err
	}
	if all, err := history.Stated(state, limits); err == nil {
		l, ok = all[scope]
		return l, ok, nil
	}
	// A policy that contradicts the ledger has the budgets of its names.
	i := slices.IndexFunc(limits, func(l accountant.Limit) bool { return l.Scope == scope })
	if i < 0 {
		return l, false, nil
	}
	return limits[i], true, nil
}

// charged returns the tables of the policy whose statements are charged to a table's budget; nil if there is one alone, whose budget the
// policy states.
func (s *Books) charged(state *history.State, scope, stated accountant.Scope) (tables []string) {
	for _, l := range history.LinksOf(state) {
		of := func(t policy.TablePolicy) bool {
			return t.Name.String() == l.Table.Name && !t.Public && s.Policy.PartitionOf[t.Name].Name == "" // has that of its table
		}
		if l.Scope == scope && scope.Kind == accountant.TableScope && !slices.Contains(tables, l.Table.Name) &&
			slices.ContainsFunc(s.Policy.Tables.Tables, of) {
			tables = append(tables, l.Table.Name)
		}
	}
	if len(tables) == 1 && tables[0] == stated.Name {
		return nil
	}
	slices.Sort(tables)
	return tables
}

// left returns the rests of the budgets of a policy by the state of its ledger, as it will be when the policy serves: under the lower
// one of the two limits.
func (s *Books) left(state *history.State) (Rests, error) {
	balances, err := state.Balances()
	if err != nil {
		return nil, err
	}
	left := Rests{}
	for _, b := range balances {
		l, stated, err := s.stated(state, b.Scope)
		if err != nil {
			return nil, err
		}
		if !stated || !l.Loss.Comparable(b.Limit) {
			continue
		}
		if l.Loss.Fits(b.Limit) {
			b.Limit = l.Loss
		}
		if rest := b.Remaining(); rest.Fits(left.of(l)) { // two budgets that have swapped their tables count for both
			left[l.Scope] = rest
		}
	}
	return left, nil
}

func (s *Books) balancesJSON(state *history.State, balances []accountant.Balance) ([]balanceJSON, error) {
	all := []balanceJSON{}
	for _, b := range balances {
		left := b.Remaining()
		j := balanceJSON{
			Kind: string(b.Scope.Kind), Name: b.Scope.Name, Measure: b.Limit.Measure().String(), Frozen: b.Frozen, Retired: b.Retired,
			Limit: amountOf(b.Limit), Spent: amountOf(b.Spent), Held: amountOf(b.Held), Remaining: amountOf(left),
			DeltaLimit: deltaOf(b.Limit), DeltaSpent: deltaOf(b.Spent), DeltaHeld: deltaOf(b.Held), DeltaRemaining: deltaOf(left),
		}
		l, ok, err := s.stated(state, b.Scope)
		if err != nil {
			return nil, err
		}
		if ok {
			j.PolicyLimit, j.PolicyDeltaLimit = amountOf(l.Loss), deltaOf(l.Loss)
		}
		if ok && l.Scope != b.Scope {
			j.PolicyName = l.Scope.Name
		}
		j.Tables = s.charged(state, b.Scope, l.Scope)
		all = append(all, j)
	}
	return all, nil
}

// balances are those of a state, with a note for each budget of objects.
func (s *Books) balances(state *history.State) ([]accountant.Balance, map[accountant.Scope]string, error) {
	balances, err := state.Balances()
	if err != nil {
		return nil, nil, err
	}
	return withObjects(s.Policy, state, balances)
}

func (s *Books) balanceRows(
	state *history.State, balances []accountant.Balance, about map[accountant.Scope]string,
) ([][]string, error) {
	rows := [][]string{{"SCOPE", "LIMIT", "SPENT", "HELD", "REMAINING", "NOTE"}}
	for _, b := range balances {
		l, ok, err := s.stated(state, b.Scope)
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
		if ok && l.Scope != b.Scope {
			notes = append(notes, fmt.Sprintf("%v in the policy", l.Scope))
		}
		if tables := s.charged(state, b.Scope, l.Scope); tables != nil {
			notes = append(notes, "charged for "+strings.Join(tables, ", "))
		}
		switch {
		case !ok:
			notes = append(notes, "not in the policy")
		case l.Loss != b.Limit:
			notes = append(notes, fmt.Sprintf("the policy says %v", l.Loss))
		}
		rows = append(rows, []string{
			b.Scope.String(), b.Limit.String(), b.Spent.String(), b.Held.String(), b.Remaining().String(), strings.Join(notes, "; "),
		})
	}
	return rows, nil
}

// headText writes the hash of the last entry.
func (a *audit) headText() string { return hex.EncodeToString(a.head[:]) }

// State returns what all entries of the ledger, which are read and verified, add up to.
func (s *Books) State(ctx context.Context) (*history.State, error) {
	a, err := s.audit(ctx, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return a.state, nil
}
