package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"dpproxy/accountant"
)

// The formats of a ledger that differ in how its entries count. A ledger counts by its own format, however old, until it is raised.
const (
	// namedFormat has entries that say of which tables a budget is and which tables a charge reads. Since it was raised every budget
	// that the ledger has is debited, whatever a policy says.
	namedFormat = 3
	// sharedFormat has budgets that share a table catch up with each other.
	sharedFormat = 4
	// Format is the latest one.
	Format = sharedFormat
)

// NeedsFormat reports whether an entry can only be recorded after the format of the ledger was raised.
func NeedsFormat(e Entry) bool {
	switch e.(type) { //nolint:gochecksumtype // earlier versions have the others too
	case PolicyEntry, RenameEntry, RetireEntry:
		return true
	}
	return false
}

// errFormat says that the format was raised before.
var errFormat = errors.New("history: the ledger has format")

// setFormat raises the format. Programs that do not know it refuse the entry.
func setFormat(s *State, e FormatEntry) error {
	switch {
	case int(e) > Format:
		return fmt.Errorf("history: the ledger has format %d, and this version of dpproxy knows formats up to %d", e, Format)
	case int(e) <= s.format:
		return fmt.Errorf("%w %d", errFormat, s.format)
	}
	if s.format < sharedFormat && int(e) >= sharedFormat {
		if err := addUp(s); err != nil {
			return err
		}
	}
	change(s, &s.format, int(e))
	return nil
}

// setPolicy takes the limits of a policy. It can create budgets and lower limits, and must have a limit for each budget that the
// ledger has, but for retired ones and for those that were left out before the format was raised.
func setPolicy(s *State, e PolicyEntry) error {
	if s.format < namedFormat {
		return errors.New("history: the format of the ledger must be raised before a policy is set")
	}
	if err := checkPolicy(e); err != nil {
		return err
	}
	if !s.ruled {
		if err := takeOver(s, e); err != nil {
			return err
		}
	}
	claims, err := claim(s, e)
	if err != nil {
		return err
	}
	if err := unclaimed(s, claims); err != nil {
		return err
	}
	var revived []accountant.Scope
	for scope, limit := range claims {
		b, err := s.withLimit(accountant.Limit{Scope: scope, Loss: limit.Loss})
		if err != nil {
			return err
		}
		if b.Retired {
			revived = append(revived, scope)
		}
		b.Retired = false
		put(s, s.balances, scope, b)
		drop(s, s.kept, scope)
	}
	links := linksFor(s, claims, e.Links)
	if s.format >= sharedFormat {
		if err := catchUp(s, links); err != nil {
			return err
		}
	}
	for _, l := range links {
		link(s, l.Scope, l.Table)
	}
	change(s, &s.ruled, true)
	return revive(s, revived...)
}

// linksFor returns the tables of the budgets that a policy names, and those that budgets have by one of their names or IDs already: after
// tables have swapped their names both budgets are of both.
func linksFor(s *State, claims map[accountant.Scope]accountant.Limit, links []accountant.Link) (all []accountant.Link) {
	for _, l := range links {
		for scope := range s.balances {
			if claims[scope].Scope == l.Scope || scope.Kind == l.Scope.Kind && isOf(s, scope, l.Table) {
				all = append(all, accountant.Link{Scope: scope, Table: l.Table})
			}
		}
	}
	return all
}

// Allows returns the error that a policy would have, and changes nothing.
func Allows(s *State, e PolicyEntry) error {
	s.Try()
	defer s.Rollback()
	if s.format < Format {
		if err := setFormat(s, Format); err != nil {
			return err
		}
	}
	return setPolicy(s, e)
}

// checkPolicy refuses limits that no policy has.
func checkPolicy(e PolicyEntry) error {
	seen := map[accountant.Scope]bool{}
	for _, l := range e.Limits {
		if seen[l.Scope] {
			return fmt.Errorf("history: %v has two limits", l.Scope)
		}
		seen[l.Scope] = true
	}
	for _, l := range e.Links {
		if err := checkText(l.Table.Name, l.Table.ID); err != nil {
			return err
		}
		if !seen[l.Scope] || !ofTable(l.Scope) || l.Table.Name == "" {
			return fmt.Errorf("history: %v has no table %q", l.Scope, l.Table.Name)
		}
	}
	return nil
}

func ofTable(s accountant.Scope) bool {
	return s.Kind == accountant.TableScope || s.Kind == accountant.LocalScope
}

// unclaimed refuses a policy that lacks a budget of the ledger, or has two units.
func unclaimed(s *State, claims map[accountant.Scope]accountant.Limit) error {
	var unit accountant.Scope
	for scope, l := range claims {
		if scope.Kind != accountant.UnitScope {
			continue
		}
		if unit != (accountant.Scope{}) {
			return fmt.Errorf("%w: it has two units, %v and %v", accountant.ErrPolicy, unit, scope)
		}
		unit = l.Scope
	}
	for _, b := range slices.SortedFunc(maps.Values(s.balances), byScope) {
		if _, has := claims[b.Scope]; has || b.Retired || s.kept[b.Scope] {
			continue
		}
		missing := &accountant.MissingError{Scope: b.Scope}
		if b.Scope.Kind == accountant.UnitScope {
			missing.Stated = unit
		}
		return missing
	}
	return nil
}

// isOf reports whether a budget is that of a table.
func isOf(s *State, scope accountant.Scope, t accountant.Table) bool {
	return ofTable(scope) && (named(s, accountant.Scope{Kind: scope.Kind, Name: t.Name}) == scope ||
		slices.ContainsFunc(s.links[scope], t.Is))
}

// link notes that a budget is that of a table.
func link(s *State, scope accountant.Scope, t accountant.Table) {
	if has := s.links[scope]; !slices.Contains(has, t) {
		put(s, s.links, scope, append(slices.Clip(has), t))
	}
}

// takeOver prepares a ledger whose policies were not checked before. Several units are one from now on, with all that was spent
// under each of their names; other budgets that the policy leaves out are kept, and debited.
func takeOver(s *State, e PolicyEntry) error {
	var unit accountant.Scope
	for _, l := range e.Limits {
		if l.Scope.Kind == accountant.UnitScope {
			unit = l.Scope
		}
	}
	all := slices.SortedFunc(maps.Values(s.balances), byScope)
	if _, known := s.balances[unit]; known {
		for _, b := range all {
			if b.Scope.Kind != accountant.UnitScope || b.Scope == unit {
				continue
			}
			if err := unite(s, b.Scope, unit); err != nil {
				return err
			}
		}
	}
	for _, b := range all {
		if b.Scope.Kind != accountant.UnitScope {
			put(s, s.kept, b.Scope, true)
		}
	}
	return nil
}

// checkCover refuses a charge that leaves out a budget of the unit, of the analyst or of a table that is read.
func checkCover(s *State, c accountant.Charge) error {
	if s.format < namedFormat {
		return nil
	}
	covered := func(scope accountant.Scope) bool {
		is := func(d accountant.Debit) bool { return named(s, d.Scope) == scope }
		return slices.ContainsFunc(c.Debits, is) || slices.ContainsFunc(c.Prepaid.Debits, is)
	}
	for _, d := range c.Debits {
		if len(c.Tables) == 0 && d.Scope.Kind != accountant.AnalystScope {
			return fmt.Errorf("history: a charge of %v that says of no table", d.Scope)
		}
	}
	for _, b := range slices.SortedFunc(maps.Values(s.balances), byScope) {
		if b.Counts() && debitedBy(s, b.Scope, c) && !covered(b.Scope) {
			return fmt.Errorf("%w: %v", accountant.ErrLeftOut, b.Scope)
		}
	}
	return nil
}

// debitedBy reports whether a charge must debit a budget.
func debitedBy(s *State, scope accountant.Scope, c accountant.Charge) bool {
	switch scope.Kind {
	case accountant.UnitScope:
		return len(c.Tables) > 0
	case accountant.AnalystScope:
		return named(s, accountant.Scope{Kind: accountant.AnalystScope, Name: c.Analyst}) == scope
	case accountant.TableScope:
		return slices.ContainsFunc(c.Tables, func(t accountant.Table) bool { return isOf(s, scope, t) })
	case accountant.LocalScope: // of each object, and debited by its answers
	}
	return false
}

// LinksOf returns the names and tables of all budgets, ordered by budget, former names among them.
func LinksOf(s *State) (all []accountant.Link) {
	for _, b := range slices.SortedFunc(maps.Values(s.balances), byScope) {
		for _, t := range tablesOf(s, b.Scope) {
			all = append(all, accountant.Link{Scope: b.Scope, Table: t})
		}
	}
	return all
}

// tablesOf are the tables of a budget: by its name and its former names, and those that policies have given it.
func tablesOf(s *State, scope accountant.Scope) []accountant.Table {
	all := []accountant.Table{{Name: scope.Name}}
	for _, former := range slices.SortedFunc(maps.Keys(s.renamed), byName) {
		if s.renamed[former] == scope {
			all = append(all, accountant.Table{Name: former.Name})
		}
	}
	return append(all, s.links[scope]...)
}
