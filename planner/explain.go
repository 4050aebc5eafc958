package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dpproxy/dp"
	"dpproxy/parser/ast"
	"dpproxy/planner/sqltext"
)

// A Cost is the debit of a plan to one budget, and what would remain of that budget.
type Cost struct {
	Scope     string
	Loss      dp.Loss
	Remaining dp.Loss
	// Fits is false if the budget does not have enough left.
	Fits bool
	// Of names the budget for its analyst, and Limit is all of it.
	Of    string
	Limit dp.Loss
	// Share is written in the place of losses, and then what is left; empty: losses are written.
	Share, Leaves string
}

// Explain draws the plan as the answer of EXPLAIN.
func (p *Plan) Explain(costs []Cost) []string { return explained(p, &tree{}, costs) }

// ExplainVerbose draws the plan as the answer of EXPLAIN VERBOSE: with its measures, how limits are chosen, and the SQL that is read.
func (p *Plan) ExplainVerbose(costs []Cost) []string {
	return explained(p, &tree{verbose: true}, costs)
}

func explained(p *Plan, w *tree, costs []Cost) []string {
	w.line(0, "plan")
	w.line(1, "unit: %s", p.unit)
	for i, b := range p.Blocks {
		w.line(1, "block %d", i+1)
		if b.twin > 0 {
			w.line(2, "the same as block %d: it is read and released once", b.twin)
			continue
		}
		b.explain(w, p.unit, p.hidden, standingsAt(p, i))
	}
	p.explainErrors(w)
	free := "no protected row is read"
	if p.Reads() {
		free = "the same was answered before"
		asked := "dp.epsilon = " + dp.Decimal(p.settings.EpsilonPico, 12)
		if p.settings.Target.asked() {
			asked = "error " + p.settings.Target.String() + ", for at most " + p.allowance()
		}
		w.line(1, "mechanism: %s (dp.mechanism = %s, %s)", p.Mechanism, p.settings.Mechanism, asked)
		if !p.unsettled() {
			explainCandidates(p, w)
		}
	}
	if len(costs) == 0 {
		w.line(1, "cost: nothing, %s", free)
	}
	if len(costs) > 0 && p.PriceOpen() {
		w.line(1, "cost: known when the result that it uses is, for at most %s", p.allowance())
		costs = nil
	}
	for _, c := range costs {
		w.line(1, "cost: %s%s", p.atMost(c.Loss.Measure()), c)
	}
	return w.draw()
}

// explainErrors writes the errors of columns that are more than an aggregate, and, if no formula has all of them, one line that says of
// each column where its error comes from.
func (p *Plan) explainErrors(w *tree) {
	unexplained := Unexplained(p)
	for _, bar := range computedErrors(p, nil) {
		if !slices.Contains(unexplained, bar.Label) {
			w.line(1, "%s", bar)
		}
	}
	if len(unexplained) == 0 {
		return
	}
	var exact, replayed, unknown []string
	for _, c := range p.outputs {
		switch {
		case formulaOf(p, c):
			exact = append(exact, c.Name)
		case slices.Contains(p.Replayed, c.Name):
			replayed = append(replayed, c.Name)
		default:
			unknown = append(unknown, c.Name)
		}
	}
	var said []string
	for _, kind := range []struct {
		of  []string
		how string
	}{{exact, "by a formula"}, {replayed, "by replays, with the answer"}, {unknown, "unknown"}} {
		if len(kind.of) > 0 {
			said = append(said, strings.Join(kind.of, ", ")+" "+kind.how)
		}
	}
	w.line(1, "errors: %s", strings.Join(said, "; "))
}

// formulaOf reports whether the error of an output column follows from its aggregates.
func formulaOf(p *Plan, c ast.Output) bool {
	return slices.ContainsFunc(c.Of, func(at ast.Place) bool {
		b := p.Blocks[at.Block]
		return len(b.Sets) > 0 && b.Sets[0].outputs[at.Aggregate].form.reports() != noReports
	})
}

// unsettled reports whether a value is computed with a released result that is not known: errors follow from other bounds then.
func (p *Plan) unsettled() bool {
	return slices.ContainsFunc(p.sets(), func(g *GroupingSet) bool {
		return slices.ContainsFunc(g.outputs, func(o output) bool { return o.unsettled })
	})
}

// PriceOpen reports whether the price of an error to reach is not known, since a value is computed with a released result that is not.
func (p *Plan) PriceOpen() bool {
	return p.settings.Target.asked() && p.Reduces() == 0 && p.unsettled()
}

// String writes a cost, and what it would leave.
func (c Cost) String() string {
	switch {
	case c.Leaves != "":
		return c.Share + ", would leave " + c.Leaves
	case c.Share != "":
		return c.Share
	}
	after := "would leave " + c.Remaining.String()
	if !c.Fits {
		after = "more than the " + c.Remaining.String() + " left"
	}
	return c.Loss.String() + " of " + c.Scope + ", " + after
}

// ExplainTogether writes the cost of several statements together. The price of the last may be open.
func ExplainTogether(costs []Cost, most, open bool) []string {
	w := &tree{}
	w.line(0, "together")
	switch {
	case open:
		w.line(1, "cost: known when all results are")
		return w.draw()
	case len(costs) == 0:
		w.line(1, "cost: nothing")
	}
	for _, c := range costs {
		if most {
			w.line(1, "cost: at most %s", c)
		} else {
			w.line(1, "cost: %s", c)
		}
	}
	return w.draw()
}

func (b *BlockPlan) explain(w *tree, unit string, hidden bool, known standingsOf) {
	src := b.block.source
	w.line(2, "protected tables: %s", strings.Join(src.Told(), ", "))
	of := ""
	if src.Tagged() {
		of = "; where it is NULL the row, which is no " + unit
	}
	w.line(2, "privacy unit: %s%s", src.UnitPath(), of)
	for _, s := range slices.Concat(leftOutOf(b, unit), movedOf(b, unit)) {
		w.line(2, "%s", s)
	}
	for _, u := range src.United() {
		w.line(2, "%s", united(u, unit))
	}
	if b.Consistent() {
		w.line(2, "counts and sums: no cell is negative, and they add up (dp.consistent); errors are of the cells before")
	}
	if b.none {
		meets := "no row"
		if len(straysOf(b)) > 0 {
			meets = "no value that the policy declares"
		}
		w.line(2, "reads nothing: %s meets the conditions", meets)
		for _, said := range b.unmet {
			w.line(2, "%s", said)
		}
		return
	}
	known.explain(w, b)
	for i, p := range b.Sets {
		if len(b.Sets) == 1 {
			b.explainSet(w, i, 2, hidden, known)
			continue
		}
		w.line(2, "grouping set (%s)", strings.Join(p.labels(b.block), ", "))
		b.explainSet(w, i, 3, hidden, known)
	}
}

// labels names the keys of the grouping set.
func (g *GroupingSet) labels(b *block) []string {
	var out []string
	for _, i := range g.keys {
		out = append(out, describe(b.keys[i].expr))
	}
	return out
}

func (of *BlockPlan) explainSet(w *tree, at, depth int, hidden bool, known standingsOf) {
	b, g := of.block, of.Sets[at]
	labels := strings.Join(g.labels(b), ", ")
	switch {
	case len(g.keys) == 0:
	case g.Private():
		w.line(depth, "group by %s: private, shown by partition selection", labels)
	default:
		w.line(depth, "group by %s: %d public groups", labels, g.size)
	}
	if !g.answers() {
		w.line(depth, "reads nothing: the groups are public")
		return
	}
	g.explainTop(w, depth, g.budgetPart(float64(g.topShares())))
	g.explainBounds(w, depth)
	if g.Selection != nil {
		w.line(depth, "selection: %s%s", g.Selection, g.budgetPart(oneShare))
		w.line(depth+1, "to be shown, %s", g.shownFrom())
	}
	g.explainJudge(w, depth)
	g.running.explain(w, depth, b, g, atConfidence(of, nil))
	for i := range g.outputs {
		o := &g.outputs[i]
		if o.report != "" {
			continue
		}
		half := of.errorOfSet(at, i, atConfidence(of, nil))
		w.line(depth, "%s%s: error at %s %%: %s%s", o.label, whose(b), Number(100*(1-g.alpha)),
			ofClamped(half, o.clampedTo()), o.declared())
	}
	for _, p := range g.ranks {
		p.explain(w, depth, g)
	}
	for i, m := range g.statistics {
		w.detail(depth, "measure %d: %s, %s%s%s", i+1, m, g.changeAndNoise(m), g.partOfBudget(m), known.suffix(of, m))
	}
	switch {
	case !w.verbose:
	case hidden:
		w.line(depth, "sql: not shown, as is the definition of the view")
	default:
		for _, r := range g.Reads {
			r.explain(w, depth, b)
		}
	}
}

// explain writes the statement, and, if package fold does it, how its rows are added up.
func (r *Read) explain(w *tree, depth int, b *block) {
	switch {
	case r.Ordered:
		w.line(depth, "sql, aggregated in the order of an index (enable_hashagg = off)")
	case r.Fold != nil && r.Fold.Sums != nil && r.Fold.Sums.Summed != nil:
		w.line(depth, "sql, a row for each unit")
	case r.Fold != nil && r.Fold.ByUnit:
		w.line(depth, "sql, rows in the order of an index")
	case r.Fold != nil:
		w.line(depth, "sql, rows; more than memory holds are read once more, with ORDER BY %s", sqltext.Unit)
	default:
		w.line(depth, "sql")
	}
	for line := range strings.SplitSeq(sqltext.Lines(sqltext.Shorten(b.source.RedactHidden(r.SQL))), "\n") {
		w.line(depth+1, "%s", line)
	}
	if r.Lists != nil {
		w.line(depth, "lists, a column for each, before the rows: %s", sqltext.Shorten(r.Lists.SQL))
	}
	if r.Fold != nil {
		w.line(depth, "folded in dpproxy, unit by unit")
		for _, line := range r.Fold.Lines() {
			w.line(depth+1, "%s", line)
		}
	}
}

// partOfBudget writes the part of the budget that a statistic has, or "" if all parts are equal.
func (g *GroupingSet) partOfBudget(s *statistic) string {
	if g.of == nil {
		return ""
	}
	part := 1.0
	if m := s.measure; m != nil && m.family != nil {
		finest := float64(finestThirds) / 3
		part = finest * float64(m.family.sets())
		if m.Shared() {
			part = (1 - finest) * float64(m.family.sets()) / float64(len(m.family.coarser))
		}
	}
	return g.budgetPart(part * float64(s.shares))
}

// budgetPart writes the part of the budget that a number of shares is, or "" if all parts are equal.
func (g *GroupingSet) budgetPart(shares float64) string {
	if g.of == nil {
		return ""
	}
	return fmt.Sprintf(", %s %% of the budget", Number(100*shares/float64(g.of.shares)))
}

// explainCandidates lists the mechanisms among which the plan chose, and the expected price of noise reduction.
func explainCandidates(p *Plan, w *tree) {
	if len(p.Candidates) > 0 {
		w.line(2, "candidates")
	}
	priced := func(l dp.Loss) string { return pricedOf(p, l) }
	for _, c := range p.Candidates {
		w.line(3, "%s", c.told(priced))
	}
	for _, set := range p.sets() {
		if set.Reduction != nil && (set.Reduction.Independent() || p.settings.Pure) {
			w.line(2, "expected price: %s", set.Reduction.expectation(p.Reduces(), priced))
		}
	}
}

// pricedOf writes a loss as a part of a budget if the plan has one that is measured alike.
func pricedOf(p *Plan, l dp.Loss) string {
	if p.PartOf != nil {
		if part := p.PartOf(l); part != "" {
			return part
		}
	}
	return l.Measure().Symbol() + "=" + Number(float64(l.Pico())/dp.PicoPerUnit)
}

// ErrorsBefore writes the errors of the aggregates, as far as they are known before anything is read. If they differ between grouping sets
// it writes all.
func (p *Plan) ErrorsBefore() []string {
	told := []string{}
	for _, b := range p.Blocks {
		if b.none {
			for _, bar := range b.Errors(nil) {
				told = append(told, bar.String())
			}
			continue
		}
		for i, a := range b.block.aggregates {
			if a.report == "" {
				told = append(told, b.errorBefore(i, a.label+whose(b.block)))
			}
		}
	}
	for _, bar := range computedErrors(p, nil) {
		told = append(told, bar.String())
	}
	return told
}

// errorBefore writes the error of an aggregate.
func (b *BlockPlan) errorBefore(i int, label string) string {
	var errors []string
	alpha := atConfidence(b, nil)
	for at := range b.Sets {
		if told := b.errorOfSet(at, i, alpha); !slices.Contains(errors, told) {
			errors = append(errors, told)
		}
	}
	told := ofClamped(strings.Join(errors, " or "), b.Sets[0].outputs[i].clampedTo())
	switch {
	case strings.HasPrefix(told, "±"):
		return label + " " + told
	case strings.HasPrefix(told, knownAfter):
		return label + " with an error " + told
	}
	return label + ": " + told
}

// errorOfSet writes the error of an output of a grouping set, as far as it is known before anything is read.
func (b *BlockPlan) errorOfSet(set, output int, alpha float64) string {
	g := b.Sets[set]
	o := &g.outputs[output]
	switch {
	case alpha == 0, o.unsettled:
		return knownAfter
	case g.Reduction != nil:
		return g.Reduction.Goal() + ", if that is reached"
	}
	bar := g.errorBar(o, nil, b.foreseen(0)[set], alpha)
	if bar.Least < 0 {
		return cmp.Or(b.timesLimit(set, output, alpha), knownAfter)
	}
	half := bar.Unit.figure(bar.Least)
	if most := bar.Unit.figure(bar.Most); most != half {
		half += " to " + most
	}
	if bar.Said != "" {
		return fmt.Sprintf(bar.Said, half)
	}
	return "± " + half
}

// timesLimit writes, as a multiple of C, the error of a linear or chosen output of a set whose limit C is chosen; it is empty for other
// outputs.
func (b *BlockPlan) timesLimit(set, output int, alpha float64) string {
	g := b.Sets[set]
	o := &g.outputs[output]
	factor, linear := o.linear()
	said := o.said()
	s := g.statistics[o.statistics()[0]]
	if !linear && said == "" || s.measure == nil || !s.measure.chosen() {
		return ""
	}
	foreseen := b.foreseen(typicalLevel)[set]
	limit := s.measure.Norms[0].Grid.Limit(foreseen[0].clips[s.measure.at].Levels[0])
	if said == "" {
		said, limit = "± %s", limit*factor
	}
	_, most := g.radii(o, foreseen, alpha)
	return fmt.Sprintf(said, Number(most/limit)+" C")
}

// atMost qualifies the cost of noise reduction in a budget of some measure. A path of Laplace noise is charged to a zCDP budget in whole,
// at once.
func (p *Plan) atMost(m dp.Measure) string {
	switch {
	case p.Reduces() == 0:
		return ""
	case p.Reduces() == dp.PureDP && m == dp.ZCDP:
		return "at once "
	}
	return "at most "
}

// allowance writes the most that a statement with a target may spend.
func (p *Plan) allowance() string {
	if p.CappedByRemaining() {
		return "ρ = " + Number(float64(p.settings.LeftPico)/dp.PicoPerUnit) + ", which is what is left"
	}
	return "ε = " + dp.Decimal(p.settings.EpsilonPico, 12)
}

// Clamped names the values that are clamped, with their bounds; it is empty if there are none.
func (p *Plan) Clamped() string {
	var parts []string
	for _, t := range p.clampedTerms() {
		if s := describe(t.arg) + " to " + t.bounds(); !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ", ")
}

// clampedTerms are the arguments of outputs whose values can be beyond the bounds to which they are clamped.
func (p *Plan) clampedTerms() []term {
	var out []term
	for _, set := range p.sets() {
		for i := range set.outputs {
			out = append(out, set.outputs[i].cutTerms()...)
		}
	}
	return out
}

// manyGroups is the number of groups from which on the largest values of an answer are remarked upon: they are also the values with the
// largest noise.
const manyGroups = 20

// Remarks says where an answer has other groups than the statement seems to ask for: groups of few units are not shown if keys are private,
// and the top is read from all groups although the session wants it chosen. It also names values without an error, and says if the same
// statement is another question each time.
func (p *Plan) Remarks() []string {
	var said []string
	say := func(format string, args ...any) {
		if s := fmt.Sprintf(format, args...); !slices.Contains(said, s) {
			said = append(said, s)
		}
	}
	if p.Listed() {
		say("Groups without rows are listed as others are, and count in averages, numbers, orders and joins of the groups. " +
			"SET dp.empty_groups = hide leaves out those that noise does not tell from empty ones.")
	}
	for _, g := range p.sets() {
		switch {
		case g.Private():
			lack := ""
			if p.Incomplete() {
				lack = " What is computed of the groups lacks them."
			}
			say("Groups that few units (%s) have are not shown: %s.%s "+
				"A larger dp.epsilon shows smaller ones, and fewer keys make larger ones.", p.unit, g.shownFrom(), lack)
		case g.whyNot != "" && p.settings.Top == topOn:
			say("All groups were measured in spite of dp.top = on: %s.", g.whyNot)
		case raised(g, p.settings):
			say("The largest of %d groups are likely to be too large: they are also those with the largest noise.%s", g.size, g.remedy)
		}
	}
	for _, g := range p.sets() {
		for i := range g.outputs {
			o := &g.outputs[i]
			if o.report == "error" && o.silent {
				say("dp.error is NULL of %s: no error of the value is known.", o.label)
			}
		}
	}
	if slices.ContainsFunc(p.Blocks, asksOnce) {
		say("The time makes this another question each second, which costs again: current_date or date_trunc('hour', now()) does not.")
	}
	return said
}

// An Effect is all that is known of an aggregate without groups before anything is read. It shows administrators how their policy limits
// answers.
type Effect struct {
	Label string // e.g. "sum(cost)"
	// Contribution is how much a unit can add, e.g. "at most 20 rows"; C is a limit that is chosen.
	Contribution string
	// Error is the error at the plan's confidence, e.g. "± 20", or "± 2.2 C".
	Error string
}

// Effects returns the effects of the plan's aggregates.
func (p *Plan) Effects() []Effect {
	var all []Effect
	for _, b := range p.Blocks {
		for at, g := range b.Sets {
			for i := range g.outputs {
				if o := &g.outputs[i]; o.report == "" {
					all = append(all, Effect{o.label, g.contributionTo(o), b.errorOfSet(at, i, g.alpha)})
				}
			}
		}
	}
	return all
}

// PublicGroups returns how many groups the first grouping set of the plan has; known is false if they are private. Nothing is read for it.
func PublicGroups(p *Plan) (n int, known bool) {
	g := p.sets()[0]
	return g.size, !g.Private()
}

// explainJudge writes by which count groups are withheld, with its part of the budget if it is released for this.
func (g *GroupingSet) explainJudge(w *tree, depth int) {
	j := g.judge
	if j == nil {
		return
	}
	of, shown, become := "rows", "a group is shown", "else its values are NULL"
	if j.people {
		of = "people"
	}
	if len(g.keys) == 0 {
		shown = "the answer is shown"
	}
	if g.leavesOut() {
		become = "else it is left out"
	}
	w.line(depth, "%s: measure %d, %s", of, j.statistic+1, j.origin())
	noise := "what"
	if s := g.statistics[j.statistic]; g.Reduction == nil && (s.measure == nil || !s.measure.chosen()) {
		noise = "the " + Number(j.noise(g.observed(integers{clips: g.leastClips()}))) + " that"
	}
	w.line(depth+1, "%s by a count of at least %d and %s its noise exceeds with %s %% at most; %s", shown, j.fewest, noise,
		Number(100*j.beyond), become)
}
