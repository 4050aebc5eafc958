package memory

import (
	"context"

	"dpproxy/answers"
	"dpproxy/planner"
)

// Drawn returns the keys under which the releases of a plan's reads will be remembered, each once. There are none if nothing is
// remembered: everybody draws for themselves then. A block has none if it has been refined as often as it can
// be, or if its key has a release of another form.
func (r *Recalled) Drawn(rest *planner.Plan) (keys []answers.Key) {
	seen := map[answers.Key]bool{}
	for i, b := range rest.Blocks {
		known := r.blocks[i]
		if !b.Reads() || known == nil || known.question.generation+1 >= known.question.generations {
			continue
		}
		if key := known.question.next(); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// Claim claims keys that are about to be drawn ([answers.Store.Claim]).
func (m *Memory) Claim(ctx context.Context, keys []answers.Key) (answers.Claim, error) {
	return m.store.Claim(ctx, keys)
}
