package planner

import (
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
	finest := b.finest()
	if finest < 0 || released[finest] == nil {
		return released
	}
	out := make([]*Released, len(released))
	for i, r := range released {
		out[i] = &Released{Rows: make([][]*big.Int, len(r.Rows)), Clips: r.Clips}
		for row := range r.Rows {
			out[i].Rows[row] = slices.Clone(r.Rows[row])
		}
	}
	rows := b.rowsOf(finest)
	for m := range b.Sets[finest].statistics {
		if eachHas(rows) && b.addsUp(m) {
			b.reconcile(out, rows, finest, m)
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
func (b *BlockPlan) reconcile(out []*Released, rows [][]int, finest, m int) {
	f := b.Sets[finest]
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
