package fold

import (
	"cmp"
	"context"
	"slices"
)

// merge makes one entry of those with one group and value: one of different values is there once.
func (f *Fold) merge() {
	slices.SortFunc(f.own, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	to := 0
	for i, e := range f.own {
		if i > 0 && f.own[to-1].at == e.at {
			if f.buckets != nil {
				f.own[to-1].rows = min(f.own[to-1].rows+e.rows, maxEqual)
			}
			continue
		}
		f.own[to] = e
		to++
	}
	f.own, f.merged = f.own[:to], to
}

// checkedEvery is after how many units a Fold looks whether it is to end.
const checkedEvery = 1 << 10

// finishAll finishes the units of all rows.
func (f *Fold) finishAll(ctx context.Context) error {
	at := func(i int) (uint32, uint64) {
		r := f.rows.at(i)
		return r.unit, entryOf(r.group, r.value).at
	}
	return eachUnit(ctx, f, f.rows.size, at, func(own []uint64) {
		for _, at := range own {
			f.own = append(f.own, entry{at, 1})
		}
		f.finishOwn()
	})
}

// eachUnit brings the things of each unit together, and calls finish for one unit after the other. It ends early with ctx.
func eachUnit[T any](ctx context.Context, f *Fold, size int, at func(i int) (unit uint32, thing T), finish func(own []T)) error {
	ends := make([]uint32, f.units.size()+1) // of each unit, one place further: where the one before it ends
	for i := range size {
		unit, _ := at(i)
		ends[unit+1]++
	}
	for u := range f.units.size() {
		ends[u+1] += ends[u]
	}
	sorted := make([]T, size)
	defer clear(sorted)
	for i := range size {
		unit, thing := at(i)
		sorted[ends[unit]] = thing
		ends[unit]++
	}
	from := uint32(0)
	for u, to := range ends[:f.units.size()] {
		if u%checkedEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if f.full {
			return nil
		}
		f.lastUnit = append(f.lastUnit[:0], f.units.key(uint32(u))...)
		finish(sorted[from:to])
		from = to
	}
	return nil
}

// finishOwn adds the unit whose rows came, if there is one.
func (f *Fold) finishOwn() {
	if len(f.own) == 0 {
		return
	}
	f.merge()
	f.cut()
	var level int
	if f.buckets != nil {
		level = f.finishBuckets()
	} else {
		level = f.finishDifferent()
	}
	if f.within.from == 0 && (f.kinds == nil || f.kinds.from == 0) { // when all units come for the first time
		f.levels[level]++
	}
	clear(f.own)
	if f.own, f.merged = f.own[:0], 0; cap(f.own) > keptEntries { // those of one unit are not kept for the others
		f.own = nil
	}
	f.weighResults()
}

// cut leaves the groups of the unit that count.
func (f *Fold) cut() {
	f.picked = f.picked[:0]
	for i, e := range f.own {
		if i == 0 || f.own[i-1].group() != e.group() {
			f.picked = append(f.picked, e.group())
		}
	}
	if kept := f.kept(); kept != nil {
		f.own = slices.DeleteFunc(f.own, func(e entry) bool { return !kept[e.group()] })
	}
}

// kept returns those of the picked groups of the last unit that count; nil if all do.
func (f *Fold) kept() map[uint32]bool {
	if f.spec.Groups == 0 || len(f.picked) <= f.spec.Groups {
		return nil
	}
	f.order.begin()
	for _, group := range f.picked {
		f.order.add(tagPartition, group, f.nameOf(group))
	}
	kept := map[uint32]bool{}
	for _, r := range f.order.sorted()[:f.spec.Groups] {
		kept[r.thing] = true
	}
	return kept
}

// nameOf tells the last unit and a group of it apart from all others.
func (f *Fold) nameOf(group uint32) []byte {
	f.message = f.spec.Unit.AppendCanonical(f.message[:0], f.lastUnit)
	columns := f.grouped().identities(group)
	for i, k := range f.spec.Keys {
		f.message = k.AppendCanonical(f.message, columns[f.groups.first[i]])
	}
	return f.message
}
