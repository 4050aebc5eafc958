package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// claim finds the budgets that the limits of a policy are for: the one of the limit's name; without it, one that has a table with one of
// the limit's names or IDs; and a new one if there is none.
func claim(s *State, e PolicyEntry) (map[accountant.Scope]accountant.Limit, error) {
	claims := map[accountant.Scope]accountant.Limit{}
	var unnamed []accountant.Limit
	for _, l := range e.Limits {
		scope := named(s, l.Scope)
		_, known := s.balances[scope]
		other, twice := claims[scope]
		if err := checkLocal(s, scope, l, e.Links); err != nil {
			return nil, err
		}
		switch {
		case twice:
			return nil, fmt.Errorf("%w: %v and %v are one budget of the ledger, since a decision renamed it", accountant.ErrPolicy,
				other.Scope, l.Scope)
		case known:
			claims[scope] = l
		default:
			unnamed = append(unnamed, l)
		}
	}
	if s.format < sharedFormat {
		claimAll(s, claims, unnamed, e.Links)
	} else {
		claimEach(s, claims, unnamed, e.Links)
	}
	return claims, nil
}

// claimEach has each limit claim one budget of its table that no limit names, so that as few budgets as can be are left. After two tables
// have swapped their names both budgets are of both: a policy that has one table alone lacks a budget. A budget that a decision has retired
// is claimed if no other is left.
func claimEach(s *State, claims map[accountant.Scope]accountant.Limit, unnamed []accountant.Limit, links []accountant.Link) {
	c, retired := claiming{claims, map[accountant.Scope][]accountant.Scope{}}, map[accountant.Scope]bool{}
	for _, l := range unnamed {
		linked := unclaimedOf(s, claims, l.Scope, links)
		slices.SortStableFunc(linked, func(a, b accountant.Scope) int {
			return cmp.Compare(changes(s.balances[a].Limit, l.Loss), changes(s.balances[b].Limit, l.Loss))
		})
		for _, scope := range linked {
			retired[scope] = s.balances[scope].Retired
		}
		c.linked[l.Scope] = linked
	}
	for _, without := range []map[accountant.Scope]bool{retired, {}} {
		unnamed = slices.DeleteFunc(unnamed, func(l accountant.Limit) bool { return c.claim(l, maps.Clone(without)) })
	}
	for _, l := range unnamed {
		claims[named(s, l.Scope)] = l
	}
}

// changes orders the budgets that a limit can claim: the one that has this limit first, those that it lowers, and those that it raises.
func changes(limit, stated dp.Loss) int {
	switch {
	case stated == limit:
		return 0
	case stated.Fits(limit):
		return 1
	}
	return 2
}

// A claiming has the budgets that are claimed, and those that limits can claim by their tables, by the names of the limits.
type claiming struct {
	claims map[accountant.Scope]accountant.Limit
	linked map[accountant.Scope][]accountant.Scope
}

// claim finds a budget for a limit, beside those that were asked for. Another limit leaves its budget if it finds another one.
func (c claiming) claim(l accountant.Limit, asked map[accountant.Scope]bool) bool {
	for _, scope := range c.linked[l.Scope] {
		if asked[scope] {
			continue
		}
		asked[scope] = true
		if other, taken := c.claims[scope]; !taken || c.claim(other, asked) {
			c.claims[scope] = l
			return true
		}
	}
	return false
}

// claimAll is how limits claimed budgets in earlier formats: each all of its table. One of several that a decision has retired stays so.
func claimAll(s *State, claims map[accountant.Scope]accountant.Limit, unnamed []accountant.Limit, links []accountant.Link) {
	for _, l := range unnamed {
		linked := unclaimedOf(s, claims, l.Scope, links)
		retired := func(scope accountant.Scope) bool { return s.balances[scope].Retired }
		if counting := slices.DeleteFunc(slices.Clone(linked), retired); len(counting) > 0 {
			linked = counting // a decision has retired the others
		}
		for _, scope := range linked {
			claims[scope] = l
		}
		if len(linked) == 0 {
			claims[named(s, l.Scope)] = l
		}
	}
}

// unclaimedOf returns the budgets that are linked to a limit's and that no limit claims yet.
func unclaimedOf(
	s *State, claims map[accountant.Scope]accountant.Limit, of accountant.Scope, links []accountant.Link,
) []accountant.Scope {
	return slices.DeleteFunc(linkedBy(s, of, links), func(c accountant.Scope) bool {
		_, taken := claims[c]
		return taken
	})
}

// Stated returns the limits of a policy by the budgets of the ledger that they are for. Tables are known by their names alone, which are
// those that they had when a policy was last set.
func Stated(s *State, limits []accountant.Limit) (map[accountant.Scope]accountant.Limit, error) {
	e := PolicyEntry{Limits: limits}
	for _, l := range limits {
		if l.Scope.Kind == accountant.TableScope {
			e.Links = append(e.Links, accountant.Link{Scope: l.Scope, Table: accountant.Table{Name: l.Scope.Name}})
		}
	}
	return claim(s, e)
}

// checkLocal refuses the budget of a local table that is the one of another name by its ID: what its objects have lost is in
// the answers that the other name has.
func checkLocal(s *State, scope accountant.Scope, l accountant.Limit, links []accountant.Link) error {
	for _, other := range linkedBy(s, l.Scope, links) {
		if other != scope && scope.Kind == accountant.LocalScope {
			return &accountant.MissingError{Scope: other, Stated: l.Scope}
		}
	}
	return nil
}

// linkedBy returns the budgets of the same kind that are of one of the tables which a policy gives a budget, in the order of
// their names.
func linkedBy(s *State, of accountant.Scope, links []accountant.Link) (found []accountant.Scope) {
	for _, b := range slices.SortedFunc(maps.Values(s.balances), byScope) {
		is := func(l accountant.Link) bool { return l.Scope == of && isOf(s, b.Scope, l.Table) }
		if b.Scope.Kind == of.Kind && slices.ContainsFunc(links, is) {
			found = append(found, b.Scope)
		}
	}
	return found
}
