package cashier

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/planner"
)

// Scopes lists the budgets that a statement on the tables debits: all that the ledger has of the unit, of the tables and of the
// analyst, whatever the policy says of them. One that the policy has and the ledger does not is among them, and refuses.
func (c *Cashier) Scopes(analyst string, own bool, tables []catalog.Name) []accountant.Scope {
	register := c.budgets()
	unit, known := register.Unit()
	if !known {
		unit = accountant.Scope{Kind: accountant.UnitScope, Name: c.catalog.Unit()}
	}
	scopes := []accountant.Scope{unit}
	for _, t := range c.Tables(tables) {
		for _, s := range register.Of(accountant.TableScope, t) {
			if !slices.Contains(scopes, s) {
				scopes = append(scopes, s)
			}
		}
	}
	has := register.Of(accountant.AnalystScope, accountant.Table{Name: analyst})
	if own && len(has) == 0 {
		has = []accountant.Scope{{Kind: accountant.AnalystScope, Name: analyst}}
	}
	return append(scopes, has...)
}

// Owns reports whether the ledger has a budget of an analyst.
func (c *Cashier) Owns(analyst string) bool {
	return len(c.budgets().Of(accountant.AnalystScope, accountant.Table{Name: analyst})) > 0
}

// Tables returns the tables that the ledger knows as read by a statement on others: a partition is its table and itself.
func (c *Cashier) Tables(tables []catalog.Name) (out []accountant.Table) {
	for _, n := range slices.Concat(c.budgetTables(tables), tables) {
		t := accountant.Table{Name: n.String()}
		if source := c.catalog.Source(n); source != nil {
			t.ID = TableID(c.database, source.OID)
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// TableID is the ID of a table in a database; empty if one of them is not known.
func TableID(database string, oid uint32) string {
	if database == "" || oid == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%d", database, oid)
}

// Names returns the names that the policy has by now for what a budget is of, whatever the ledger calls it: the unit, or the tables
// whose statements are charged to it. There are several after tables have swapped their names, and none if the policy has no such table.
// The budget of an analyst has all names that it ever had.
func (c *Cashier) Names(s accountant.Scope) (names []string) {
	switch s.Kind {
	case accountant.UnitScope:
		return []string{c.catalog.Unit()}
	case accountant.AnalystScope:
		return c.budgets().Names(s)
	case accountant.LocalScope: // no statement is charged to it
		return []string{s.Name}
	case accountant.TableScope:
	}
	for _, n := range c.catalog.Protected() {
		own := c.Tables([]catalog.Name{n})[0] // a partition has the budget of its table
		if own.Name == n.String() && slices.Contains(c.budgets().Of(s.Kind, own), s) {
			names = append(names, own.Name)
		}
	}
	return names
}

// Current returns a budget by the names that the policy has for it by now; by that of the ledger, if there are none or if it is an
// analyst's.
func (c *Cashier) Current(s accountant.Scope) accountant.Scope {
	if names := c.Names(s); len(names) > 0 && s.Kind != accountant.AnalystScope {
		s.Name = strings.Join(names, ", ")
	}
	return s
}

// Told writes the name of a budget for an analyst.
func (c *Cashier) Told(s accountant.Scope, untold planner.Untold) string {
	return untold.Scope(c.Current(s).Name)
}

// current gives the budget of an error the name that the policy has for its table.
func (c *Cashier) current(err error) error {
	short, is := errors.AsType[*accountant.InsufficientError](err)
	if !is {
		return err
	}
	now := *short
	now.Scope = c.Current(short.Scope)
	return &now
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
