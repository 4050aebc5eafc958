package proxy

import (
	"context"
	"maps"
	"slices"
	"sync"

	"dpproxy/accountant"
)

// incidents records which statements failed while they read protected data. A
// failure may depend on a row, so the ledger refuses its shape for everybody, and
// an analyst who causes several is suspended, until the administrator acts. An
// incident that the ledger could not record counts here until dpproxy ends. An
// interruption in which no row has a part is no incident; one that may be a read's own doing is suspected.
type incidents struct {
	ledger accountant.Ledger

	mu         sync.Mutex
	unrecorded []accountant.Incident
	// losses counts the moments at which reads were interrupted that were under way together.
	losses uint64
	// suspected are the questions that were under way at such a moment, and have not been answered
	// since, by analyst and the number of the moment.
	suspected map[string]map[uint64][]string
}

// begin returns the number of losses until now, when a read is given its session.
func (i *incidents) begin() uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.losses
}

// suspects counts an interruption of which the read itself may be the cause, and reports whether it is one too
// many: the analyst's reads were under way at as many others as there may be incidents, and none of these
// questions has been answered since. Interruptions of reads that were under way together count once.
func (i *incidents) suspects(analyst, question string, began uint64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	moment := began + 1
	i.losses = max(i.losses, moment)
	of := i.suspected[analyst]
	if _, counted := of[moment]; !counted && len(of) >= accountant.MaxIncidents {
		return true
	}
	if of == nil {
		of = map[uint64][]string{}
		if i.suspected == nil {
			i.suspected = map[string]map[uint64][]string{}
		}
		i.suspected[analyst] = of
	}
	of[moment] = append(of[moment], question)
	return false
}

// answered clears a question of suspicion: asked again, it was no reason to fail.
func (i *incidents) answered(analyst, question string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for moment, questions := range i.suspected[analyst] {
		rest := slices.DeleteFunc(questions, func(q string) bool { return q == question })
		if i.suspected[analyst][moment] = rest; len(rest) == 0 {
			delete(i.suspected[analyst], moment)
		}
	}
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

// clear forgets the incidents of one analyst, or of all when it is empty, that are in no ledger, and all suspicion of
// them.
func (i *incidents) clear(analyst string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unrecorded = slices.DeleteFunc(i.unrecorded, func(in accountant.Incident) bool { return analyst == "" || in.Analyst == analyst })
	maps.DeleteFunc(i.suspected, func(of string, _ map[uint64][]string) bool { return analyst == "" || of == analyst })
}
