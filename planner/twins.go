package planner

import (
	"crypto/sha256"
	"encoding/binary"
)

// This file finds blocks of a statement that ask the same. They share one part of the budget, are read once, and have the same values
// everywhere.

// twinsOf maps blocks of a plan to the first block that asks the same. The plan divides the budget equally among all blocks, except for
// weights, which are part of the question.
func twinsOf(p *Plan) map[int]int {
	twins, first := map[int]int{}, map[[sha256.Size]byte]int{}
	for i, b := range p.Blocks {
		if !b.Reads() {
			continue
		}
		q := b.Question()
		if p.Reduces() != 0 {
			q = append(b.ReductionQuestion(), b.Request())
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

// alike reports whether the releases of two blocks have the same form.
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
