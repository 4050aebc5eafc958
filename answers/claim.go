package answers

import (
	"context"
	"errors"
)

// A Claim keeps other processes from drawing the releases of its keys, until it ends or its process dies. Safety does not depend on it: if
// a claim was lost, another process may draw too. It pays, and [Store.Put] keeps one release of a key, the first.
type Claim interface {
	// End gives the keys back. The word says to waiting processes why there will be no release. If it is empty, they look for themselves.
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

// Wait waits until the claim has ended, and returns its word. The word is empty if the claim was lost. Its error is the cause of the end of
// ctx.
func (e *HeldError) Wait(ctx context.Context) (word string, err error) { return e.wait(ctx) }

// An ownClaim is a claim of the only process that there is.
type ownClaim struct{}

// End implements Claim.
func (ownClaim) End(context.Context, string) {}
