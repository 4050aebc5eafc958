package fold

// finishBuckets adds the unit, and returns its level.
func (w *finisher) finishBuckets() (level int) {
	norm := &w.of.norm
	of := norm.size(w.own, func([]entry, uint64) {})
	if most := (wide{0, largest}); most.less(of) {
		of = most
	}
	level = norm.level(of)
	length, bits := norm.length(of.low), w.of.spec.Buckets.Fraction
	if norm.squared {
		bits += rootBits
	}
	var group uint32
	counts := false
	for i, e := range w.own {
		if i == 0 || e.group() != w.own[i-1].group() {
			group, counts = w.place(e.group())
		}
		if !counts {
			continue
		}
		w.buckets.add(placeOf(group, level, e.value()), tally{int64(e.rows), int64(uint64(e.rows) << bits / length)})
	}
	return level
}

// give gives the sums of all nodes, given the sums of the buckets.
func (b *Buckets) give(of *tallies, give func(uint32, Sum) error) error {
	if len(b.Divisors) > 1 {
		leaves := of
		of = newTallies()
		_ = leaves.each(func(at place, sum tally) error {
			first := int64(0)
			for _, joined := range b.Divisors {
				of.add(placeOf(at.group(), at.level(), uint32(first+int64(at.node())/joined)), sum)
				first += b.last()/joined + 1
			}
			return nil
		})
	}
	return of.each(func(at place, sum tally) error {
		return give(at.group(), Sum{Level: at.level(), Node: int(at.node()), Rows: sum.rows, Directions: sum.directions})
	})
}

// last is the number of the last bucket.
func (b *Buckets) last() int64 { return b.Grid.number(b.Number.High) }
