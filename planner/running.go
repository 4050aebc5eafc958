package planner

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"dpproxy/estimate"
	"dpproxy/mechanisms"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// A running is the order in which the groups of a set are measured together, such that totals up to each of them are precise
// ([mechanisms.Totals]). Rows of groups are released all the same: their sums are the totals.
type running struct {
	ast.Running

	sequences [][]int // rows, of the same other keys each
	longest   int
}

// The values of dp.totals.
const (
	totalsAuto = "auto"
	totalsOn   = "on"
	totalsOff  = "off"
)

// TotalsWords are the values of the setting dp.totals.
func TotalsWords() []string { return []string{totalsAuto, totalsOn, totalsOff} }

// newRunning decides by public facts in which order the groups of a set are measured; nil if each is measured by itself. They are measured
// in an order only if a proof leaves each unit one row, so that it changes one group: if units were in several groups, what they change in
// the measurements would grow with the groups and could have any direction.
func newRunning(b *block, g *GroupingSet, s Settings) *running {
	r := b.running
	if s.Totals == totalsOn && r == nil && len(g.keys) == 1 {
		r = &ast.Running{}
	}
	if r == nil || s.Totals == totalsOff || s.Totals != totalsOn && !r.Alone || !measuresTotals(s) {
		return nil
	}
	if len(b.sets) > 1 || g.Private() || g.Top != nil || g.judge != nil || g.nonnegative || !addsUpAlone(g) {
		return nil
	}
	out := &running{Running: *r}
	if out.sequences = sequencesOf(&g.partitions, *r, b.keys[g.keys[r.Key]].typ); out.sequences == nil {
		return nil
	}
	products := 0
	for _, rows := range out.sequences {
		out.longest = max(out.longest, len(rows))
		products += len(rows) * len(rows) * len(g.statistics)
	}
	if out.longest < 2 || out.longest > mechanisms.MaxTotals || products > maxProducts {
		return nil
	}
	return out
}

// maxProducts bounds the products that measuring takes, for each number as many as there are pairs of groups in each order: one number of
// the longest order, about a second of a processor.
const maxProducts = mechanisms.MaxTotals * mechanisms.MaxTotals

// measuresTotals reports whether settings admit Gaussian noise that is drawn at once.
func measuresTotals(s Settings) bool {
	return !s.Pure && !s.Target.asked() && s.allows(gaussian) && (s.Mechanism == auto || s.Mechanism == gaussian)
}

// addsUpAlone reports whether all outputs are counts and sums that add up, each of which is one number that a unit changes in one group:
// statistics have no measure only if a proof leaves each unit one row.
func addsUpAlone(g *GroupingSet) bool {
	for i := range g.outputs {
		if _, ok := g.outputs[i].linear(); !ok {
			return false
		}
	}
	return len(g.statistics) > 0 && !slices.ContainsFunc(g.statistics, func(s *statistic) bool {
		return s.measure != nil || !s.additive() || s.nodes() != 1 || s.choosing() != nil || s.sensitivity.L0 != 1
	})
}

// run has the groups of a set measured in the order; nil is each by itself.
func (r *running) run(g *GroupingSet) {
	g.running = r
	for _, s := range g.statistics {
		if s.along = 0; r != nil {
			s.along = r.longest
		}
	}
}

// runs reports whether groups of a statement are measured in an order. A set whose part of the budget has no such noise is measured group
// by group.
func runs(p *Plan, of split) (some bool) {
	for _, g := range p.sets() {
		if g.running != nil && slices.ContainsFunc(g.statistics, func(s *statistic) bool {
			_, err := s.noiseFor(of.part(s.shares))
			return err != nil
		}) {
			(*running)(nil).run(g)
		}
		some = some || g.running != nil
	}
	return some
}

// sequencesOf returns the rows of public groups that differ in one key only, in the order of its values; nil if that order is not known.
func sequencesOf(p *partitions, of ast.Running, typ pgtype.Type) (out [][]int) {
	values, others := make([]*string, p.size), map[string]int{}
	for row := range p.size {
		keys := p.publicKeys(row)
		values[row], keys[of.Key] = keys[of.Key], nil
		id := keyString(keys)
		at, have := others[id]
		if !have {
			at = len(out)
			others[id], out = at, append(out, nil)
		}
		out[at] = append(out[at], row)
	}
	compare := orderOf(values, typ)
	if compare == nil {
		return nil
	}
	for _, rows := range out {
		slices.SortStableFunc(rows, func(x, y int) int { return compare(x, y) })
		if of.Descending {
			slices.Reverse(rows)
		}
	}
	return out
}

// orderOf compares public values as every session of Postgres does, NULL last: numbers, and texts that differ in digits only, as dates do.
// It returns nil if the values are anything else.
func orderOf(values []*string, typ pgtype.Type) func(x, y int) int {
	family := typ.Family()
	numbers, form := make([]*big.Rat, len(values)), ""
	for i, v := range values {
		if v == nil {
			continue
		}
		if family == pgtype.IntFamily || family == pgtype.NumericFamily || family == pgtype.FloatFamily {
			n, ok := new(big.Rat).SetString(*v)
			if !ok {
				return nil
			}
			numbers[i] = n
			continue
		}
		mine := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return '0'
			}
			return r
		}, *v)
		if form = cmp.Or(form, mine); mine != form {
			return nil
		}
	}
	return func(x, y int) int {
		switch {
		case values[x] == nil && values[y] == nil:
			return 0
		case values[x] == nil:
			return 1
		case values[y] == nil:
			return -1
		case numbers[x] != nil:
			return numbers[x].Cmp(numbers[y])
		}
		return strings.Compare(*values[x], *values[y])
	}
}

// A Sequenced is the mechanism of a statistic that is measured in sequences of rows.
type Sequenced struct {
	mechanisms.Totals

	Rows [][]int
}

// SequencesOf returns how released integer i of a set is measured; ok is false if it is measured row by row.
func SequencesOf(g *GroupingSet, i int) (s Sequenced, ok bool) {
	if g.running == nil {
		return s, false
	}
	totals, ok := g.statistics[g.releasedOf[i]].levels[0].(mechanisms.Totals)
	return Sequenced{totals, g.running.sequences}, ok
}

// A placed is the noise of a number that is computed of several measurements: it is about normal, and then rounded.
type placed struct{ sigma float64 }

var _ estimate.Noise = placed{}

// StdDev implements estimate.Noise.
func (p placed) StdDev() float64 { return p.sigma }

// Quantile implements estimate.Noise.
func (p placed) Quantile(alpha float64) float64 { return max(math.Ceil(p.sigma*normal(alpha)-0.5), 0) }

// runningNoiseOf returns the noise of each statistic in each row, and of the totals up to it. A value is the difference of two totals that
// were rounded to integers: one of these roundings is an error on top.
func runningNoiseOf(g *GroupingSet) *runningNoise {
	return g.cache.running.get(0, func() *runningNoise {
		out := &runningNoise{make([][]estimate.Noise, g.size), make([][]estimate.Noise, g.size)}
		for row := range g.size {
			out.values[row] = make([]estimate.Noise, len(g.statistics))
			out.totals[row] = make([]estimate.Noise, len(g.statistics))
		}
		for i, s := range g.statistics {
			values, totals := s.levels[0].(mechanisms.Totals).Deviations(g.running.longest)
			for _, rows := range g.running.sequences {
				for at, row := range rows {
					out.values[row][i] = placed{math.Sqrt(values[at]*values[at] + rounded)}
					out.totals[row][i] = placed{totals[at]}
				}
			}
		}
		return out
	})
}

// rounded is the variance of a rounding to an integer.
const rounded = 1.0 / 12

// A runningNoise is the noise of values, and of totals up to them, by row and statistic.
type runningNoise struct{ values, totals [][]estimate.Noise }

// measuredRunning returns the released relation with the noise of each row.
func measuredRunning(g *GroupingSet, of *Released) *Released {
	own := *of
	own.agreed = runningNoiseOf(g).values
	return &own
}

// question names the order for the question of the set.
func (r *running) question() []byte {
	return fmt.Appendf(nil, "totals along %d, descending %t", r.Key, r.Descending)
}

// explain writes in which order the groups of a set are measured, and the error of totals.
func (r *running) explain(w *tree, depth int, b *block, g *GroupingSet, alpha float64) {
	if r == nil {
		return
	}
	order := describe(b.keys[g.keys[r.Key]].expr)
	if r.Descending {
		order += " DESC"
	}
	w.line(depth, "measured such that totals by %s are precise (dp.totals), groups are less so", order)
	noise := runningNoiseOf(g)
	rows := slices.MaxFunc(r.sequences, func(x, y []int) int { return cmp.Compare(len(x), len(y)) })
	for i := range g.outputs {
		o := &g.outputs[i]
		if o.report != "" {
			continue
		}
		said := func(row int) string {
			return o.unit().figure(o.radius(g.observed(integers{agreed: noise.totals[row]}).at(alpha)))
		}
		w.line(depth+1, "totals of %s: ± %s up to the first group, ± %s up to the last of %d", o.label, said(rows[0]),
			said(rows[len(rows)-1]), len(rows))
	}
}
