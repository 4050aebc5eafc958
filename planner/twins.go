package planner

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"dpproxy/planner/scalar"
)

// This file finds blocks of one statement that ask the same. They are one block: it has the share of the budget of all, is read once,
// and has the same values everywhere.

// twinsOf returns the blocks of a plan that ask what an earlier one asks, with the place of the first. All have been planned with
// equal parts of the budget, but for weights, which belong to the question.
func twinsOf(p *Plan, values []scalar.Value) map[int]int {
	twins, first := map[int]int{}, map[[sha256.Size]byte]int{}
	for i, b := range p.Blocks {
		if !b.Reads() {
			continue
		}
		q := b.Question(values)
		if p.Reduces() != 0 {
			q = append(b.ReductionQuestion(values), b.Request())
		}
		if b.block.source.Concealing() { // that a hidden definition is the one of another block is not told
			q = append(q, []byte(strings.Join(b.block.source.Told(), ",")))
		}
		h := sha256.New()
		for _, part := range q {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
			h.Write(part)
		}
		digest := [sha256.Size]byte(h.Sum(nil))
		if j, ok := first[digest]; ok && alike(p.Blocks[j], b) {
			twins[i] = j
		} else if !ok {
			first[digest] = i
		}
	}
	return twins
}

// alike reports whether the releases of two blocks have one form.
func alike(a, b *BlockPlan) bool {
	if len(a.Sets) != len(b.Sets) {
		return false
	}
	for j, set := range a.Sets {
		o := b.Sets[j]
		if set.Integers() != o.Integers() || set.Keys() != o.Keys() || set.ShowsKeys() != o.ShowsKeys() || set.Shows() != o.Shows() {
			return false
		}
	}
	return true
}
