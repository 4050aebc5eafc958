package planner

import (
	"math"
	"math/big"
	"slices"

	"dpproxy/estimate"
)

// maxReconciled bounds the groups of the finest grouping set with which totals are made to agree.
const maxReconciled = 20_000

// consistent returns the released relations, with totals of ROLLUP, CUBE and GROUPING SETS made to agree with the groups that they add up,
// by inverse variance. It needs public values, and one grouping set with all keys of the others; then all sets drop the same rows. Sums and
// counts of rows are made to agree, since each unit has one weight in all sets, or no unit can be above its limits. Counts of units and of
// different values do not add up, and remain.
func (b *BlockPlan) consistent(released []*Released) []*Released {
	if g := b.Sets[0]; g.running != nil && released[0] != nil {
		return []*Released{measuredRunning(g, released[0])}
	}
	a := b.agreement()
	if a == nil || slices.Contains(released, nil) {
		return released
	}
	out := make([]*Released, len(released))
	clips := make([][]Clip, len(released))
	for i, r := range released {
		out[i], clips[i] = &Released{Rows: make([][]*big.Int, len(r.Rows)), Clips: r.Clips}, r.Clips
		for row := range r.Rows {
			out[i].Rows[row] = slices.Clone(r.Rows[row])
		}
	}
	noises := b.agreed(a, clips)
	for i := range out {
		out[i].agreed = noises[i]
	}
	for _, m := range a.statistics {
		b.reconcile(out, a, m)
	}
	return out
}

// An agreement says how the grouping sets of a block are made to agree.
type agreement struct {
	finest     int
	rows       [][]int // by grouping set, the row to which each row of the finest set belongs
	statistics []int   // those that add up
	estimates  *estimate.Agreement
}

// agreement returns nil if nothing is made to agree.
func (b *BlockPlan) agreement() *agreement {
	if b.agreements == nil {
		return nil
	}
	return b.agreements.get(0, func() *agreement {
		finest := b.finest()
		if finest < 0 || b.Sets[finest].size == 0 {
			return nil
		}
		a := &agreement{finest: finest, rows: b.rowsOf(finest)}
		if !eachHas(a.rows) {
			return nil
		}
		for m := range b.Sets[finest].statistics {
			if b.addsUp(m) {
				a.statistics = append(a.statistics, m)
			}
		}
		if a.statistics == nil {
			return nil
		}
		var margins [][]int
		var sizes []int
		for i, g := range b.Sets {
			if i != finest {
				margins, sizes = append(margins, a.rows[i]), append(sizes, g.size)
			}
		}
		a.estimates = must(estimate.NewAgreement(b.Sets[finest].size, margins, sizes))
		return a
	})
}

// order lists the grouping sets with the finest first.
func (a *agreement) order() []int {
	order := []int{a.finest}
	for i := range a.rows {
		if i != a.finest {
			order = append(order, i)
		}
	}
	return order
}

// agreed returns the noise of each statistic in each row of each grouping set after they were made to agree, at the limits of clips.
func (b *BlockPlan) agreed(a *agreement, clips [][]Clip) [][][]estimate.Noise {
	out := make([][][]estimate.Noise, len(b.Sets))
	for i, g := range b.Sets {
		out[i] = make([][]estimate.Noise, g.size)
		for row := range out[i] {
			out[i][row] = make([]estimate.Noise, len(g.statistics))
		}
	}
	for _, m := range a.statistics {
		var measured []float64
		var of []estimate.Noise
		for _, i := range a.order() {
			measured = append(measured, b.Sets[i].variance(m, clips[i]))
			of = append(of, b.Sets[i].statistics[m].noiseAt(0, clips[i]))
		}
		variances := must(a.estimates.Variances(measured))
		noises := map[float64]*estimate.Agreed{} // by variance
		for n, i := range a.order() {
			for row, variance := range variances[n] {
				if variance == measured[n] {
					continue
				}
				if noises[variance] == nil {
					noises[variance] = &estimate.Agreed{Sigma: math.Sqrt(variance), Of: of}
				}
				out[i][row][m] = noises[variance]
			}
		}
	}
	return out
}

// foreseen returns, for each grouping set, rows of which only the noise is known, as it will be at a level of the limits that are chosen:
// one row for each that differs in its noise.
func (b *BlockPlan) foreseen(level int) [][]integers {
	clips := make([][]Clip, len(b.Sets))
	out := make([][]integers, len(b.Sets))
	for i, g := range b.Sets {
		clips[i] = g.clipsAt(level)
		out[i] = []integers{{clips: clips[i]}}
	}
	if g := b.Sets[0]; g.running != nil {
		return [][]integers{differing(runningNoiseOf(g).values, clips[0])}
	}
	a := b.agreement()
	if a == nil || slices.ContainsFunc(b.Sets, func(g *GroupingSet) bool { return !g.answers() }) {
		return out
	}
	for i, rows := range b.agreed(a, clips) {
		out[i] = differing(rows, clips[i])
	}
	return out
}

// differing returns rows of which only the noise is known, each noise once.
func differing(noises [][]estimate.Noise, clips []Clip) (out []integers) {
	for _, row := range noises {
		if !slices.ContainsFunc(out, func(of integers) bool { return slices.Equal(of.agreed, row) }) {
			out = append(out, integers{clips: clips, agreed: row})
		}
	}
	return out
}

// addsUp reports whether a statistic of a total is the sum of the statistics of its groups. It is not if each grouping set cuts units by
// norms of its own.
func (b *BlockPlan) addsUp(statistic int) bool {
	return !slices.ContainsFunc(b.Sets, func(g *GroupingSet) bool {
		if statistic == len(g.statistics) { // groups are judged by it, and the set has none
			return true
		}
		s := g.statistics[statistic]
		if !s.additive() || s.measure == nil {
			return !s.additive()
		}
		return s.measure.cuts() && s.measure.family == nil
	})
}

// finest returns the grouping set that has all keys of the others. It returns −1 if there is none, if a set is private or has noise
// reduction, or if the finest set has more than maxReconciled groups.
func (b *BlockPlan) finest() int {
	if len(b.Sets) < 2 {
		return -1
	}
	best := 0
	for i, p := range b.Sets {
		if p.Private() || p.Reduction != nil {
			return -1
		}
		if len(p.keys) > len(b.Sets[best].keys) {
			best = i
		}
	}
	for _, p := range b.Sets {
		for _, k := range p.keys {
			if !slices.Contains(b.Sets[best].keys, k) {
				return -1
			}
		}
	}
	if b.Sets[best].size > maxReconciled {
		return -1
	}
	return best
}

// rowsOf returns, for each grouping set, the row to which each row of the finest set belongs, or −1.
func (b *BlockPlan) rowsOf(finest int) [][]int {
	rows := make([][]int, len(b.Sets))
	f := b.Sets[finest]
	for i, p := range b.Sets {
		at := map[string]int{}
		for row := range p.size {
			at[keyString(p.publicKeys(row))] = row
		}
		rows[i] = make([]int, f.size)
		for row := range f.size {
			all, mine := f.publicKeys(row), make([]*string, len(p.keys))
			for n, k := range p.keys {
				mine[n] = all[slices.Index(f.keys, k)]
			}
			rows[i][row] = -1
			if n, ok := at[keyString(mine)]; ok {
				rows[i][row] = n
			}
		}
	}
	return rows
}

func keyString(keys []*string) string { return ArrayText(keys) }

// reconcile makes a statistic agree over all grouping sets.
func (b *BlockPlan) reconcile(out []*Released, a *agreement, m int) {
	f, finest, rows := b.Sets[a.finest], a.finest, a.rows
	cells := make([]*big.Int, f.size)
	for c := range cells {
		cells[c] = out[finest].Rows[c][f.statistics[m].first]
	}
	var margins []estimate.Margin
	for i, p := range b.Sets {
		if i == finest {
			continue
		}
		margin := estimate.Margin{Rows: rows[i], Variance: p.variance(m, out[i].Clips)}
		for _, row := range out[i].Rows {
			margin.Values = append(margin.Values, row[p.statistics[m].first])
		}
		margins = append(margins, margin)
	}
	cells = must(estimate.Margins(cells, f.variance(m, out[finest].Clips), margins))
	for i, p := range b.Sets {
		at := p.statistics[m].first // histograms before it can have other numbers of buckets
		for row := range p.size {
			out[i].Rows[row][at] = new(big.Int)
		}
		for c, cell := range cells {
			sum := out[i].Rows[rows[i][c]][at]
			sum.Add(sum, cell)
		}
	}
}
