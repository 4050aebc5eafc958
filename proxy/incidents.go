package proxy

import (
	"context"
	"sync"

	"dpproxy/accountant"
)

// incidents records which statements failed while they read protected data. A
// failure may depend on a row, so the ledger refuses its shape for everybody, and
// an analyst who causes several is suspended, until the administrator acts. An
// incident that the ledger could not record counts here until dpproxy ends.
type incidents struct {
	ledger accountant.Ledger

	mu         sync.Mutex
	unrecorded []accountant.Incident
}

// admit refuses a shape that has failed, if that is not on record.
func (i *incidents) admit(analyst, shape string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	caused := 0
	for _, in := range i.unrecorded {
		if in.Shape == shape {
			return chargeError(accountant.ErrQuarantined)
		}
		if in.Analyst == analyst {
			caused++
		}
	}
	if caused >= accountant.MaxIncidents {
		return chargeError(accountant.ErrSuspended)
	}
	return nil
}

// record writes an incident to the ledger, or remembers it.
func (i *incidents) record(ctx context.Context, in accountant.Incident) error {
	err := i.ledger.Incident(ctx, in)
	if err != nil {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.unrecorded = append(i.unrecorded, in)
	}
	return err
}
