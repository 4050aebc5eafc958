package planner

import (
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// block is one release block, resolved.
type block struct {
	source *source.Source
	keys   []*key
	// factors are the public values of keys, as far as that does not
	// depend on the values of constants.
	factors []*factor
	// sets are the grouping sets, as indices into keys; a block without GROUPING SETS
	// has one.
	sets       [][]int
	groupings  [][]int
	aggregates []*aggregate
	top        *topClause    // nil where all groups are shown
	offsets    []scalar.Expr // constants that must be 0
	counts     []int         // places that count its rows, as in [ast.Block]
	at         int
	// computed says that output columns are computed of its values, chosen that these choose which of its rows are shown.
	computed, chosen bool
}

// reads reports whether the block needs protected rows at all: without an aggregate,
// public keys are shown and nothing is read.
func (b *block) reads() bool { return len(b.aggregates) > 0 || b.private() }

// private reports whether a key surely has no public values: then rows are read even
// without aggregates. It errs on the side of private.
func (b *block) private() bool {
	known := 0
	for _, f := range b.factors {
		known += len(f.keys)
	}
	return known < len(b.keys)
}
