package proxy

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/memledger"
	"dpproxy/internal/plantest"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/memory"
	"dpproxy/proxy/release"
)

// paidLedger notes the price of steps.
type paidLedger struct {
	accountant.Ledger

	paid int64
}

func (l *paidLedger) Step(_ context.Context, _ accountant.ChargeID, _ []string, debits []accountant.Debit) error {
	for _, d := range debits {
		l.paid += d.Loss.Pico()
	}
	return nil
}

// TestSetsOfOneRound holds that a grouping set of one round beside sets of more is paid before it
// is read.
func TestSetsOfOneRound(t *testing.T) {
	block := plantest.Block(t, "SELECT count(*), sum(height) FROM people", planner.Settings{
		EpsilonPico: 63_245_553_203, Mechanism: "gaussian", Alpha: 0.05, Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
	budget, err := dp.NewLoss(dp.ZCDP, dp.PicoPerUnit, 0)
	if err != nil {
		t.Fatal(err)
	}
	unit := accountant.Scope{Kind: accountant.UnitScope, Name: "person"}
	kept, err := memledger.New([]accountant.Limit{{Scope: unit, Loss: budget}})
	if err != nil {
		t.Fatal(err)
	}
	l := &paidLedger{Ledger: kept}
	c, err := cashier.New(t.Context(), l, plantest.People(t), "", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	plan := &planner.Plan{Blocks: []*planner.BlockPlan{block}}
	none := memory.New(nil, nil, nil, nil, nil).Recall(t.Context(), plan, memory.Analyst{}, false, time.Time{})
	d := &drawing{
		execution: &execution{p: &Proxy{cashier: c, memory: memory.New(nil, nil, nil, nil, nil)}}, plan: plan, veil: &veil{}, known: none,
		bill: cashier.Bill{Scopes: []accountant.Scope{unit}, Event: block.Event(), Rounds: true},
		run:  release.New(plan, none.Before, c.Price, nil),
	}
	if err := d.reserve(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.paid < 19e8 || l.paid > 2e9 {
		t.Errorf("two releases of ρ = 0.001 are paid with %d", l.paid)
	}
}
