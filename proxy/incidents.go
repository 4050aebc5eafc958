package proxy

import (
	"context"
	"sync"

	"dpproxy/accountant"
	"dpproxy/pgerr"
)

// maxIncidents is how many failed reads suspend an analyst.
const maxIncidents = 3

// incidents remembers which statements failed while they read protected data. A
// failure may depend on a row, so its shape is refused for everybody, and an
// analyst who causes several is suspended, until the administrator acts.
type incidents struct {
	ledger accountant.Ledger

	mu       sync.Mutex
	shapes   map[string]bool
	analysts map[string]int
}

func newIncidents(ctx context.Context, l accountant.Ledger) (*incidents, error) {
	in := &incidents{ledger: l, shapes: map[string]bool{}, analysts: map[string]int{}}
	open, err := l.Incidents(ctx)
	for _, i := range open {
		in.shapes[i.Shape] = true
		in.analysts[i.Analyst]++
	}
	return in, err
}

// admit refuses what has failed before. It is asked before anything is charged.
func (i *incidents) admit(analyst, shape string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.analysts[analyst] >= maxIncidents:
		return pgerr.New(pgerr.Suspended, "this login is suspended: %d of its statements failed while they read protected data", i.analysts[analyst]).
			WithHint("The administrator can clear the incidents.")
	case i.shapes[shape]:
		return pgerr.New(pgerr.Quarantined, "a statement of this shape failed while it read protected data").
			WithHint("Write the statement differently, or ask the administrator to clear the incident.")
	}
	return nil
}

// record takes effect at once, and for later runs when it is in the ledger.
func (i *incidents) record(ctx context.Context, in accountant.Incident) error {
	i.mu.Lock()
	i.shapes[in.Shape] = true
	i.analysts[in.Analyst]++
	i.mu.Unlock()
	return i.ledger.Incident(ctx, in)
}
