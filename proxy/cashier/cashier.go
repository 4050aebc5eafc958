package cashier

import (
	"context"
	"log/slog"
	"sync"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/planner/policy"
)

// A Cashier debits the budgets of a ledger. It is safe for concurrent use.
type Cashier struct {
	ledger  accountant.Ledger
	catalog *policy.Model
	// database names the protected database, whose OIDs the model has.
	database string
	prices   prices
	log      *slog.Logger

	mu       sync.RWMutex
	register *accountant.Register
}

// New returns the Cashier of a ledger, whose budgets it reads. OIDs of the model are those of the database with the given name;
// without a name they tell nothing.
func New(ctx context.Context, ledger accountant.Ledger, cat *policy.Model, database string, log *slog.Logger) (*Cashier, error) {
	c := &Cashier{ledger: ledger, catalog: cat, database: database, log: log}
	return c, c.Reload(ctx)
}

// Reload reads which budgets there are. Their measures never change.
func (c *Cashier) Reload(ctx context.Context) error {
	r, err := accountant.ReadRegister(ctx, c.ledger)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.register = r
	return nil
}

// budgets are those that the ledger had when it was read.
func (c *Cashier) budgets() *accountant.Register {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.register
}

// measure returns that of a budget, if there is one.
func (c *Cashier) measure(s accountant.Scope) (dp.Measure, bool) { return c.budgets().Measure(s) }

// Pure reports whether one of the budgets is of pure differential privacy.
func (c *Cashier) Pure(scopes []accountant.Scope) bool {
	for _, s := range scopes {
		if m, _ := c.measure(s); m == dp.PureDP {
			return true
		}
	}
	return false
}

// Price returns the cost of a release in a measure.
func (c *Cashier) Price(e dp.ComposedEvent, m dp.Measure) (dp.Loss, error) {
	return c.prices.price(e, m)
}

// PriceIn returns the cost of a release in the measure of a budget.
func (c *Cashier) PriceIn(e dp.ComposedEvent, s accountant.Scope) (dp.Loss, error) {
	m, _ := c.measure(s)
	return c.prices.price(e, m)
}
