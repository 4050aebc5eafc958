package planner

import (
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// block is a release block, resolved.
type block struct {
	source *source.Source
	keys   []*key
	// factors are the public values of keys, as far as these do not depend on the values of constants.
	factors []*factor
	// sets are the grouping sets, as indices into keys; a block without GROUPING SETS has one.
	sets       [][]int
	groupings  [][]int
	aggregates []*aggregate
	top        *topClause    // nil if all groups are shown
	offsets    []scalar.Expr // constants that must be 0
	having     []scalar.Expr // conditions that hold for all groups or for none
	counts     []int         // indices of values that count its rows, as in [ast.Block]
	at         int
	// computed says that output columns are computed from its values, and chosen that its values decide which of its rows are shown.
	computed, chosen bool
}

// reads reports whether the block needs protected rows: if it has no aggregate and its keys are public, nothing is read.
func (b *block) reads() bool { return len(b.aggregates) > 0 || b.private() }

// private reports whether some key has no known public values, so that rows are read even without aggregates. It may report true for a
// block whose groups turn out to be public.
func (b *block) private() bool {
	known := 0
	for _, f := range b.factors {
		known += len(f.keys)
	}
	return known < len(b.keys)
}
