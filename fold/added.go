package fold

import (
	"bytes"
	"slices"
)

// added has the sums over units.
type added struct {
	of     *summing
	bounds []bound
	own    own // of the unit

	cells  *index
	totals *addends
	// units counts the units of each place: a vector and levels in it.
	units map[uint64]int64
	// weights has the weight of each group, by the group's number, and the number of units in it.
	weights pieces[weight]
}

type weight struct{ of, pairs int64 }

func newAdded(of *summing) *added {
	a := &added{of: of, units: map[uint64]int64{}, cells: newIndex(manyParts)}
	widest := 0
	for _, v := range of.spec.Vectors {
		widest = max(widest, 2*len(v.Summands))
	}
	a.totals = newAddends(widest)
	for i := range of.spec.Norms {
		divides := slices.ContainsFunc(of.spec.Summands, func(x Summand) bool { return x.Norm == i })
		a.bounds = append(a.bounds, newBound(&of.spec.Norms[i], divides))
	}
	return a
}

// bring appends the summands of a group to the unit's own, computed from the sums over its rows.
func (a *added) bring(had []amount) {
	for i := range a.of.summands {
		of := &a.of.summands[i]
		x := had[of.Addition]
		switch {
		case of.About:
			n := had[of.Count]
			if of.Reach > 0 {
				x, n = x.within(amountOf(of.Reach)), n.within(amountOf(of.Rows))
			}
			x = x.plus(x).plus(n.times(of.Centre).negated())
		case of.Each > 0:
			x = x.within(had[of.Count].within(amountOf(of.Rows)).times(of.Each))
		}
		a.own.all = append(a.own.all, x.within(a.of.most[i]))
	}
}

// weigh adds the weight of a unit, given its identity, to its groups.
func (a *added) weigh(unit []byte) {
	w := &a.of.spec.Weights
	if w.Kind == Weightless {
		return
	}
	of := int64(1)
	if w.Kind == Spread {
		of = spreadWeight(len(a.own.groups))
	}
	if w.Nobody != "" && (unit[0] == 0 || bytes.HasPrefix(unit[1:], []byte(w.Nobody))) {
		of = 0
	}
	for _, g := range a.own.groups {
		if g == away {
			continue
		}
		for int(g) >= a.weights.size {
			a.weights.add(weight{})
		}
		at := a.weights.at(int(g))
		at.of, at.pairs = at.of+of, at.pairs+1
	}
}

// spreadWeight returns the weight of a unit in each of so many groups: [mechanisms.PartitionWeight].
func spreadWeight(groups int) int64 { return int64(wide{0, 1 << 40 / uint64(groups)}.root()) }

// add adds the unit to its cells; counts says that the unit is counted.
func (a *added) add(counts bool) {
	for v := range a.of.spec.Vectors {
		vector := &a.of.spec.Vectors[v]
		if slices.ContainsFunc(vector.Norms, func(n int) bool { return a.bounds[n].byGroup() }) {
			a.addByGroup(v, vector, counts)
			continue
		}
		var room [maxNorms]int
		at := a.of.placeIn(v, a.levels(room[:0], vector))
		for g, group := range a.own.groups {
			a.addTo(group, at, vector, g)
		}
		if counts {
			a.units[at]++
		}
	}
}

// addByGroup adds the unit to the cells of a vector in which each of the unit's groups has its own levels.
func (a *added) addByGroup(v int, vector *Vector, counts bool) {
	var room [maxNorms]int
	var largestOf [maxNorms]wide
	var placed uint64
	for g, group := range a.own.groups {
		sizes := [maxNorms]wide{}
		for i, n := range vector.Norms {
			a.bounds[n].measureIn(&a.own, g)
			sizes[i] = a.bounds[n].size
		}
		at := a.of.placeIn(v, a.levels(room[:0], vector))
		if g == 0 || above(sizes, largestOf) {
			largestOf, placed = sizes, at
		}
		a.addTo(group, at, vector, g)
	}
	if counts {
		a.units[placed]++
	}
}

// levels appends the unit's levels by the norms of a vector.
func (a *added) levels(to []int, vector *Vector) []int {
	for _, n := range vector.Norms {
		to = append(to, a.bounds[n].level)
	}
	return to
}

// above orders two groups of a unit by the first norm, then by the next.
func above(a, b [maxNorms]wide) bool {
	for i := range a {
		if a[i] != b[i] {
			return b[i].less(a[i])
		}
	}
	return false
}

// addTo adds the summands of one group of the unit to the sums of a place in it. own is the group's number among the unit's groups.
func (a *added) addTo(group uint32, at uint64, vector *Vector, own int) {
	if group == away {
		return
	}
	cell := a.totals.of(a.cells.number(uint64(group)<<placeBits | at))
	for i, n := range vector.Summands {
		x, of := a.own.at(own, n), &a.of.spec.Summands[n]
		cell[2*i] = cell[2*i].plus(x)
		if of.Norm < 0 {
			continue
		}
		if b := &a.bounds[of.Norm]; b.length < largest {
			bits := of.Fraction
			if b.of.Kind == Root {
				bits += rootBits
			}
			cell[2*i+1] = cell[2*i+1].plus(x.part(bits, b.length))
		}
	}
}

// bytes is about how much memory the results take.
func (a *added) bytes() int {
	n := a.cells.bytes() + a.totals.bytes() + 16*pieceSize*len(a.weights.list)
	for i := range a.bounds {
		for c := range a.bounds[i].coarser {
			n += a.bounds[i].coarser[c].bytes()
		}
	}
	return n
}

// forgetCoarser forgets the coarser groups of a unit.
func (a *added) forgetCoarser() {
	for i := range a.bounds {
		for c := range a.bounds[i].coarser {
			a.bounds[i].coarser[c].forget()
		}
	}
}

// drop leaves nothing of the unit.
func (a *added) drop() { a.own.drop() }
