package answers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// A Key identifies a question.
type Key [sha256.Size]byte

// String writes the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// KeyOf returns the key of a question with the given parts. Each part counts with its length.
func KeyOf(parts ...[]byte) Key {
	h := sha256.New()
	for _, part := range parts {
		h.Write(fmt.Appendf(nil, "%d:", len(part)))
		h.Write(part)
	}
	return Key(h.Sum(nil))
}

// A Store keeps releases. Its methods are safe for concurrent use. After an error a release may be forgotten, and nothing else is wrong.
type Store interface {
	// Get returns the release of a key, or nil.
	Get(ctx context.Context, key Key) (*Release, error)
	// Put remembers a release. If the key has a release already, that release stays and is returned.
	Put(ctx context.Context, key Key, r Release) (earlier *Release, err error)
	// Pay adds an analyst to those who have paid for this release. It does nothing if the release was forgotten, even if another release
	// has been drawn since.
	Pay(ctx context.Context, key Key, r *Release, analyst string) error
	// Claim says that the releases of keys are about to be drawn here: all of them or, with an error, none. It returns ErrReleased if a key
	// has a release, and a *HeldError if another process has a claim on a key. It does not distinguish the statements of this process.
	Claim(ctx context.Context, keys []Key) (Claim, error)
	// Close lets go of the store.
	Close() error
}
