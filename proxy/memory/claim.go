package memory

import (
	"context"
	"slices"

	"dpproxy/answers"
	"dpproxy/planner"
)

// Drawn returns the keys under which the releases of a plan's reads will be remembered, each once. There are none if nothing is
// remembered: everybody draws for themselves then. A block has none if it has been refined as often as it can
// be, or if its key has a release of another form.
func (r *Recalled) Drawn(rest *planner.Plan) (keys []answers.Key) {
	add := func(q *question) {
		if key := q.next(); q.generation+1 < q.generations && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for i, b := range rest.Blocks {
		known := r.blocks[i]
		if !b.Reads() || known == nil {
			continue
		}
		if known.pieces == nil {
			add(known.question)
		}
		for _, p := range known.drawn() {
			add(p.question)
		}
	}
	return keys
}

// Claim claims keys that are about to be drawn ([answers.Store.Claim]).
func (m *Memory) Claim(ctx context.Context, keys []answers.Key) (answers.Claim, error) {
	return m.store.Claim(ctx, keys)
}
