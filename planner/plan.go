package planner

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
)

// A Plan is everything that will happen to answer one statement.
type Plan struct {
	Blocks []*BlockPlan
	// Event is the release of all blocks together.
	Event dp.ComposedEvent
	// Tables are the protected tables that are read.
	Tables []catalog.Name
	// Relations are all relations that the reads name, including public tables. The plan is valid as long as their schema is that of the
	// catalogue.
	Relations []catalog.Name
	// Counts are what is counted anew in the snapshot of the reads, before the charge.
	Counts []Count
	// Shape is a digest of the statement without its constants.
	Shape string
	// Mechanism is the kind of mechanism that was chosen.
	Mechanism string
	// Candidates are the mechanisms that were compared to reach a target.
	Candidates []Candidate
	// PartOf writes a price as a part of a budget, "" if it is no part of one; nil: prices are written as losses.
	PartOf func(dp.Loss) string
	// Standings say of each block how its numbers stand to the statements before; without them all are new.
	Standings [][]Standing

	// Replayed are the output columns whose errors are found by replays of the statement, once it is answered. They are set
	// for EXPLAIN alone.
	Replayed []string

	// Untold are the relations whose names must not be shown.
	Untold Untold

	// outputs are the output columns with noise.
	outputs  []ast.Output
	unit     string
	settings Settings
	// hidden says that the plan reads a view whose definition the policy hides, so that EXPLAIN does not show the SQL.
	hidden bool
}

// A Standing says how a number of a plan stands to the statements before it.
type Standing uint8

// A value that is computed of several numbers has the last of their standings.
const (
	Remembered Standing = iota // it was released before, and is free
	Shared                     // it is drawn once, with an earlier or a later block
	Unpaid                     // it was released before, and the analyst has not paid for it
	New
)

// A BlockPlan answers a release block.
type BlockPlan struct {
	Sets []*GroupingSet
	// Known says that the answer is remembered: nothing is read or released.
	Known bool

	// twin is the number, from 1, of an earlier block that asks the same and shares its releases with this one; 0 is none.
	twin int
	// none says that the block has no groups, or no rows, whatever the data: see none.go.
	none bool
	// strays are rows for which conditions are computed from other values than their own.
	strays []stray
	// unmet says which values the columns of conditions have, if no declared value meets these. columned says that conditions on columns
	// are why the block has no rows.
	unmet    []string
	columned bool
	block    *block
	alpha    float64
	sp       *specializer // until the reads are written
	asks     *asking      // nil if it reads nothing
	// counted are the numbers of public rows by which the block was planned.
	counted []Count

	agreements *onceOf[int, *agreement] // the only key is 0; nil if the block has one set
}

// Unit returns the policy's name of the privacy unit.
func (p *Plan) Unit() string { return p.unit }

func (p *Plan) sets() []*GroupingSet {
	var sets []*GroupingSet
	for _, b := range p.Blocks {
		sets = append(sets, b.Sets...)
	}
	return sets
}

// drawn returns the grouping sets that are released; twins share the releases of others.
func (p *Plan) drawn() []*GroupingSet {
	var sets []*GroupingSet
	for _, b := range p.Blocks {
		if b.twin == 0 {
			sets = append(sets, b.Sets...)
		}
	}
	return sets
}

// Reads reports whether the plan reads protected data.
func (p *Plan) Reads() bool { return len(p.Event) > 0 }

// Rest returns the plan with what is left of each block to be read and released; nil is all of it.
func (p *Plan) Rest(left []*BlockPlan) *Plan {
	rest := *p
	rest.Blocks, rest.Event = slices.Clone(p.Blocks), nil
	for i, b := range left {
		if b != nil {
			rest.Blocks[i] = b
		}
	}
	for _, b := range rest.Blocks {
		rest.Event = append(rest.Event, b.Event()...)
	}
	return &rest
}

// AsKnown returns the block as one that is neither read nor released.
func (b *BlockPlan) AsKnown() *BlockPlan {
	known := *b
	known.Known = true
	return &known
}

// Share copies to twins the releases of their first block.
func (p *Plan) Share(released [][]*Released) {
	for i, b := range p.Blocks {
		if b.twin > 0 {
			released[i] = released[b.twin-1]
		}
	}
}

// Relations returns the tables that the block reads, those on paths to the unit included.
func (b *BlockPlan) Relations() (names []catalog.Name) {
	b.block.source.EachTable(func(t *policy.Table, _ string) {
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	})
	return names
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

// CappedByRemaining reports whether what is left of the budgets limits noise reduction.
func (p *Plan) CappedByRemaining() bool { return p.settings.LeftPico > 0 }

// Reduces returns the measure in which noise reduction of the plan is paid, or zero if it has none.
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

// leastShares returns the smallest number of shares of a release.
func (p *Plan) leastShares() int64 {
	least := int64(oneShare)
	for _, set := range p.sets() {
		for _, s := range set.statistics {
			least = min(least, s.shares)
		}
	}
	return least
}

// weighed returns an aggregate to which the analyst gave a weight, or nil.
func (p *Plan) weighed() *output {
	for _, set := range p.sets() {
		if i := slices.IndexFunc(set.outputs, func(o output) bool { return o.shares != oneShare }); i >= 0 {
			return &set.outputs[i]
		}
	}
	return nil
}

// read writes the statements of all grouping sets of the block, when their limits are known.
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
