package reader

import (
	"context"
	"hash/maphash"

	"dpproxy/fold"
	"dpproxy/planner"
)

// A folding takes the rows of a read that package fold adds up.
type folding struct {
	*fold.Fold
	read *planner.Read
	to   func(planner.Row) error // takes its sums
	// again says that the rows must be read once more, unit by unit.
	again bool
}

// newFolding returns the folding of a read. Before its rows are read unit by unit, they may take a random part of the memory of a read,
// three quarters or more. So the time does not reveal whether one more row is there.
func newFolding(read *planner.Read, secret []byte, memory int, to func(planner.Row) error) *folding {
	most := memory - int(maphash.Bytes(maphash.MakeSeed(), nil)%uint64(memory/4)) // the seed is drawn, and nobody knows it
	return &folding{Fold: fold.New(read.Fold, secret, most), read: read, to: to}
}

func (f *folding) taker(ctx context.Context) taker {
	return taker{take: f.Take, end: func() (err error) {
		if f.read.Fold.Sums != nil {
			f.again, err = f.Totals(ctx, func(t fold.Total) error { return f.to(f.read.Totalled(t)) })
			return err
		}
		f.again, err = f.Finish(ctx, func(s fold.Sum) error { return f.to(f.read.Folded(s)) },
			func(level int, n int64) error { return f.to(f.read.FoldedUnits(level, n)) })
		return err
	}}
}
