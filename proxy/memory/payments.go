package memory

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"slices"

	"dpproxy/answers"
	"dpproxy/proxy/release"
)

// payments are the prices that analysts have paid with budgets of their own for a block before the
// last generation, by payer and grouping set.
type payments map[payer][]int64

// A payer is an analyst, by a digest of the name.
type payer [sha256.Size]byte

func payerOf(analyst string) payer { return sha256.Sum256([]byte(analyst)) }

// paidBy returns the payments after the analysts have paid for all of the sets.
func (p payments) paidBy(analysts []string, sets []*release.Set) payments {
	all := maps.Clone(p)
	amounts := make([]int64, len(sets))
	for j, s := range sets {
		amounts[j] = s.PaidPico
	}
	for _, a := range analysts {
		all[payerOf(a)] = amounts
	}
	return all
}

// without returns the payments of the others, who have not paid for the next generation.
func (p payments) without(analyst string) payments {
	others := maps.Clone(p)
	delete(others, payerOf(analyst))
	return others
}

// record writes payments as they are kept.
func (p payments) record() []answers.Payment {
	var out []answers.Payment
	for who, amounts := range p {
		out = append(out, answers.Payment{Analyst: who[:], Pico: amounts})
	}
	slices.SortFunc(out, func(a, b answers.Payment) int { return bytes.Compare(a.Analyst, b.Analyst) })
	return out
}

// paymentsOf is the inverse of record.
func paymentsOf(r *answers.Release) payments {
	p := payments{}
	for _, kept := range r.Payments {
		p[payer(kept.Analyst)] = kept.Pico
	}
	return p
}

// valid reports whether a payment is one for so many grouping sets.
func valid(p answers.Payment, sets int) bool {
	return len(p.Analyst) == sha256.Size && len(p.Pico) == sets && !slices.ContainsFunc(p.Pico, func(pico int64) bool { return pico < 0 })
}
