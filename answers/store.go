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

// encode writes rows as JSON, numbers as text.
func encode(rows [][]*big.Int) ([]byte, error) {
	texts := make([][]string, len(rows))
	for i, row := range rows {
		texts[i] = make([]string, len(row))
		for k, n := range row {
			texts[i][k] = n.String()
		}
	}
	return json.Marshal(texts)
}

// digest tells answers to one question apart.
func digest(rows []byte) string {
	sum := sha256.Sum256(rows)
	return hex.EncodeToString(sum[:8])
}

// decode is the inverse of encode.
func decode(text []byte) ([][]*big.Int, error) {
	var texts [][]string
	if err := json.Unmarshal(text, &texts); err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	rows := make([][]*big.Int, len(texts))
	for i, row := range texts {
		rows[i] = make([]*big.Int, len(row))
		for k, text := range row {
			n, ok := new(big.Int).SetString(text, 10)
			if !ok {
				return nil, fmt.Errorf("%w: what should be a number is none", errDamaged)
			}
			rows[i][k] = n
		}
	}
	return rows, nil
}
