package cashier

import (
	"slices"

	"dpproxy/accountant"
	"dpproxy/catalog"
)

// Scopes lists the budgets that a statement on the tables debits: the unit's, each table's that
// has one, and the analyst's, where they have one of their own.
func (c *Cashier) Scopes(analyst string, own bool, tables []catalog.Name) []accountant.Scope {
	scopes := []accountant.Scope{{Kind: accountant.UnitScope, Name: c.catalog.Unit()}}
	for _, t := range c.budgetTables(tables) {
		s := accountant.Scope{Kind: accountant.TableScope, Name: t.String()}
		if _, ok := c.measure(s); ok {
			scopes = append(scopes, s)
		}
	}
	if own {
		scopes = append(scopes, accountant.Scope{Kind: accountant.AnalystScope, Name: analyst})
	}
	return scopes
}

// budgetTables returns the tables whose budgets a read of the tables debits, each once:
// a partition has that of its table.
func (c *Cashier) budgetTables(tables []catalog.Name) []catalog.Name {
	var out []catalog.Name
	for _, t := range tables {
		if source := c.catalog.Source(t); source != nil {
			t = source.Scope()
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
