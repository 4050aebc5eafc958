package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/cmd/dpproxy/listing"
	"dpproxy/config"
)

// Budget shows budgets or decides about them.
type Budget struct {
	List   budgetList   `cmd:"" help:"Show every budget: its limit, what is spent, held and left."`
	Raise  budgetRaise  `cmd:"" help:"Raise a limit."`
	Lower  budgetLower  `cmd:"" help:"Lower a limit, even below what is spent."`
	Freeze budgetFreeze `cmd:"" help:"Charge nothing more to a budget, until it is thawed."`
	Thaw   budgetThaw   `cmd:"" help:"Charge a frozen budget again."`
	Rename budgetRename `cmd:"" help:"Give a budget the name that its unit, table or analyst has by now; what is spent goes with it."`
	Retire budgetRetire `cmd:"" help:"Let a budget limit nothing any more, so that a policy can leave it out; what is spent stays."`
}

type budgetList struct {
	Policy          string `arg:"" help:"Policy file." type:"path"`
	listing.Options `embed:""`
}

// Run implements the command.
func (c *budgetList) Run(ctx context.Context, log *slog.Logger) error {
	s, err := Load(c.Policy)
	if err != nil {
		return err
	}
	a, err := s.audit(ctx, log)
	if err != nil {
		return err
	}
	balances, notes, err := s.balances(a.state)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		all, err := s.balancesJSON(a.state, balances)
		if err != nil {
			return err
		}
		return listing.WriteJSON(all)
	}
	rows, err := s.balanceRows(a.state, balances, notes)
	if err != nil {
		return err
	}
	return listing.Table(rows...)
}

// scopeArgs name a budget.
type scopeArgs struct {
	Policy   string `arg:"" help:"Policy file." type:"path"`
	Scope    string `help:"The budget: unit:NAME, table:NAME, local:NAME or analyst:NAME." required:"" placeholder:"KIND:NAME"`
	Decision `embed:""`
}

func (c *scopeArgs) scope() (accountant.Scope, error) { return parseScope("--scope", c.Scope) }

func parseScope(option, text string) (accountant.Scope, error) {
	kind, name, _ := strings.Cut(text, ":")
	s := accountant.Scope{Kind: accountant.ScopeKind(kind), Name: name}
	switch s.Kind {
	case accountant.TableScope:
		if !strings.Contains(name, ".") {
			s.Name = "public." + name
		}
	case accountant.LocalScope:
		if !strings.Contains(name, ".") {
			s.Name = "public." + name
		}
	case accountant.UnitScope, accountant.AnalystScope:
	default:
		return s, fmt.Errorf("%s %q: a budget is unit:NAME, table:NAME, local:NAME or analyst:NAME", option, text)
	}
	return s, nil
}

// decide records the command's decision about its scope, and returns the state and the balance
// after it.
func (c *scopeArgs) decide(
	ctx context.Context, log *slog.Logger, entry func(scope accountant.Scope, who string) (history.Entry, error),
) (s *Books, state *history.State, b accountant.Balance, err error) {
	if s, err = Load(c.Policy); err != nil {
		return nil, nil, b, err
	}
	scope, err := c.scope()
	if err != nil {
		return nil, nil, b, err
	}
	who, err := c.Decider()
	if err != nil {
		return nil, nil, b, err
	}
	e, err := entry(scope, who)
	if err != nil {
		return nil, nil, b, err
	}
	if state, err = s.Decide(ctx, log, e); err != nil {
		return nil, nil, b, err
	}
	after, err := state.Balances(scope)
	if err != nil {
		return nil, nil, b, s.advise(err)
	}
	return s, state, after[0], nil
}

// limitArgs are a budget and its new limit.
type limitArgs struct {
	scopeArgs      `embed:""`
	Epsilon        string `help:"The new limit, as in the policy." required:""`
	Delta          string `help:"The new limit's delta, as in the policy."`
	SelectionDelta string `help:"The part of delta for releases that may fail; half of it unless said otherwise."`
}

func (c *limitArgs) limit(scope accountant.Scope) (accountant.Limit, error) {
	if scope.Kind == accountant.LocalScope {
		if c.SelectionDelta != "" {
			return accountant.Limit{}, errors.New("--selection-delta is of central budgets: answers of objects never fail")
		}
		loss, err := config.ParseLocalBudget(c.Epsilon, c.Delta)
		return accountant.Limit{Scope: scope, Loss: loss}, err
	}
	b, err := config.ParseBudget(c.Epsilon, c.Delta, c.SelectionDelta)
	if err != nil {
		return accountant.Limit{}, err
	}
	loss, err := b.Limit()
	return accountant.Limit{Scope: scope, Loss: loss}, err
}

// text writes the limit as the policy has it.
func (c *limitArgs) text() string {
	text := "epsilon: " + c.Epsilon
	if c.Delta != "" {
		text += ", delta: " + c.Delta
	}
	if c.SelectionDelta != "" {
		text += ", selection_delta: " + c.SelectionDelta
	}
	return "{" + text + "}"
}

// report writes the limit of now, and the one that the policy must have by the next start.
func (c *limitArgs) report(s *Books, state *history.State, b accountant.Balance, otherwise string) error {
	if b.Scope.Kind == accountant.LocalScope {
		fmt.Printf("each object of %s is limited to %v\n", b.Scope.Name, b.Limit)
	} else {
		fmt.Printf("%v is limited to %v; %v is spent, %v is left\n", b.Scope, b.Limit, b.Spent, b.Remaining())
	}
	stated, ok, err := s.stated(state, b.Scope)
	switch {
	case err != nil:
		return err
	case !ok:
		fmt.Println("the policy gives it no budget, so that this limit stays")
	case stated.Loss == b.Limit:
		fmt.Println("the policy says the same")
	default:
		value := c.text()
		if b.Scope.Kind == accountant.LocalScope && c.Delta == "" {
			value = c.Epsilon
		}
		fmt.Printf("the policy still says %v: %s; set %s to %s in the policy of every proxy\n", stated.Loss, otherwise,
			policyKey(stated.Scope), value)
	}
	return nil
}

// policyKey is where the policy gives a scope its budget.
func policyKey(scope accountant.Scope) string {
	switch scope.Kind {
	case accountant.TableScope:
		return "tables." + strings.TrimPrefix(scope.Name, "public.") + ".budget"
	case accountant.AnalystScope:
		return "analysts." + scope.Name + ".budget"
	case accountant.LocalScope:
		return "tables." + strings.TrimPrefix(scope.Name, "public.") + ".local_budget"
	case accountant.UnitScope:
	}
	return "privacy_unit.budget"
}

type budgetRaise struct {
	limitArgs `embed:""`
}

// Run implements the command.
func (c *budgetRaise) Run(ctx context.Context, log *slog.Logger) error {
	s, state, b, err := c.decide(ctx, log, func(scope accountant.Scope, who string) (history.Entry, error) {
		limit, err := c.limit(scope)
		return history.RaiseEntry{Limit: limit, Who: who, Reason: c.Reason}, err
	})
	if err != nil {
		return err
	}
	return c.report(s, state, b, "the next start or reload of dpproxy would lower it again")
}

type budgetLower struct {
	limitArgs `embed:""`
}

// Run implements the command.
func (c *budgetLower) Run(ctx context.Context, log *slog.Logger) error {
	s, state, b, err := c.decide(ctx, log, func(scope accountant.Scope, who string) (history.Entry, error) {
		limit, err := c.limit(scope)
		return history.LowerEntry{Limit: limit, Who: who, Reason: c.Reason}, err
	})
	if err != nil {
		return err
	}
	otherwise := "dpproxy would not start, or reload it, since a policy cannot raise a limit"
	if stated, ok, err := s.stated(state, b.Scope); err == nil && ok && stated.Loss.Fits(b.Limit) {
		otherwise = "the next start or reload of dpproxy would lower it further"
	}
	return c.report(s, state, b, otherwise)
}

type budgetFreeze struct {
	scopeArgs `embed:""`
}

// Run implements the command.
func (c *budgetFreeze) Run(ctx context.Context, log *slog.Logger) error {
	return c.set(ctx, log, true)
}

type budgetThaw struct {
	scopeArgs `embed:""`
}

// Run implements the command.
func (c *budgetThaw) Run(ctx context.Context, log *slog.Logger) error {
	return c.set(ctx, log, false)
}

// set freezes or thaws a budget.
func (c *scopeArgs) set(ctx context.Context, log *slog.Logger, frozen bool) error {
	_, _, b, err := c.decide(ctx, log, func(scope accountant.Scope, who string) (history.Entry, error) {
		return history.FreezeEntry{Scope: scope, Frozen: frozen, Who: who, Reason: c.Reason}, nil
	})
	if err != nil {
		return err
	}
	switch local := b.Scope.Kind == accountant.LocalScope; {
	case local && frozen:
		fmt.Printf("%v is frozen: no survey is taken\n", b.Scope)
	case local:
		fmt.Printf("%v is asked again\n", b.Scope)
	case frozen:
		fmt.Printf("%v is frozen: nothing more is charged to it; %v of %v is spent\n", b.Scope, b.Spent, b.Limit)
	default:
		fmt.Printf("%v is charged again; %v of %v is spent\n", b.Scope, b.Spent, b.Limit)
	}
	return nil
}
