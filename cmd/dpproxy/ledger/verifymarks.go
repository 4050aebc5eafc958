package ledger

import (
	"context"
	"fmt"
	"log/slog"

	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/accountant/witness"
	"dpproxy/cmd/dpproxy/site"
)

// A markJSON is the finding of a place of marks, as JSON.
type markJSON struct {
	Place string `json:"place"`
	// Entry is that of the mark, which the ledger has; 0 where there is no mark.
	Entry uint64 `json:"entry"`
	// Error says why the mark could not be read.
	Error string `json:"error,omitempty"`
}

// marks are those of a ledger, with the hashes that the ledger has of their entries.
type marks struct {
	ledger string
	found  []witness.Finding
	heads  map[uint64]history.Hash
}

// readMarks reads the marks of the ledger, as far as its number and the secret are known.
func readMarks(ctx context.Context, log *slog.Logger, s *Books, policy string) (*marks, error) {
	id, err := logledger.JournalID(s.Policy.Ledger.Dir)
	if err != nil {
		return nil, err
	}
	of, err := site.Open(policy)
	if err != nil {
		return nil, err
	}
	books := *s
	books.Secret = of.Secret
	w, closePlaces := openWitness(&books, log, func() *site.Site { return of })
	defer closePlaces(ctx)
	m := &marks{ledger: id, found: w.Findings(ctx, id), heads: map[uint64]history.Hash{}}
	for _, f := range m.found {
		m.heads[f.Mark.Seq] = history.Hash{}
	}
	return m, nil
}

// see takes an entry down that a mark names.
func (m *marks) see(r history.Record) {
	if m == nil {
		return
	}
	if _, named := m.heads[r.Seq]; named {
		m.heads[r.Seq] = r.Hash()
	}
}

// check compares the marks, if they were read, with a ledger that was read whole.
func (m *marks) check(ctx context.Context, a *audit) ([]markJSON, error) {
	if m == nil {
		return nil, nil
	}
	past, err := history.PastOf(a.state, m.ledger, a.head, func(_ context.Context, seq uint64) (history.Hash, error) {
		head, named := m.heads[seq]
		if !named || head == (history.Hash{}) {
			return history.Hash{}, history.ErrNoEntry
		}
		return head, nil
	})
	if err != nil {
		return nil, err
	}
	all := []markJSON{}
	for _, f := range m.found {
		told := markJSON{Place: f.Place}
		switch {
		case f.Err != nil:
			told.Error = f.Err.Error()
		case f.Found:
			if err := f.Check(ctx, past); err != nil {
				return nil, err
			}
			told.Entry = f.Mark.Seq
		}
		all = append(all, told)
	}
	return all, nil
}

// row tells people of it.
func (m markJSON) row() []string {
	switch {
	case m.Error != "":
		return []string{"mark", "not compared: " + m.Error}
	case m.Entry == 0:
		return []string{"mark", m.Place + " has none yet"}
	}
	return []string{"mark", fmt.Sprintf("that of %s agrees, entry %d", m.Place, m.Entry)}
}
