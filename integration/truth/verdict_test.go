package truth_test

import (
	"fmt"
	"math"
	"strings"
)

// leastWithin is the share of the cells of a question that have the truth within their intervals, so
// that the question has.
const leastWithin = 0.9

// A verdict is how the answer to a question compares with the truth.
type verdict struct {
	within, outside int     // cells
	unstated        int     // cells without an interval
	null            int     // cells that are NULL
	missing, more   int     // rows of the truth that the answer lacks, and rows that it has besides
	worst           string  // the cell that is farthest outside
	excess          float64 // of the worst: by how many widths of its interval
	refusal         error
}

// The outcomes of a question.
const (
	refused  = "refused"
	empty    = "no value"
	unstated = "no interval"
	inside   = "within"
	outside  = "outside"
)

func (v verdict) outcome() string {
	switch {
	case v.refusal != nil:
		return refused
	case v.judged() == 0:
		return empty
	case v.judged() == v.unstated:
		return unstated
	case float64(v.within) >= leastWithin*float64(v.judged()):
		return inside
	}
	return outside
}

// judged counts the cells with a value. One without an interval is not within.
func (v verdict) judged() int { return v.within + v.outside + v.unstated }

func (v *verdict) compare(q question, answer, truth reply) {
	for _, key := range truth.order {
		if answer.rows[key] == nil {
			v.missing++
		}
	}
	for _, key := range answer.order {
		if truth.rows[key] == nil {
			v.more++
		}
		for i, c := range answer.rows[key] {
			v.see(c, q.truthOf(truth, key, i), strings.TrimLeft(key+": "+truth.columns[i], ": "))
		}
	}
}

// see judges one cell.
func (v *verdict) see(c cell, truth float64, name string) {
	switch {
	case math.IsNaN(c.value):
		v.null++
	case !c.stated():
		v.unstated++
	case c.within(truth):
		v.within++
	default:
		v.outside++
		excess := max(c.low-truth, truth-c.high) / (c.high - c.low)
		if v.worst == "" || excess > v.excess || math.IsNaN(excess) {
			v.excess = excess
			v.worst = fmt.Sprintf("%s = %s, in [%s, %s], in truth %s",
				name, digits(c.value), digits(c.low), digits(c.high), digits(truth))
		}
	}
}
