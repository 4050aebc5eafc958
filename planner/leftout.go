package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// LeftOut names the rows that are left out before anything is measured. No error that is stated includes them.
func (p *Plan) LeftOut() []string { return p.eachOnce(leftOutOf) }

// Moved names the rows that count with other values than their own. No error that is stated includes that.
func (p *Plan) Moved() []string { return p.eachOnce(movedOf) }

// eachOnce lists the remarks on all blocks, each once.
func (p *Plan) eachOnce(of func(b *BlockPlan, unit string) []string) []string {
	var all []string
	for _, b := range p.Blocks {
		for _, s := range of(b, p.unit) {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// Astray names in a few words the rows that no group or condition has as they are. A block that reads nothing leaves them out too.
func Astray(p *Plan) []string {
	return p.eachOnce(func(b *BlockPlan, _ string) (all []string) {
		for _, s := range straysOf(b) {
			all = append(all, s.which())
		}
		return all
	})
}

func leftOutOf(b *BlockPlan, unit string) []string {
	var all []string
	for _, c := range cutsOf(b.block) {
		all = append(all, leftOut(c, unit))
	}
	for _, s := range straysOf(b) {
		if s.as != atTheEnd {
			all = append(all, s.String())
		}
	}
	return all
}

// MovedValues says in a sentence which values count as others; "" if there are none.
func MovedValues(p *Plan) string {
	beyond := beyondBounds(p)
	if len(beyond) == 0 {
		return ""
	}
	return "Values beyond their bounds count as the nearer bound: " + strings.Join(beyond, ", ") +
		". The error does not include what that moves."
}

func movedOf(b *BlockPlan, _ string) []string {
	var all []string
	for _, s := range straysOf(b) {
		if s.as == atTheEnd {
			all = append(all, s.String())
		}
	}
	return all
}

func leftOut(c source.Cut, unit string) string {
	if c.Nobody != "" {
		return fmt.Sprintf("rows of %s that belong to no %s (%s) are left out", c.Of, unit, c.Nobody)
	}
	if c.Grouped {
		return fmt.Sprintf("counts and sums over groups of rows of one %s in %s are those of at most %d rows", unit, c.Of, c.Rows)
	}
	if c.Documents {
		return fmt.Sprintf("documents in %s of more than %d bytes as stored have no fields", c.Of, c.Rows)
	}
	if c.Elements {
		return fmt.Sprintf("of an array in %s the first %d elements are taken", c.Of, c.Rows)
	}
	return fmt.Sprintf("joined rows of one %s are cut to %d of %s", unit, c.Rows, c.Of)
}

// Incomplete reports whether a sum, or another statistic of released values, is computed over private groups, of which small ones are not
// shown.
func (p *Plan) Incomplete() bool {
	return slices.ContainsFunc(p.Blocks, func(b *BlockPlan) bool {
		return b.block.summed && slices.ContainsFunc(b.Sets, (*GroupingSet).Private)
	})
}

// Listed reports whether something is computed of the rows of public groups, of which those without rows are rows as well.
func (p *Plan) Listed() bool {
	return p.settings.EmptyGroups != hideEmpty && slices.ContainsFunc(p.Blocks, func(b *BlockPlan) bool {
		return b.block.present && slices.ContainsFunc(b.Sets, func(g *GroupingSet) bool { return !g.Private() && len(g.keys) > 0 })
	})
}

// Scattered reports whether the plan has private groups by a column of which hardly two rows have the same value, as far as types tell:
// points in time, and numbers with decimals. Such groups are too small to be shown.
func (p *Plan) Scattered() bool {
	return slices.ContainsFunc(p.Blocks, func(b *BlockPlan) bool {
		return slices.ContainsFunc(b.Sets, func(g *GroupingSet) bool {
			return g.Private() && slices.ContainsFunc(g.keys, func(i int) bool { return scatters(b.block.keys[i].expr) })
		})
	})
}

func scatters(key scalar.Expr) bool {
	_, plain := scalar.PlainColumn(key)
	t := key.Type()
	return plain && (t.Float() || t.Decimal() && t.Scale() != 0 || t.Dated() && t.OID != pgtype.Date)
}

// Outside names in a few words everything that the answer leaves out and that its stated errors do not include, in this order: groups that
// sums over the groups lack, groups without rows that count as others do, rows of nobody, other rows that are cut before anything is
// measured, rows that no group or condition has as they are, values that are clamped, values that limits move farther than is stated, and
// groups that are not shown. A notice begins with it. Released has the relations of each block, whose limits decide the last but one.
func (p *Plan) Outside(released [][]*Released) []string {
	var all []string
	say := func(s string) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	unshown := slices.ContainsFunc(p.sets(), (*GroupingSet).Private)
	if p.Incomplete() {
		say("groups that few units (" + p.unit + ") have and that sums over the groups lack")
		unshown = false
	}
	if p.Listed() {
		say("groups without rows, which count in what is computed of the groups")
	}
	for _, nobody := range []bool{true, false} {
		for _, b := range p.Blocks {
			for _, c := range cutsOf(b.block) {
				if (c.Nobody != "") == nobody {
					say(cutShort(c, p.unit))
				}
			}
		}
	}
	for _, b := range p.Blocks {
		for _, s := range straysOf(b) {
			say(s.which())
		}
	}
	for _, s := range beyondBounds(p) {
		say(s)
	}
	if names := movedNames(p, released); len(names) > 0 {
		say("what limits do to " + strings.Join(names, ", "))
	}
	if unshown {
		say("groups that few units (" + p.unit + ") have")
	}
	for _, g := range p.sets() {
		if s := withholding(g); s != "" {
			say(s)
		}
	}
	for _, g := range p.sets() {
		if raised(g, p.settings) {
			say(fmt.Sprintf("that noise is likely to have raised the largest of %d groups", g.size))
		}
	}
	return all
}

// raised reports whether the largest groups alone are shown, of many that were all measured: they are also those with the largest noise.
func raised(g *GroupingSet, s Settings) bool {
	return g.whyNot != "" && s.Top != topOn && g.size >= manyGroups
}

// movedNames names the output columns that limits move without an error that says so.
func movedNames(p *Plan, released [][]*Released) (names []string) {
	for i, b := range p.Blocks {
		for _, label := range movedUnstated(b, released[i]) {
			name := label
			for _, c := range p.outputs {
				if c.Plain() && c.Of[0].Block == i && b.block.aggregates[c.Of[0].Aggregate].label == label {
					name = titleOf(p, c)
					break
				}
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// beyondBounds names the values that are clamped, but for those of rows that are named as strays.
func beyondBounds(p *Plan) (all []string) {
	said := map[string]bool{}
	for _, b := range p.Blocks {
		for _, s := range straysOf(b) {
			said[s.beyond()] = true
		}
	}
	for _, t := range p.clampedTerms() {
		for _, s := range t.beyond() {
			if !said[s] {
				said[s], all = true, append(all, s)
			}
		}
	}
	return all
}

// united explains how the statement treats a reference between rows that the policy does not prove to belong to one unit.
func united(u source.United, unit string) string {
	if u.Grouped {
		return fmt.Sprintf("rows of %s with the same %s are grouped by %s as well: the row of %s that they refer to is taken for one of "+
			"theirs",
			u.From, u.Columns, unit, u.To)
	}
	if u.Shared != "" {
		return fmt.Sprintf("%s and %s, which refer to the same row of %s by %s.%s, are joined only where both are of one %s: rows of "+
			"different %ss have no match",
			u.From, u.To, u.Shared, u.From, u.Columns, unit, unit)
	}
	return fmt.Sprintf("%s and %s are joined by %s.%s only where both rows are of one %s: a row that refers to another %s's has no match",
		u.From, u.To, u.From, u.Columns, unit, unit)
}

// UnitsCompared names references by which the statement compares rows and which, as far as the policy says, may lead to another unit: rows
// that do so have no match.
func (p *Plan) UnitsCompared() []string {
	var said []string
	for _, b := range p.Blocks {
		for _, u := range b.block.source.United() {
			if s := united(u, p.unit); !u.Said && !slices.Contains(said, s) {
				said = append(said, s)
			}
		}
	}
	return said
}

// cutsOf lists the rows of a unit that are cut before anything is measured. A block that reads nothing cuts none.
func cutsOf(b *block) []source.Cut {
	if !b.reads() {
		return nil
	}
	return b.source.Cuts()
}

// cutShort names what a cut leaves out.
func cutShort(c source.Cut, unit string) string {
	switch {
	case c.Nobody != "":
		return fmt.Sprintf("rows of %s without %s (%s)", c.Of, unit, c.Nobody)
	case c.Grouped:
		return fmt.Sprintf("rows in %s beyond %d of one %s in a group", c.Of, c.Rows, unit)
	case c.Documents:
		return fmt.Sprintf("fields of documents in %s of more than %d bytes", c.Of, c.Rows)
	case c.Elements:
		return fmt.Sprintf("elements of an array in %s beyond %d", c.Of, c.Rows)
	}
	return fmt.Sprintf("joined rows of %s beyond %d of one %s", c.Of, c.Rows, unit)
}

// movedUnstated names the outputs that limits move without an error that says so, if any unit can be above the limits.
func movedUnstated(b *BlockPlan, released []*Released) []string {
	var out []string
	for i, set := range b.Sets {
		if released == nil || released[i] == nil || released[i].Clips == nil {
			continue
		}
		for _, m := range set.Measures {
			if m.Tail == nil || m.Shared() || !set.moves(m) {
				continue
			}
			labels := set.labelsIn(m, func(o *output) bool { return !isLimited(o) })
			clip := released[i].Clips[m.at]
			if len(labels) > 0 && math.Ceil(excessOf(m, len(m.Norms)-1, clip, 1-set.alpha).AtMost) >= 1 {
				out = append(out, labels...)
			}
		}
	}
	return out
}

// moves reports whether limits move the values of a measure, as opposed to leaving out a part of them.
func (r *results) moves(m *Measure) bool {
	return r.statistics[m.statistics[0]].nodes() > 1 || !m.weighting.leavesOut()
}

// Withheld tells of each block how many groups a released count withholds, if any. Released has the relations of each block.
func (p *Plan) Withheld(released [][]*Released) []string {
	var all []string
	for i, b := range p.Blocks {
		if s := b.Withheld(released[i]).String(); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// withholding names the groups that a set withholds; "" if there are none.
func withholding(g *GroupingSet) string {
	switch {
	case g.judge == nil || len(g.keys) == 0:
		return ""
	case g.judge.people:
		return fmt.Sprintf("groups of fewer than %d people", g.judge.fewest)
	}
	return "groups that may have no row"
}
