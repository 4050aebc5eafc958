package replay

import (
	"context"
	"time"
)

// Replicas are drawn in a bounded time: those without which there is no interval have drawingPatience, with all that comes before them, and
// others begin within drawingBudget. A busy machine takes several times as long as an idle one, which should change no answer.
const (
	drawingBudget   = 300 * time.Millisecond
	drawingPatience = 6 * time.Second
)

// A pace bounds the time in which replicas are drawn.
type pace struct {
	now   func() time.Time
	start time.Time
}

func paced(now func() time.Time) pace { return pace{now, now()} }

// fits reports whether n replicas are there by the end, if they take as long as the first of them have taken, which began at a time.
func (p pace) fits(ctx context.Context, began time.Time, first, n int, end time.Duration) bool {
	now := p.now()
	spent, rest := now.Sub(p.start), time.Duration(0)
	if first > 0 {
		rest = now.Sub(began) / time.Duration(first) * time.Duration(n-first)
	}
	return ctx.Err() == nil && spent < end && spent+rest <= end
}

// several returns so many replicas, or none if there is no time for all.
func (p pace) several(ctx context.Context, n int, next func(i int) [][]string) (all [][][]string) {
	began := p.now()
	for i := range n {
		if !p.fits(ctx, began, i, n, drawingPatience) {
			return nil
		}
		all = append(all, next(i))
	}
	return all
}

// more returns as many replicas as there is time for, but no more than most.
func (p pace) more(ctx context.Context, most int, next func() [][]string) (all [][][]string) {
	began := p.now()
	for len(all) < most && p.fits(ctx, began, len(all), len(all)+1, drawingBudget) {
		all = append(all, next())
	}
	return all
}
