package fold

import (
	"slices"
	"sync"
)

// finishers is the largest number of finishers that work at the same time.
const finishers = 2

// A finisher takes whole units: it finds which limits a unit is above, and adds up how it counts. If all units are present at once, two
// finishers can work at the same time. Each has its own units, which do not depend on how fast it is, and changes nothing but itself. Their
// sums are added up when the sums are given.
type finisher struct {
	of *Fold
	// The next fields are those of the current unit.
	name    []byte // its identity
	own     []entry
	merged  int      // how many of the first entries are merged
	picked  []uint32 // things in an order
	message []byte   // of a thing in the order
	order   *order

	levels  []int64 // units by level
	buckets *tallies
	kinds   *different
	sums    *added
	// full says that the groups or the rows exceed memory.
	full bool
}

func newFinisher(f *Fold) *finisher {
	w := &finisher{of: f, order: newOrder(f.secret), levels: make([]int64, len(f.spec.Norm.Limits)+1)}
	switch {
	case f.spec.Sums != nil:
		w.sums = newAdded(f.adds)
	case f.spec.Buckets != nil:
		w.buckets = newTallies()
	default:
		w.kinds = newDifferent()
	}
	return w
}

// together runs so many finishers at the same time, each on its part of the units, and waits for all of them.
func (f *Fold) together(parts int, work func(w *finisher, part int) error) error {
	for len(f.finishers) < parts {
		w := newFinisher(f)
		if w.kinds != nil {
			w.kinds.hashRange = f.finishers[0].kinds.hashRange
		}
		f.finishers = append(f.finishers, w)
	}
	errs := make([]error, parts)
	guarded := func(part int) {
		defer guard(&errs[part])
		errs[part] = work(f.finishers[part], part)
	}
	var others sync.WaitGroup
	for part := 1; part < parts; part++ {
		others.Go(func() { guarded(part) })
	}
	guarded(0)
	others.Wait()
	if slices.ContainsFunc(f.finishers, func(w *finisher) bool { return w.full }) {
		f.overflow()
	}
	for _, w := range f.finishers[1:] {
		for level, n := range w.levels {
			f.finishers[0].levels[level] += n
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// weigh checks whether memory is exceeded by groups, by rows of so many bytes and by all finishers, if each has as much as this one.
func (w *finisher) weigh(rows int) {
	f := w.of
	w.full = len(f.finishers)*w.bytes()+rows+f.groups.bytes() > f.most
}

// bytes is about how much memory the results take, without different values.
func (w *finisher) bytes() int {
	switch {
	case w.sums != nil:
		return w.sums.bytes()
	case w.buckets != nil:
		return w.buckets.bytes()
	}
	return 0
}

// counts reports whether the reading has the first range of groups and of values. Units are counted only then, so that each counts once.
func (w *finisher) counts() bool {
	return w.of.within.from == 0 && (w.kinds == nil || w.kinds.from == 0)
}

// place returns the number under which a group is counted; counts is false if another reading counts it.
func (w *finisher) place(group uint32) (number uint32, counts bool) {
	f := w.of
	if f.ofUnit == nil {
		return group, true
	}
	columns := f.ofUnit.identities(group)
	w.message = w.message[:0]
	for _, c := range columns {
		w.message = appendIdentity(w.message, c)
	}
	if !f.within.has(w.message) {
		return 0, false
	}
	return f.groups.numberOf(columns), true
}

// kept returns the picked groups of the unit that count; nil if all do.
func (w *finisher) kept() map[uint32]bool {
	most := w.of.spec.Groups
	if most == 0 || len(w.picked) <= most {
		return nil
	}
	w.order.begin()
	for _, group := range w.picked {
		w.order.add(tagPartition, group, w.nameOf(group))
	}
	kept := map[uint32]bool{}
	for _, r := range w.order.sorted()[:most] {
		kept[r.thing] = true
	}
	return kept
}

// nameOf returns bytes that no other pair of a unit and a group has.
func (w *finisher) nameOf(group uint32) []byte {
	f := w.of
	w.message = f.spec.Unit.AppendCanonical(w.message[:0], w.name)
	columns := f.grouped().identities(group)
	for i, k := range f.spec.Keys {
		w.message = k.AppendCanonical(w.message, columns[f.groups.first[i]])
	}
	return w.message
}

// drop leaves nothing of units.
func (w *finisher) drop() {
	if w.kinds != nil {
		w.kinds.drop()
	}
	if w.sums != nil {
		w.sums.drop()
	}
	w.order.drop()
	clear(w.own[:cap(w.own)])
	w.own, w.merged = nil, 0
	for _, b := range [][]byte{w.name, w.message} {
		clear(b[:cap(b)])
	}
}
