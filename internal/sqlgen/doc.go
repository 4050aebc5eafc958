// Package sqlgen makes random databases with privacy units, policies that protect
// them, and random aggregate statements over them, for tests of properties: that no
// unit changes an answer by more than its declared sensitivity, that answers without
// noise are those of Postgres, that no text makes the planner panic.
//
// Everything follows from a seed. A statement is valid SQL over its schema; whether the
// planner takes it is the planner's affair.
package sqlgen

import (
	"math/rand/v2"
	"strings"
)

// A Generator makes schemas and statements from one stream of random numbers.
type Generator struct {
	dice
	// FiniteNumerics leaves out infinite numerics, which Postgres has from 14 on.
	FiniteNumerics bool
}

// New returns a generator that repeats itself with the same seed.
func New(seed uint64) *Generator {
	return &Generator{dice: dice{rand.New(rand.NewPCG(seed, 0x5eed))}}
}

// dice are the source of random choices that all parts of a generator share.
type dice struct{ r *rand.Rand }

func (d dice) random() *rand.Rand { return d.r }

// chance is true with a probability of so many percent.
func (d dice) chance(percent int) bool { return d.r.IntN(100) < percent }

// choose returns one of some values.
func choose[T any](d interface{ random() *rand.Rand }, of ...T) T {
	return of[d.random().IntN(len(of))]
}

// quote writes a text literal.
func quote(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return " E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}
