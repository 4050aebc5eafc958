package planner

import (
	"math/big"
	"slices"

	"dpproxy/estimate"
)

// cells are the statistic of an output as it is shown, by grouping set and row.
type cells [][]*big.Int

// nonnegativeCells returns, for each output, the cells that are shown in place of the released integers of counts and of sums of
// non-negative values. No cell is negative. If keys are public and one grouping set has all keys of the others, the cells add up over all
// grouping sets. The cells of an output are nil if it is shown as it was released, as are all without the setting. Errors remain those of
// the released integers.
func nonnegativeCells(b *BlockPlan, released []*Released) []cells {
	out := make([]cells, len(b.block.aggregates))
	if !b.Sets[0].nonnegative || slices.Contains(released, nil) {
		return out
	}
	for o := range out {
		if nonnegativeOutput(b.Sets[0], o) {
			out[o] = cellsOf(b, o, released)
		}
	}
	return out
}

// nonnegativeOutput reports whether an output is a count, or a sum of non-negative values.
func nonnegativeOutput(g *GroupingSet, output int) bool {
	o := &g.outputs[output]
	if o.report != "" {
		return false
	}
	switch o.estimator.(type) {
	case counted, countedTo, summed:
		s := g.statistics[o.statistics()[0]]
		sum, ok := s.statisticForm.(valueSum)
		return s.counts() || ok && sum.values.low >= 0
	}
	return false
}

// cellsOf computes the cells of an output.
func cellsOf(b *BlockPlan, output int, released []*Released) cells {
	out, variances, additive := make(cells, len(released)), make([][]float64, len(released)), true
	for i, g := range b.Sets {
		at := g.outputs[output].statistics()[0]
		additive = additive && g.statistics[at].additive()
		for _, row := range released[i].integers() {
			seen := g.observed(row)
			sigma := seen.noise(at).StdDev()
			out[i] = append(out[i], seen.integer(at))
			variances[i] = append(variances[i], sigma*sigma)
		}
	}
	if !additive {
		for i := range out {
			for row, n := range out[i] {
				out[i][row] = positive(n)
			}
		}
		return out
	}
	finest := finestKeys(b.Sets)
	if finest < 0 || !eachHas(b.rowsOf(finest)) {
		for i := range out {
			out[i] = nonnegative(out[i], variances[i], positive(total(out[i])))
		}
		return out
	}
	addUp(b, out, variances, finest)
	return out
}

// addUp makes the cells of all grouping sets agree. If each grouping set has all keys of the previous one, as in ROLLUP, the parts of each
// total are fitted to it, from the top down. Otherwise the finest cells are fitted to the grand total, and all others are sums of finest
// cells.
func addUp(b *BlockPlan, out cells, variances [][]float64, finest int) {
	rows, chain := b.rowsOf(finest), chainOf(b.Sets)
	if chain == nil {
		chain = []int{finest}
	}
	top := chain[0]
	all := total(out[top])
	for i, g := range b.Sets {
		if len(g.keys) == 0 {
			all = out[i][0]
		}
	}
	out[top] = nonnegative(out[top], variances[top], positive(all))
	for n := 1; n < len(chain); n++ {
		parent, child := chain[n-1], chain[n]
		children, known := make([][]int, len(out[parent])), make([]bool, len(out[child]))
		for c := range rows[finest] {
			if row := rows[child][c]; !known[row] {
				p := rows[parent][c]
				children[p], known[row] = append(children[p], row), true
			}
		}
		for p, of := range children {
			shareOut(out[child], variances[child], of, out[parent][p])
		}
	}
	for i := range out {
		if slices.Contains(chain, i) {
			continue
		}
		for row := range out[i] {
			out[i][row] = new(big.Int)
		}
		for c, row := range rows[i] {
			out[i][row].Add(out[i][row], out[finest][c])
		}
	}
}

// shareOut changes some cells so that they add up to a total.
func shareOut(cells []*big.Int, variances []float64, of []int, total *big.Int) {
	parts, noise := make([]*big.Int, len(of)), make([]float64, len(of))
	for i, row := range of {
		parts[i], noise[i] = cells[row], variances[row]
	}
	for i, n := range nonnegative(parts, noise, total) {
		cells[of[i]] = n
	}
}

// chainOf returns the grouping sets in an order in which each has all keys of the previous one, or nil if there is no such order.
func chainOf(sets []*GroupingSet) []int {
	order := make([]int, len(sets))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return len(sets[i].keys) - len(sets[j].keys) })
	for n := 1; n < len(order); n++ {
		if !hasKeysOf(sets[order[n]], sets[order[n-1]]) {
			return nil
		}
	}
	return order
}

// finestKeys returns the grouping set that has all keys of the others, or −1; −1 also if a set is private.
func finestKeys(sets []*GroupingSet) int {
	for i, g := range sets {
		if !slices.ContainsFunc(sets, func(of *GroupingSet) bool { return of.Private() || !hasKeysOf(g, of) }) {
			return i
		}
	}
	return -1
}

// hasKeysOf reports whether a grouping set has all keys of another.
func hasKeysOf(g, of *GroupingSet) bool {
	return !slices.ContainsFunc(of.keys, func(k int) bool { return !slices.Contains(g.keys, k) })
}

func nonnegative(parts []*big.Int, variances []float64, total *big.Int) []*big.Int {
	if len(parts) == 0 {
		return nil
	}
	return must(estimate.Nonnegative(parts, variances, total))
}

func positive(n *big.Int) *big.Int {
	if n.Sign() < 0 {
		return new(big.Int)
	}
	return n
}

func total(all []*big.Int) *big.Int {
	sum := new(big.Int)
	for _, n := range all {
		sum.Add(sum, n)
	}
	return sum
}

// in returns the released row with the cell of an output in its place.
func (c cells) in(g *GroupingSet, output, set, row int, released integers) integers {
	if c == nil {
		return released
	}
	out := released
	out.ints = slices.Clone(released.ints)
	out.ints[g.statistics[g.outputs[output].statistics()[0]].first] = c[set][row]
	return out
}
