package cashier

import (
	"sync"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// cachedPrices bounds the prices that are remembered.
const cachedPrices = 10_000

// prices remembers the costs of events: a price is a function of the event and the
// measure, exact and slow to compute.
type prices struct {
	mu    sync.Mutex
	known map[string]dp.Loss
}

func (p *prices) price(e dp.ComposedEvent, m dp.Measure) (dp.Loss, error) {
	key := m.String() + dp.Exact(e)
	p.mu.Lock()
	loss, ok := p.known[key]
	p.mu.Unlock()
	if ok {
		return loss, nil
	}
	loss, err := accountant.Price(e, m)
	if err != nil {
		return dp.Loss{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= cachedPrices {
		p.known = map[string]dp.Loss{}
	}
	p.known[key] = loss
	return loss, nil
}
