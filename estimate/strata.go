package estimate

import (
	"cmp"
	"slices"
)

// A partition puts each cell of a table into a row.
type partition struct {
	rows  []int // the row of each cell, numbered as they first occur
	sizes []int // the cells of each row
	names []int // of each row, the number that it has in the margin
}

// each is the partition of n cells whose rows are the cells.
func each(n int) partition {
	rows := make([]int, n)
	for c := range rows {
		rows[c] = c
	}
	return partitionOf(rows)
}

func partitionOf(rows []int) partition {
	p, at := partition{rows: make([]int, len(rows))}, map[int]int{}
	for c, name := range rows {
		r, ok := at[name]
		if !ok {
			r = len(p.sizes)
			at[name] = r
			p.sizes, p.names = append(p.sizes, 0), append(p.names, name)
		}
		p.rows[c] = r
		p.sizes[r]++
	}
	return p
}

// byRow returns numbers of the rows by the numbers that they have in the margin, with n rows; 0 for a row without cells.
func (p partition) byRow(of []float64, n int) []float64 {
	out := make([]float64, n)
	for r, name := range p.names {
		out[name] = of[r]
	}
	return out
}

// uniform returns the number of cells of each row, if all have equally many.
func (p partition) uniform() (size int, ok bool) {
	for _, s := range p.sizes {
		if s != p.sizes[0] {
			return 0, false
		}
	}
	return p.sizes[0], true
}

// join returns the finest partition of which each row is a union of rows of p and of q.
func (p partition) join(q partition) partition {
	root := make([]int, len(p.sizes)+len(q.sizes))
	for i := range root {
		root[i] = i
	}
	find := func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	for c := range p.rows {
		root[find(p.rows[c])] = find(len(p.sizes) + q.rows[c])
	}
	rows := make([]int, len(p.rows))
	for c := range rows {
		rows[c] = find(p.rows[c])
	}
	return partitionOf(rows)
}

// within reports whether each row of p lies in one row of q.
func (p partition) within(q partition) bool {
	in := make([]int, len(p.sizes))
	for c, r := range p.rows {
		switch in[r] {
		case 0:
			in[r] = q.rows[c] + 1
		case q.rows[c] + 1:
		default:
			return false
		}
	}
	return true
}

// members returns the cells row by row; those of row r are members[first[r]:first[r+1]].
func (p partition) members() (cells, first []int) {
	first = make([]int, len(p.sizes)+1)
	for r, n := range p.sizes {
		first[r+1] = first[r] + n
	}
	at := slices.Clone(first)
	cells = make([]int, len(p.rows))
	for c, r := range p.rows {
		cells[at[r]] = c
		at[r]++
	}
	return cells, first
}

// parts returns where the rows of a finer partition stand if those within one row of p stand together, in the order of their totals, which
// stand at places; and where the parts of each total begin.
func (p partition) parts(places []int, finer partition) (order, children []int) {
	of := make([]int, len(finer.sizes)) // the place of the total of each row
	children = make([]int, len(p.sizes)+1)
	for c, r := range finer.rows {
		of[r] = places[p.rows[c]]
	}
	for _, total := range of {
		children[total+1]++
	}
	for i := range p.sizes {
		children[i+1] += children[i]
	}
	next := slices.Clone(children)
	order = make([]int, len(of))
	for r, total := range of {
		order[r] = next[total]
		next[total]++
	}
	return order, children
}

// chainOf returns partitions in an order in which each lies within the one before; nil if there is none.
func chainOf(all []partition) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return len(all[i].sizes) - len(all[j].sizes) })
	for n := 1; n < len(order); n++ {
		if !all[order[n]].within(all[order[n-1]]) {
			return nil
		}
	}
	return order
}

// orthogonal reports whether, within each row of their join, the rows of p and q meet in numbers of cells that are products of their
// sizes. Taking means over the rows of both, one after the other, then takes means over the rows of the join. Rows that do not meet need
// no look: without them the products would not add up to the square of the size of the join.
func (p partition) orthogonal(q, join partition) bool {
	cells, first := p.members()
	meet := make([]int, len(q.sizes))
	for r, size := range p.sizes {
		of := cells[first[r]:first[r+1]]
		for _, c := range of {
			meet[q.rows[c]]++
		}
		for _, c := range of {
			if n := meet[q.rows[c]]; n > 0 && n*join.sizes[join.rows[c]] != size*q.sizes[q.rows[c]] {
				return false
			}
		}
		for _, c := range of {
			meet[q.rows[c]] = 0
		}
	}
	return true
}

// strata are partitions, with all their joins, of which any two are orthogonal and all have rows of one size. The space of tables is then
// the orthogonal sum of one space for each partition F, of tables that are constant on its rows and have the sum zero on each row of a
// coarser partition. Each measurement of m acts on that space as a multiple, kₘ if F is at least as coarse as m, and 0 if not, so that
//
//	aᵀM⁻¹a = Σ_F q(F) / λ(F),  λ(F) = Σ_{m at least as fine as F} kₘ/varianceₘ,
//
// where a is the indicator of a row of T, F is at least as coarse as T, and q(F), the square of the part of a in the space of F, follows
// from Σ_{G at least as coarse as F} q(G) = k_T²/k_F.
type strata struct {
	measured int // the first partitions are those that were measured
	sizes    []float64
	coarser  [][]bool // coarser[f][g] says that g is at least as coarse as f
}

// maxStrata bounds how many partitions there are.
const maxStrata = 64

// strataOf returns the strata of measured partitions; ok is false if there are none.
func strataOf(measured []partition) (s strata, ok bool) {
	all := slices.Clone(measured)
	at := func(p partition) int {
		return slices.IndexFunc(all, func(q partition) bool { return slices.Equal(p.rows, q.rows) })
	}
	for i := 0; i < len(all); i++ {
		size, ok := all[i].uniform()
		if !ok {
			return s, false
		}
		s.sizes = append(s.sizes, float64(size))
		for j := range i {
			join := all[i].join(all[j])
			if !all[i].orthogonal(all[j], join) {
				return s, false
			}
			if at(join) < 0 {
				all = append(all, join)
			}
			if len(all) > maxStrata {
				return s, false
			}
		}
	}
	s.measured, s.coarser = len(measured), coarserOf(all)
	return s, true
}

// levelsOf returns the strata of partitions that form a chain, as if all rows of one had the same size, which is the mean of their sizes.
func levelsOf(measured []partition) strata {
	s := strata{measured: len(measured), coarser: coarserOf(measured)}
	for _, p := range measured {
		s.sizes = append(s.sizes, float64(len(p.rows))/float64(len(p.sizes)))
	}
	return s
}

// coarserOf says of each partition which of all are at least as coarse.
func coarserOf(all []partition) (of [][]bool) {
	for _, p := range all {
		coarser := make([]bool, len(all))
		for g, q := range all {
			coarser[g] = p.within(q)
		}
		of = append(of, coarser)
	}
	return of
}

// variance returns aᵀM⁻¹a for the rows a of measured partition t.
func (s strata) variance(t int, variances []float64) (sum float64) {
	of, squares := s.squares(t)
	for i, f := range of {
		sum += squares[i] / s.lambda(f, variances)
	}
	return sum
}

// squares returns q(F) for the rows of measured partition t, of each partition at least as coarse.
func (s strata) squares(t int) (of []int, q []float64) {
	of = s.coarsestFirst(t)
	q = make([]float64, len(of))
	for i, f := range of {
		q[i] = s.sizes[t] * s.sizes[t] / s.sizes[f]
		for j, g := range of[:i] {
			if s.coarser[f][g] {
				q[i] -= q[j]
			}
		}
	}
	return of, q
}

// coarsestFirst returns the partitions at least as coarse as t, each after those that are coarser, and one for each that are equal.
func (s strata) coarsestFirst(t int) []int {
	var out []int
	for f := range s.sizes {
		if s.coarser[t][f] && !slices.ContainsFunc(out, func(g int) bool { return s.coarser[f][g] && s.coarser[g][f] }) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(f, g int) int { return cmp.Compare(s.sizes[g], s.sizes[f]) })
	return out
}

// lambda is the information on the space of partition f.
func (s strata) lambda(f int, variances []float64) float64 {
	sum := 0.0
	for m := range s.measured {
		if s.coarser[m][f] {
			sum += s.sizes[m] / variances[m]
		}
	}
	return sum
}
