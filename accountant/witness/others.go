package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// A second ledger over the same people is a second budget. Its secret gives it away: whoever has the secret of a ledger that there
// is has copied it, and the marks of both open with it.

// ErrSecond is wrapped if another ledger is charged whose marks this one's secret opens.
var ErrSecond = errors.New("witness: a second ledger is charged under the same secret, so that people would lose the budgets of both")

// An Other is the mark of another ledger of the same secret.
type Other struct {
	Place string
	Mark  Mark
}

// poll is how often marks of other ledgers are read until they are known to be dead.
const poll = 250 * time.Millisecond

// Alone returns the marks of other ledgers of this secret, all of them dead: it waits until each would have been written anew. It
// returns [ErrSecond] if one was, and then nothing may be charged or marked.
func (w *Witness) Alone(ctx context.Context, ledger string) ([]Other, error) {
	all, err := w.look(ctx, ledger)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var patience time.Duration
	for _, o := range all {
		w.log.Info("waiting whether another ledger of this secret is charged", "ledger", o.Mark.Ledger, "place", o.Place)
		patience = max(patience, 2*interval(o.Mark))
	}
	for waited := time.Duration(0); waited < patience; waited += poll {
		if err := w.pause(ctx, poll); err != nil {
			return nil, err
		}
		if _, err := w.look(ctx, ledger); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Remove takes the marks of dead ledgers away.
func (w *Witness) Remove(ctx context.Context, dead []Other) error {
	for _, o := range dead {
		for _, k := range w.places {
			if k.Name() != o.Place {
				continue
			}
			if err := k.Remove(ctx, o.Mark.Ledger); err != nil {
				return fmt.Errorf("the mark of the ledger %s on %s: %w", o.Mark.Ledger, o.Place, err)
			}
		}
	}
	return nil
}

// look returns the marks of other ledgers at all places.
func (w *Witness) look(ctx context.Context, ledger string) (all []Other, err error) {
	for _, k := range w.places {
		marks, err := w.lookAt(ctx, k, ledger)
		if err != nil {
			return nil, err
		}
		for _, m := range marks {
			all = append(all, Other{k.Name(), m})
		}
	}
	return all, nil
}

// lookAt returns the marks of other ledgers at a place that the key opens. It returns [ErrSecond] if one was written since the
// last look. Marks of another secret belong to another dpproxy.
func (w *Witness) lookAt(ctx context.Context, k *keeping, ledger string) (all []Mark, err error) {
	kept, err := k.Others(ctx, ledger)
	if err != nil {
		return nil, fmt.Errorf("marks of other ledgers on %s: %w", k.Name(), err)
	}
	before, looked := k.others, k.looked
	k.others, k.looked = kept, true
	for other, sealed := range kept {
		m, err := unseal(w.key, other, sealed)
		if err != nil {
			continue
		}
		if looked && !bytes.Equal(before[other], sealed) {
			return nil, fmt.Errorf("%w: the ledger %s is marked on %s beside %s: stop the dpproxy of one of them for good; "+
				"a ledger for other people needs a secret of its own", ErrSecond, other, k.Name(), ledger)
		}
		all = append(all, m)
	}
	return all, nil
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
