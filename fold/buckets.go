package fold

// buckets adds units up.
type buckets struct {
	spec *Buckets
	all  *tallies
}

func newBuckets(spec *Buckets) *buckets { return &buckets{spec, newTallies()} }

// finishBuckets adds a unit, and returns its level.
func (f *Fold) finishBuckets() (level int) {
	of := f.norm.size(f.own, func([]entry, uint64) {})
	if most := (wide{0, largest}); most.less(of) {
		of = most
	}
	level = f.norm.level(of)
	length, bits := f.norm.length(of.low), f.spec.Buckets.Fraction
	if f.norm.squared {
		bits += rootBits
	}
	var group uint32
	counts := false
	for i, e := range f.own {
		if i == 0 || e.group() != f.own[i-1].group() {
			group, counts = f.place(e.group())
		}
		if !counts {
			continue
		}
		f.buckets.all.add(placeOf(group, level, e.value()), tally{int64(e.rows), int64(uint64(e.rows) << bits / length)})
	}
	return level
}

// sums gives those of all nodes.
func (b *buckets) sums(give func(uint32, Sum) error) error {
	of := b.all
	if len(b.spec.Divisors) > 1 {
		of = newTallies()
		_ = b.all.each(func(at place, sum tally) error {
			first := int64(0)
			for _, joined := range b.spec.Divisors {
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
func (b *buckets) last() int64 { return b.spec.Grid.number(b.spec.Number.High) }
