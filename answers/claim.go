package answers

import (
	"context"
	"errors"
)

// A Claim keeps other processes from drawing the releases of its keys, until it ends or its process
// dies. Nothing that must not happen depends on it: whoever draws all the same, since a claim was lost,
// pays, and [Store.Put] keeps one release of a key, whoever comes first.
type Claim interface {
	// End gives the keys back. The word tells waiting processes why there will be no release; without one they
	// look for themselves.
	End(ctx context.Context, word string)
}

// ErrReleased says that a key has a release by now.
var ErrReleased = errors.New("answers: it is released by now")

// A HeldError says that another process is drawing the release of a key.
type HeldError struct {
	Key  Key
	wait func(ctx context.Context) (word string, err error)
}

// Error implements error.
func (*HeldError) Error() string { return "answers: another process is drawing it" }

// Wait waits until the claim has ended, and returns its word, which is empty too where the claim is lost. Its error is
// the cause of the end of ctx.
func (e *HeldError) Wait(ctx context.Context) (word string, err error) { return e.wait(ctx) }

// ownClaim is the claim of the only process that there is.
type ownClaim struct{}

// End implements Claim.
func (ownClaim) End(context.Context, string) {}
