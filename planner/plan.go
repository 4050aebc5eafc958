package planner

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/parser/ast"
)

// A Plan is everything that will happen to answer one statement, decided.
type Plan struct {
	Blocks []*BlockPlan
	// Event is the release of all blocks together.
	Event dp.ComposedEvent
	// Tables are the protected tables that are read.
	Tables []catalog.Name
	// Relations are all that the reads name, public tables too: the plan is right as long
	// as their schema is the one of the catalogue.
	Relations []catalog.Name
	// Shape is a digest of the statement without its constants.
	Shape string
	// Mechanism is the chosen kind.
	Mechanism string
	// Candidates are the mechanisms that there were to choose from to reach a target.
	Candidates []Candidate

	// Untold are the relations whose names are not told.
	Untold Untold

	// computed are the output columns that have an error of their own.
	computed []ast.Computed
	unit     string
	settings Settings
	// hidden says that a view is read whose definition the policy hides: EXPLAIN does not
	// show the SQL then.
	hidden bool
}

// A BlockPlan answers one release block.
type BlockPlan struct {
	Sets []*GroupingSet
	// Known says that the answer is remembered: nothing is read or released.
	Known bool

	// twin is the number, from 1, of an earlier block that asks the same: its releases are this one's too. 0: there is none.
	twin int
	// none says that the block has no groups, or no rows, whatever the data: see none.go.
	none bool
	// strays are rows of which conditions are not computed as they are.
	strays []stray
	block  *block
	alpha  float64
	sp     *specializer // until the reads are written
}

// Unit names the privacy unit.
func (p *Plan) Unit() string { return p.unit }

func (p *Plan) sets() []*GroupingSet {
	var sets []*GroupingSet
	for _, b := range p.Blocks {
		sets = append(sets, b.Sets...)
	}
	return sets
}

// drawn are the grouping sets that are released: twins have theirs from others.
func (p *Plan) drawn() []*GroupingSet {
	var sets []*GroupingSet
	for _, b := range p.Blocks {
		if b.twin == 0 {
			sets = append(sets, b.Sets...)
		}
	}
	return sets
}

// Reads reports whether the plan reads protected data at all.
func (p *Plan) Reads() bool { return len(p.Event) > 0 }

// Rest returns the plan without the blocks that are known: they are not read, and
// not released.
func (p *Plan) Rest(known []bool) *Plan {
	rest := *p
	rest.Blocks, rest.Event = make([]*BlockPlan, len(p.Blocks)), nil
	for i, b := range p.Blocks {
		if !known[i] {
			rest.Blocks[i] = b
			rest.Event = append(rest.Event, b.Event()...)
			continue
		}
		without := *b
		without.Known = true
		rest.Blocks[i] = &without
	}
	return &rest
}

// Share gives blocks that ask the same the releases of the first of them.
func (p *Plan) Share(released [][]*Released) {
	for i, b := range p.Blocks {
		if b.twin > 0 {
			released[i] = released[b.twin-1]
		}
	}
}

// Reads reports whether the block reads protected data.
func (b *BlockPlan) Reads() bool {
	return !b.Known && b.twin == 0 && slices.ContainsFunc(b.Sets, func(p *GroupingSet) bool { return len(p.Reads) > 0 })
}

// Event is the release of the block.
func (b *BlockPlan) Event() dp.ComposedEvent {
	var e dp.ComposedEvent
	if b.Known || b.twin > 0 {
		return e
	}
	for _, p := range b.Sets {
		e = append(e, p.Event()...)
	}
	return e
}

// CappedByRemaining reports whether noise reduction may spend only the rest of the budgets.
func (p *Plan) CappedByRemaining() bool { return p.settings.LeftPico > 0 }

// Reduces returns the measure in which noise reduction of the plan is paid, zero if it has none.
func (p *Plan) Reduces() dp.Measure {
	switch {
	case !slices.ContainsFunc(p.sets(), func(set *GroupingSet) bool { return set.Reduction != nil }):
		return 0
	case p.Mechanism == brownian:
		return dp.ZCDP
	}
	return dp.PureDP
}

func (p *Plan) shares() (n int64) {
	for _, set := range p.drawn() {
		n += set.shares()
	}
	return n
}

// leastShares returns the shares of the release that has the fewest.
func (p *Plan) leastShares() int64 {
	least := int64(oneShare)
	for _, set := range p.sets() {
		for _, s := range set.statistics {
			least = min(least, s.shares)
		}
	}
	return least
}

// weighed returns an aggregate that the analyst weighs; nil if there is none.
func (p *Plan) weighed() *output {
	for _, set := range p.sets() {
		if i := slices.IndexFunc(set.outputs, func(o output) bool { return o.shares != oneShare }); i >= 0 {
			return &set.outputs[i]
		}
	}
	return nil
}

// read writes the statements of all grouping sets of a block that reads, when their limits are known.
func (b *BlockPlan) read() (err error) {
	if !b.block.reads() || b.none {
		return nil
	}
	for _, g := range b.Sets {
		if g.Reads, err = b.sp.read(&g.aggregation); err != nil {
			return err
		}
	}
	b.sp = nil
	return nil
}
