package memory

import (
	"strconv"

	"dpproxy/answers"
	"dpproxy/planner"
)

// Asked returns a digest of all that the releases of a plan's reads depend on but the data, and of who asks: an amount
// that was paid for one draw pays for another of the same digest. It is there also where nothing is
// remembered, and of no epoch: nothing has been drawn of the data of then.
func (m *Memory) Asked(rest *planner.Plan, known *Recalled) string {
	parts := [][]byte{[]byte("asked"), m.version(rest.Relations), []byte(known.analyst.Name)}
	for i, b := range rest.Blocks {
		if !b.Reads() {
			continue
		}
		var asked [][]byte
		switch before := known.blocks[i]; {
		case before != nil && before.pieces != nil:
			for _, p := range before.drawn() {
				asked = append(append(asked, p.of.Question()...), p.of.Law())
			}
		case rest.Reduces() == 0:
			asked = b.Question()
		default:
			// Measurements that the read goes on from are a part of the question.
			generation := 0
			if before != nil {
				generation = before.question.generation + 1
			}
			asked = append(b.ReductionQuestion(), b.Request(), []byte(strconv.Itoa(generation)))
		}
		key := answers.KeyOf(asked...)
		parts = append(parts, key[:])
	}
	return answers.KeyOf(parts...).String()
}
