package proxy

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner"
)

// An Allowance bounds the statements of one analyst, or about one
// table.
type Allowance struct {
	// MaxEpsilonPico is the most that a statement may spend, in 10⁻¹² of ε; 0: no limit of its own.
	MaxEpsilonPico int64
	// Mechanisms are the allowed ones; nil: all.
	Mechanisms []string
	// MinimumPeople is how many people a group must have by a released count to be shown; 0: no minimum of its own.
	MinimumPeople int64
}

// allowance returns the least of all allowances that are concerned: the analyst's, that of each table
// that is read, and the policy as a whole. Its Mechanisms are never nil. Of minimums of people it has the largest.
func (p *Proxy) allowance(analyst string, tables []catalog.Name) Allowance {
	out := Allowance{Mechanisms: []string{}, MinimumPeople: p.cfg.Defaults.MinimumPeople}
	for _, m := range planner.Mechanisms() {
		if p.cfg.Defaults.Recycling || !planner.Recycles(m) {
			out.Mechanisms = append(out.Mechanisms, m)
		}
	}
	out = out.narrowed(p.analyst(analyst).Allowance)
	for _, t := range tables {
		out = out.narrowed(p.cfg.Defaults.Tables[t])
	}
	return out
}

// narrowed returns the allowance that both grant.
func (a Allowance) narrowed(b Allowance) Allowance {
	if b.MaxEpsilonPico > 0 {
		a.MaxEpsilonPico = b.most(a.MaxEpsilonPico)
	}
	if b.Mechanisms != nil {
		a.Mechanisms = slices.DeleteFunc(slices.Clone(a.Mechanisms), func(m string) bool { return !slices.Contains(b.Mechanisms, m) })
	}
	a.MinimumPeople = max(a.MinimumPeople, b.MinimumPeople)
	return a
}

// most returns the part of a wish to spend that is allowed. Wanting
// nothing in particular is 0.
func (a Allowance) most(epsilonPico int64) int64 {
	if a.MaxEpsilonPico > 0 && (epsilonPico == 0 || epsilonPico > a.MaxEpsilonPico) {
		return a.MaxEpsilonPico
	}
	return epsilonPico
}
