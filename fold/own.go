package fold

import (
	"cmp"
	"context"
	"slices"
)

// add adds an entry of the unit.
func (w *finisher) add(e entry) {
	if w.own = append(w.own, e); len(w.own) >= 2*w.merged+mergeFrom {
		w.merge()
	}
}

// merge makes one entry of all entries with one group and value. If values are counted as different, the entry keeps one row.
func (w *finisher) merge() {
	slices.SortFunc(w.own, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	to := 0
	for i, e := range w.own {
		if i > 0 && w.own[to-1].at == e.at {
			if w.buckets != nil {
				w.own[to-1].rows = min(w.own[to-1].rows+e.rows, maxEqual)
			}
			continue
		}
		w.own[to] = e
		to++
	}
	w.own, w.merged = w.own[:to], to
}

// checkedEvery is after how many units a finisher checks whether it must end.
const checkedEvery = 1 << 10

// finishAll finishes the units of all rows. Buckets have one finisher: they are so many that two sets of them would cost more than they
// save.
func (f *Fold) finishAll(ctx context.Context) error {
	parts := finishers
	if f.spec.Buckets != nil {
		parts = 1
	}
	sorted, ends := f.byUnits()
	defer clear(sorted)
	before := func(part int) int { // units of all earlier parts
		n, _ := slices.BinarySearch(ends, uint32(len(sorted)/parts*part))
		return n
	}
	return f.together(parts, func(w *finisher, part int) error {
		unit, last := before(part), len(ends)
		if part+1 < parts {
			last = before(part + 1)
		}
		for ; unit < last && !w.full; unit++ {
			if unit%checkedEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			from := uint32(0)
			if unit > 0 {
				from = ends[unit-1]
			}
			for _, at := range sorted[from:ends[unit]] {
				w.own = append(w.own, entry{at, 1})
			}
			w.finishOwn(f.units.key(uint32(unit)))
			w.weigh(f.rowsBytes())
		}
		return nil
	})
}

// byUnits brings the rows of each unit together, and returns where the rows of each unit end.
func (f *Fold) byUnits() (sorted []uint64, ends []uint32) {
	ends = make([]uint32, f.units.size()+1) // an element more: the end of the unit before
	for i := range f.rows.size {
		ends[f.rows.at(i).unit+1]++
	}
	for u := range f.units.size() {
		ends[u+1] += ends[u]
	}
	sorted = make([]uint64, f.rows.size)
	for i := range f.rows.size {
		r := f.rows.at(i)
		sorted[ends[r.unit]] = entryOf(r.group, r.value).at
		ends[r.unit]++
	}
	return sorted, ends[:f.units.size()]
}

// finishOwn adds the unit whose rows have come, if rows come unit by unit.
func (f *Fold) finishOwn() {
	f.finishers[0].finishOwn(f.lastUnit)
	f.weighResults()
}

// finishOwn adds a unit, if it has entries.
func (w *finisher) finishOwn(name []byte) {
	if len(w.own) == 0 {
		return
	}
	w.name = append(w.name[:0], name...)
	w.merge()
	w.cut()
	var level int
	if w.buckets != nil {
		level = w.finishBuckets()
	} else {
		level = w.finishDifferent()
	}
	if w.counts() {
		w.levels[level]++
	}
	clear(w.own)
	if w.own, w.merged = w.own[:0], 0; cap(w.own) > keptEntries { // much memory is not kept for the next unit
		w.own = nil
	}
}

// cut keeps the groups of the unit that count.
func (w *finisher) cut() {
	w.picked = w.picked[:0]
	for i, e := range w.own {
		if i == 0 || w.own[i-1].group() != e.group() {
			w.picked = append(w.picked, e.group())
		}
	}
	if kept := w.kept(); kept != nil {
		w.own = slices.DeleteFunc(w.own, func(e entry) bool { return !kept[e.group()] })
	}
}
