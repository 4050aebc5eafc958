package memory

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"

	"dpproxy/answers"
	"dpproxy/planner"
	"dpproxy/proxy/release"
)

// mostGenerations bounds how often one question is refined.
const mostGenerations = 1000

// question names all that the release of a block depends on.
type question struct {
	parts [][]byte
	// generations is how many releases it can have: 1 where no error is asked for.
	generations int
	generation  int // of the last release, −1 if there is none
	// pointer is a key of the question under any version and epoch, for one that is refined.
	pointer answers.Key
}

// question returns that of a block in an epoch.
func (m *Memory) question(plan *planner.Plan, b *planner.BlockPlan, refine bool, epoch string) *question {
	place := m.place(b, epoch)
	if plan.Reduces() == 0 {
		return &question{parts: append(slices.Clip(place), b.Question()...), generations: 1, generation: -1}
	}
	asked := b.ReductionQuestion()
	if !refine {
		asked = append(asked, []byte("alone"), b.Request())
	}
	chain := [][]byte{[]byte("chain")}
	return &question{
		parts: append(append(slices.Clip(chain), place...), asked...), generations: mostGenerations, generation: -1,
		pointer: answers.KeyOf(append(slices.Clip(chain), asked...)...),
	}
}

// refined reports whether a smaller error goes on from an earlier release.
func (q *question) refined() bool { return q.generations > 1 }

// key of a generation.
func (q *question) key(generation int) answers.Key {
	if !q.refined() {
		return answers.KeyOf(q.parts...)
	}
	return answers.KeyOf(append([][]byte{[]byte(strconv.Itoa(generation))}, q.parts...)...)
}

// next is the key of the generation after the last.
func (q *question) next() answers.Key { return q.key(q.generation + 1) }

// last finds the last generation: it goes twice as far until there is none, and then halves
// the span between, so that a question that was refined a thousand times is found as soon. A
// generation that is forgotten hides later ones, which only forgets more.
func (q *question) last(get func(key answers.Key) *answers.Release) *answers.Release {
	var last *answers.Release
	q.generation = -1
	look := func(generation int) bool {
		found := get(q.key(generation))
		if found != nil {
			last, q.generation = found, generation
		}
		return found != nil
	}
	missing := q.generations
	for g := 0; g < missing; g = 2*g + 1 {
		if !look(g) {
			missing = g
		}
	}
	for q.generation+1 < missing {
		if mid := (q.generation + missing) / 2; !look(mid) {
			missing = mid
		}
	}
	return last
}

// write makes the release of a block.
func (q *question) write(sets []*release.Set, b *planner.BlockPlan, paid payments) answers.Release {
	r := answers.Release{Payments: paid.record()}
	if q.refined() {
		r.Request = digest(b)
	}
	for _, s := range sets {
		r.Sets = append(r.Sets, record(s))
	}
	return r
}

// digest of the errors that are asked for.
func digest(b *planner.BlockPlan) []byte {
	sum := sha256.Sum256(b.Request())
	return sum[:]
}

// same reports whether a release was asked for with the same errors.
func same(r *answers.Release, b *planner.BlockPlan) bool { return bytes.Equal(r.Request, digest(b)) }
