package fold

import "context"

// addRow adds a row of the last unit and group; again says that the row before was of the same unit. Where rows do not
// come unit by unit all of them are kept, or none.
func (f *Fold) addRow(values [][]byte, again bool) error {
	err := f.adds.take(f.lastUnit, again, f.groupNumber, values)
	if err == nil && !f.byUnit && f.adds.had.size+f.groups.bytes() > f.most {
		f.overflow()
	}
	return err
}

// addUnit adds a row that is all of its unit.
func (f *Fold) addUnit(values [][]byte) error {
	if err := f.adds.ofUnit(values); err != nil {
		return err
	}
	f.finishUnit(nil, allRows, f.adds.sums)
	return nil
}

// allRows is the group of all rows.
var allRows = []uint32{0}

// Totals is [Fold.Finish] of a Fold of Sums.
func (f *Fold) Totals(ctx context.Context, give func(Total) error) (again bool, err error) {
	defer guard(&err)
	defer f.Drop()
	if again, err = f.ended(ctx, f.finishLast, f.finishShares); again || err != nil {
		return again, err
	}
	if err = f.adds.give(f.remembered(), give); err != nil {
		return false, err
	}
	return f.otherGroups(), nil
}

// finishShares finishes the units of all shares.
func (f *Fold) finishShares(ctx context.Context) error {
	for i := range f.adds.had.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		f.adds.had.finish(i, f.finishUnit)
		if f.weighResults(); f.full {
			return nil
		}
	}
	return nil
}

// finishLast adds the unit whose rows came last, where they come unit by unit.
func (f *Fold) finishLast() {
	f.adds.had.finish(0, f.finishUnit)
	f.weighResults()
}

// finishUnit adds a unit with its sums in groups.
func (f *Fold) finishUnit(name []byte, groups []uint32, sums []amount) {
	s := f.adds
	s.own.begin(len(s.spec.Summands))
	f.lastUnit = append(f.lastUnit[:0], name...)
	f.picked = append(f.picked[:0], groups...)
	kept, each := f.kept(), s.each
	for i, group := range groups {
		if kept == nil || kept[group] {
			s.own.groups = append(s.own.groups, group)
			s.bring(sums[i*each : (i+1)*each])
		}
	}
	if f.ofUnit != nil {
		s.forgetCoarser()
	}
	for i := range s.bounds {
		s.bounds[i].measure(s, f.grouped())
	}
	for i, group := range s.own.groups {
		var counts bool
		if s.own.groups[i], counts = f.place(group); !counts {
			s.own.groups[i] = away
		}
	}
	s.weigh(f.lastUnit)
	s.add()
	s.own.drop()
}
