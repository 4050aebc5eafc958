package answers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// A Key tells questions apart.
type Key [sha256.Size]byte

// String writes the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// KeyOf returns the key of a question with the given parts, of which each counts
// with its length.
func KeyOf(parts ...[]byte) Key {
	h := sha256.New()
	for _, part := range parts {
		h.Write(fmt.Appendf(nil, "%d:", len(part)))
		h.Write(part)
	}
	return Key(h.Sum(nil))
}

// A Store keeps releases. Its methods are safe for concurrent use. After an error
// nothing is wrong but that a release is forgotten.
type Store interface {
	// Get returns the release of a key, or nil.
	Get(ctx context.Context, key Key) (*Release, error)
	// Put remembers a release. If the key has one already, that stays, and is returned.
	Put(ctx context.Context, key Key, r Release) (earlier *Release, err error)
	// Pay adds an analyst to those who have paid for this release, if it is still
	// there and no other one, which was drawn after it was forgotten.
	Pay(ctx context.Context, key Key, r *Release, analyst string) error
	// Claim says that the releases of keys are about to be drawn here: of all or, with an error, of none.
	// It returns ErrReleased where one of the keys has a release, and a *HeldError where another process
	// has a claim on one. Statements of this process it does not tell apart.
	Claim(ctx context.Context, keys []Key) (Claim, error)
	// Close lets go of the store.
	Close() error
}
