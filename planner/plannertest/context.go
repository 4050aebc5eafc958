package plannertest

import "context"

// EndsAt returns a context that ends when it is looked at once more than so many times.
func EndsAt(ctx context.Context, looks int) context.Context { return &looked{ctx, looks} }

type looked struct {
	context.Context //nolint:containedctx // it is one

	left int
}

// Err implements [context.Context].
func (l *looked) Err() error {
	if l.left--; l.left < 0 {
		return context.Canceled
	}
	return nil
}
