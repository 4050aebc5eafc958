package proxy

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner"
)

// An Allowance is what the policy lets statements do at most, of one analyst or about one
// table.
type Allowance struct {
	// MaxEpsilonPico is what a statement may spend, in 10⁻¹² of ε; 0: no limit of its own.
	MaxEpsilonPico int64
	// Mechanisms are those that may be used; nil: all.
	Mechanisms []string
}

// allowance returns what all that is concerned allows together: the analyst, each table
// that is read, and the policy as a whole. Its Mechanisms are never nil.
func (p *Proxy) allowance(analyst string, tables []catalog.Name) Allowance {
	policy := p.policy.Load()
	out := Allowance{Mechanisms: []string{}}
	for _, m := range planner.Mechanisms() {
		if policy.defaults.Recycling || !planner.Recycles(m) {
			out.Mechanisms = append(out.Mechanisms, m)
		}
	}
	out = out.and(policy.analysts[analyst].Allowance)
	for _, t := range tables {
		out = out.and(policy.defaults.Tables[t])
	}
	return out
}

// and returns what both allow.
func (a Allowance) and(b Allowance) Allowance {
	if b.MaxEpsilonPico > 0 {
		a.MaxEpsilonPico = b.most(a.MaxEpsilonPico)
	}
	if b.Mechanisms != nil {
		a.Mechanisms = slices.DeleteFunc(slices.Clone(a.Mechanisms), func(m string) bool { return !slices.Contains(b.Mechanisms, m) })
	}
	return a
}

// most returns the part of what a statement wants to spend that it may spend. Wanting
// nothing in particular is 0.
func (a Allowance) most(epsilonPico int64) int64 {
	if a.MaxEpsilonPico > 0 && (epsilonPico == 0 || epsilonPico > a.MaxEpsilonPico) {
		return a.MaxEpsilonPico
	}
	return epsilonPico
}
