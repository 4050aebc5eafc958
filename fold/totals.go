package fold

import (
	"context"
	"errors"
)

// ErrSkipped is what give returns for the weight of a group whose sums it does not want.
var ErrSkipped = errors.New("fold: nothing else of the group is wanted")

// Totals is [Fold.Finish] of a Fold of Sums. It gives the weights of groups before their sums.
func (f *Fold) Totals(ctx context.Context, give func(Total) error) (again bool, err error) {
	defer guard(&err)
	defer f.Drop()
	if again, err = f.ended(ctx, f.finishLast, f.finishShares); again || err != nil {
		return again, err
	}
	keys := f.remembered()
	if err := f.giveUnits(give); err != nil {
		return false, err
	}
	skipped, err := f.giveWeights(keys, give)
	if err != nil {
		return false, err
	}
	if err := f.giveCells(skipped, keys, give); err != nil {
		return false, err
	}
	return f.otherGroups(), nil
}

// giveUnits gives the numbers of units.
func (f *Fold) giveUnits(give func(Total) error) error {
	units := map[uint64]int64{}
	for _, w := range f.finishers {
		for at, n := range w.sums.units {
			units[at] += n
		}
	}
	for at, n := range units {
		t := Total{Units: &n}
		t.Vector, t.Levels = f.adds.levelsAt(at)
		if err := give(t); err != nil {
			return err
		}
	}
	return nil
}

// giveWeights gives the weights of groups, and returns which groups are skipped.
func (f *Fold) giveWeights(keys groupKeys, give func(Total) error) (skipped []bool, err error) {
	groups := 0
	for _, w := range f.finishers {
		groups = max(groups, w.sums.weights.size)
	}
	skipped = make([]bool, groups)
	for g := range groups {
		var sum weight
		for _, w := range f.finishers {
			if of := &w.sums.weights; g < of.size {
				sum.of, sum.pairs = sum.of+of.at(g).of, sum.pairs+of.at(g).pairs
			}
		}
		if sum.pairs == 0 {
			continue
		}
		of, err := keys(uint32(g))
		if err != nil {
			return nil, err
		}
		err = give(Total{Keys: of, Weight: &sum.of})
		if skipped[g] = errors.Is(err, ErrSkipped); err != nil && !skipped[g] {
			return nil, err
		}
	}
	return skipped, nil
}

// giveCells gives the sums of groups that are not skipped.
func (f *Fold) giveCells(skipped []bool, keys groupKeys, give func(Total) error) error {
	var cells []*index
	for _, w := range f.finishers {
		cells = append(cells, w.sums.cells)
	}
	return eachOnce(cells, func(place uint64, numbers []int) error {
		group := uint32(place >> placeBits)
		if int(group) < len(skipped) && skipped[group] {
			return nil
		}
		of, err := keys(group)
		if err != nil {
			return err
		}
		t := Total{Keys: of}
		t.Vector, t.Levels = f.adds.levelsAt(place)
		for n := range f.spec.Sums.Vectors[t.Vector].Summands {
			var sum, directions amount
			for i, w := range f.finishers {
				if number := numbers[i]; number >= 0 {
					cell := w.sums.totals.of(number)
					sum, directions = sum.plus(cell[2*n]), directions.plus(cell[2*n+1])
				}
			}
			t.Sums, t.Directions = append(t.Sums, sum.big()), append(t.Directions, directions.big())
		}
		return give(t)
	})
}
