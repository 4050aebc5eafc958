package history

import (
	"context"
	"errors"

	"dpproxy/accountant"
)

// A Moment is what a ledger was behind one of its entries, when all before it was durable.
type Moment struct {
	Ledger   string // its ID, hexadecimal
	Seq      uint64
	Head     Hash // of the entry with that number
	Balances []accountant.Balance
}

// A Past is a ledger as it is found when it is opened, before anything is recorded.
type Past struct {
	Moment
	// Prepaid is the sum of what is prepaid for questions.
	Prepaid []accountant.Debit
	// HeadOf returns the hash of an entry.
	HeadOf func(ctx context.Context, seq uint64) (Hash, error)
	// Again returns the ledger as it is now. It is nil if nobody else writes to the ledger.
	Again func(ctx context.Context) (Past, error)
}

// Now returns the ledger as it is now.
func (p Past) Now(ctx context.Context) (Past, error) {
	if p.Again == nil {
		return p, nil
	}
	return p.Again(ctx)
}

// ErrNoEntry is returned by HeadOf of an entry that there is not.
var ErrNoEntry = errors.New("history: there is no such entry")

// PastOf returns a state as it is found.
func PastOf(s *State, ledger string, head Hash, headOf func(ctx context.Context, seq uint64) (Hash, error)) (Past, error) {
	m, err := s.Moment(ledger, head)
	if err != nil {
		return Past{}, err
	}
	p := Past{Moment: m, HeadOf: headOf}
	for _, u := range s.unanswered {
		debits, err := current(s, u.debits)
		if err != nil {
			return Past{}, err
		}
		if p.Prepaid, err = joined(p.Prepaid, debits); err != nil {
			return Past{}, err
		}
	}
	return p, nil
}
