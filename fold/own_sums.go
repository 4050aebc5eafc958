package fold

import "context"

// addRow adds a row of the last unit and group; again says that the row before was of the same unit. If rows do not come unit by unit, all
// rows are kept or none.
func (f *Fold) addRow(values [][]byte, again bool) error {
	err := f.adds.take(f.lastUnit, again, f.groupNumber, values)
	if err == nil && !f.byUnit && f.adds.had.room()+f.groups.bytes() > f.most {
		f.overflow()
	}
	return err
}

// addUnit adds a row that has all sums of its unit.
func (f *Fold) addUnit(values [][]byte) error {
	if err := f.adds.ofUnit(values); err != nil {
		return err
	}
	f.finishers[0].finishUnit(nil, allRows, f.adds.sums)
	return nil
}

// allRows is the group of all rows.
var allRows = []uint32{0}

// finishShares finishes the units of all shares.
func (f *Fold) finishShares(ctx context.Context) error {
	had := f.adds.had
	return f.together(finishers, func(w *finisher, part int) error {
		for at := range had.parts {
			switch {
			case had.deskOf(at) != part || w.full:
				continue
			case ctx.Err() != nil:
				return ctx.Err()
			}
			had.finish(at, w.finishUnit)
			w.weigh(finishers * had.desks[part].room())
		}
		return nil
	})
}

// finishLast adds the last unit, if rows come unit by unit.
func (f *Fold) finishLast() {
	f.adds.own.finish(f.finishers[0].finishUnit)
	f.weighResults()
}

// finishUnit adds a unit, given its groups and its sums in each of them.
func (w *finisher) finishUnit(name []byte, groups []uint32, sums []amount) {
	f, a := w.of, w.sums
	a.own.begin(len(f.spec.Sums.Summands))
	w.name = append(w.name[:0], name...)
	w.picked = append(w.picked[:0], groups...)
	kept, each := w.kept(), f.adds.each
	for i, group := range groups {
		if kept == nil || kept[group] {
			a.own.groups = append(a.own.groups, group)
			a.bring(sums[i*each : (i+1)*each])
		}
	}
	if f.ofUnit != nil {
		a.forgetCoarser()
	}
	for i := range a.bounds {
		a.bounds[i].measure(&a.own, f.grouped())
	}
	for i, group := range a.own.groups {
		var counts bool
		if a.own.groups[i], counts = w.place(group); !counts {
			a.own.groups[i] = away
		}
	}
	a.weigh(w.name)
	a.add(w.counts())
	a.own.drop()
}
