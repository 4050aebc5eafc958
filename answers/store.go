package answers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"unicode/utf8"
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

// An Answer is the rows of one released relation, in lattice units, and who has
// paid for it with a budget of his own.
type Answer struct {
	Rows [][]*big.Int
	// Keys are the canonical texts of each row's group, with nil for NULL. They are
	// nil as a whole where the groups are not part of what was released, since they
	// follow from the question.
	Keys [][]*string
	Paid []string
}

// PaidBy reports whether an analyst has paid.
func (a *Answer) PaidBy(analyst string) bool { return slices.Contains(a.Paid, analyst) }

// A Store keeps answers. Its methods are safe for concurrent use. After an error
// nothing is wrong but that an answer is forgotten.
type Store interface {
	// Get returns the answer of a key, or nil.
	Get(ctx context.Context, key Key) (*Answer, error)
	// Put remembers an answer. If the key has one already, that stays.
	Put(ctx context.Context, key Key, a Answer) error
	// Pay adds an analyst to those who have paid for this answer, if it is still
	// there and no other one, which was drawn after it was forgotten.
	Pay(ctx context.Context, key Key, a *Answer, analyst string) error
	// Close lets go of the store.
	Close() error
}

// errDamaged says that what is kept under a key is no answer.
var errDamaged = errors.New("answers: damaged")

// format is the form that answers are kept in. What is kept in another one is no
// answer.
const format = 2

// A body is what was released, as it is kept; numbers are text.
type body struct {
	Format int         `json:"format"`
	Rows   [][]string  `json:"rows"`
	Keys   [][]*string `json:"keys,omitzero"`
}

// encode writes what was released.
func encode(a *Answer) ([]byte, error) {
	b := body{Format: format, Rows: make([][]string, len(a.Rows)), Keys: a.Keys}
	for i, row := range a.Rows {
		b.Rows[i] = make([]string, len(row))
		for k, n := range row {
			b.Rows[i][k] = n.String()
		}
	}
	if err := checkKeys(a); err != nil {
		return nil, err
	}
	return json.Marshal(b)
}

// checkKeys refuses keys that would not come back as they are.
func checkKeys(a *Answer) error {
	if a.Keys != nil && len(a.Keys) != len(a.Rows) {
		return errors.New("there is not one key for each row")
	}
	for _, key := range a.Keys {
		for _, text := range key {
			if text != nil && !utf8.ValidString(*text) {
				return errors.New("a key is not UTF-8")
			}
		}
	}
	return nil
}

// digest tells answers to one question apart.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// decode is the inverse of encode.
func decode(text []byte) (*Answer, error) {
	var b body
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if b.Format != format {
		return nil, fmt.Errorf("%w: it is in the format %d", errDamaged, b.Format)
	}
	a := &Answer{Rows: make([][]*big.Int, len(b.Rows)), Keys: b.Keys}
	for i, row := range b.Rows {
		a.Rows[i] = make([]*big.Int, len(row))
		for k, text := range row {
			n, ok := new(big.Int).SetString(text, 10)
			if !ok {
				return nil, fmt.Errorf("%w: what should be a number is none", errDamaged)
			}
			a.Rows[i][k] = n
		}
	}
	if err := checkKeys(a); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return a, nil
}
