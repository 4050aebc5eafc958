package proxy

import (
	"crypto/sha256"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"dpproxy/answers"
)

// This file holds how the generations of one question are found, and who has paid for which
// part of them.

// mostGenerations bounds how often one question is refined.
const mostGenerations = 1000

// key of a generation.
func (m *blockMemory) key(generation int) answers.Key {
	return answers.KeyOf(append([][]byte{[]byte(strconv.Itoa(generation))}, m.base...)...)
}

// last finds the last generation: it goes twice as far until there is none, and then halves
// what is between, so that a question that was refined a thousand times is found as soon. A
// generation that is forgotten hides later ones, which only forgets more.
func (m *blockMemory) last(get func(generation int) *answers.Answer) *answers.Answer {
	var last *answers.Answer
	m.generation = -1
	look := func(generation int) bool {
		found := get(generation)
		if found != nil {
			last, m.generation = found, generation
		}
		return found != nil
	}
	missing := mostGenerations
	for g := 0; g < missing; g = 2*g + 1 {
		if !look(g) {
			missing = g
		}
	}
	for m.generation+1 < missing {
		if mid := (m.generation + missing) / 2; !look(mid) {
			missing = mid
		}
	}
	return last
}

// payments are what analysts have paid in their own budgets for a block before the last
// generation, by payer and part.
type payments map[payer][]int64

// A payer is an analyst, by a digest of his name.
type payer [sha256.Size]byte

func payerOf(analyst string) payer { return sha256.Sum256([]byte(analyst)) }

// with returns the payments with those of analysts who have paid all of the parts.
func (p payments) with(analysts []string, parts []*measurement) payments {
	all := maps.Clone(p)
	amounts := make([]int64, len(parts))
	for j, part := range parts {
		amounts[j] = part.paidPico
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

// rows writes the payments: the payer and an amount for each part.
func (p payments) rows() [][]*big.Int {
	var rows [][]*big.Int
	for who, amounts := range p {
		row := []*big.Int{new(big.Int).SetBytes(who[:])}
		for _, pico := range amounts {
			row = append(row, big.NewInt(pico))
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b []*big.Int) int { return a[0].Cmp(b[0]) })
	return rows
}

// read takes a row of payments, and reports whether it is one.
func (p payments) read(row []*big.Int, parts int) bool {
	if len(row) != parts+1 || row[0].Sign() < 0 || row[0].BitLen() > 8*sha256.Size {
		return false
	}
	amounts := make([]int64, parts)
	for j, pico := range row[1:] {
		if pico.Sign() < 0 || !pico.IsInt64() {
			return false
		}
		amounts[j] = pico.Int64()
	}
	var who payer
	row[0].FillBytes(who[:])
	p[who] = amounts
	return true
}
