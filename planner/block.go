package planner

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// block is a release block, resolved.
type block struct {
	source *source.Source
	keys   []*key
	// factors are the public values of keys over public tables, and lists what the mirror is asked for about other keys.
	factors []*factor
	lists   map[string]*asked
	// conditions are what the mirror is asked for about conditions that declared values decide, by the levels that have them.
	conditions map[any][]*asked
	constants  *scalar.Constants
	// sets are the grouping sets, as indices into keys; a block without GROUPING SETS has one.
	sets       [][]int
	groupings  [][]int
	aggregates []*aggregate
	top        *topClause    // nil if all groups are shown
	running    *ast.Running  // how values are added up above the block; nil if they are not
	offsets    []scalar.Expr // constants that must be 0
	having     []scalar.Expr // conditions that hold for all groups or for none
	counts     []int         // indices of values that count its rows, as in [ast.Block]
	summed     bool          // as in [ast.Block]
	present    bool          // likewise
	at         int
	// computed says that output columns are computed from its values, and chosen that its values decide which of its rows are shown.
	computed, chosen bool
}

// reads reports whether the block needs protected rows: if it has no aggregate and its keys are public, nothing is read.
func (b *block) reads() bool { return len(b.aggregates) > 0 || b.private() }

// private reports whether some key has no known public values, so that rows are read even without aggregates. It may report true for a
// block whose groups turn out to be public.
func (b *block) private() bool {
	for i, k := range b.keys {
		if !b.inFactor(i) && !scalar.Listed(k.expr) {
			return true
		}
	}
	return false
}

// folds returns how many constants the statement has.
func (b *block) folds() int { return len(b.constants.Folds()) }

// together splits the keys of a grouping set that are in no factor: keys over a common column are together.
func (b *block) together(set []int) (groups [][]int) {
	var columns [][]*scalar.Column
	for _, i := range set {
		if b.inFactor(i) {
			continue
		}
		group, mine := []int{i}, slices.Concat(scalar.Bases(b.keys[i].expr), b.source.PartsOf(b.keys[i].expr.Columns()))
		var others [][]int
		var theirs [][]*scalar.Column
		for g, has := range columns {
			if slices.ContainsFunc(has, func(c *scalar.Column) bool { return slices.Contains(mine, c) }) {
				group, mine = append(group, groups[g]...), append(mine, has...)
			} else {
				others, theirs = append(others, groups[g]), append(theirs, has)
			}
		}
		groups, columns = slices.Concat(others, [][]int{group}), slices.Concat(theirs, [][]*scalar.Column{mine})
	}
	for _, g := range groups {
		slices.Sort(g)
	}
	slices.SortFunc(groups, slices.Compare)
	return groups
}

func (b *block) inFactor(key int) bool {
	return slices.ContainsFunc(b.factors, func(f *factor) bool { return slices.Contains(f.keys, key) })
}
