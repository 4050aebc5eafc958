package fold

import "context"

// addRow adds a row of the last unit and group. Where rows do not come unit by unit all of them are kept, or none.
func (f *Fold) addRow(values [][]byte) error {
	first, err := f.adds.take(f.unitNumber, f.groupNumber, values)
	if err == nil && first && !f.byUnit && f.adds.pairs.size()%weighedEvery == 0 && f.adds.bytes()+f.units.bytes() > f.most {
		f.full = true
		f.Drop()
	}
	return err
}

// Totals is [Fold.Finish] of a Fold of Sums.
func (f *Fold) Totals(ctx context.Context, give func(Total) error) (again bool, err error) {
	defer guard(&err)
	defer f.Drop()
	if again, err = f.ended(ctx, f.finishLast, f.finishPairs); again || err != nil {
		return again, err
	}
	return false, f.adds.give(f.remembered(), give)
}

// finishPairs finishes the units of all pairs.
func (f *Fold) finishPairs(ctx context.Context) error {
	at := func(i int) (unit, pair uint32) { return uint32(f.adds.pairs.key(i) >> 32), uint32(i) }
	return eachUnit(ctx, f, f.adds.pairs.size(), at, func(own []uint32) {
		f.finishUnit(func(pair func(number int)) {
			for _, p := range own {
				pair(int(p))
			}
		})
	})
}

// finishLast adds the unit whose rows came last, where they come unit by unit.
func (f *Fold) finishLast() {
	s := f.adds
	if s.pairs.size() == 0 {
		return
	}
	f.finishUnit(func(pair func(number int)) {
		for i := range s.pairs.size() {
			pair(i)
		}
	})
	s.had.reset(s.pairs.size())
	s.pairs.reset()
}

// finishUnit adds the last unit, of which there are these pairs.
func (f *Fold) finishUnit(each func(pair func(number int))) {
	s := f.adds
	s.own.begin(len(s.spec.Summands))
	f.picked = f.picked[:0]
	each(func(pair int) { f.picked = append(f.picked, uint32(s.pairs.key(pair))) })
	kept := f.kept()
	each(func(pair int) {
		if group := uint32(s.pairs.key(pair)); kept == nil || kept[group] {
			s.own.groups = append(s.own.groups, group)
			s.bring(s.had.of(pair))
		}
	})
	for i := range s.bounds {
		s.bounds[i].measure(s, f.groups)
	}
	s.weigh(f.lastUnit)
	s.add()
	s.own.drop()
}
