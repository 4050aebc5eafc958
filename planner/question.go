package planner

import (
	"fmt"
	"strconv"
	"strings"

	"dpproxy/dp"
	"dpproxy/planner/scalar"
)

// Question returns all of the block that its answer depends on: the reads, their constants, the
// order of the rows, and the noise. The secret and
// the data are not in it.
func (b *BlockPlan) Question(values []scalar.Value) [][]byte {
	return append([][]byte{[]byte(dp.Exact(b.Event()))}, b.reading(values)...)
}

// reading returns the reads with their constants.
func (b *BlockPlan) reading(values []scalar.Value) [][]byte {
	var parts [][]byte
	for _, p := range b.Sets {
		parts = append(parts, []byte(strconv.Itoa(p.size)))
		for _, l := range p.lists {
			for _, row := range l.rows {
				parts = append(parts, []byte(ArrayText(row)))
			}
		}
		for _, m := range p.Measures {
			parts = append(parts, []byte(m.question()))
		}
		for _, st := range p.statistics {
			if c := st.choosing(); c != nil {
				parts = append(parts, fmt.Appendf(nil, "%s %d", c.question(), st.choiceFraction()))
			}
		}
		if p.Top != nil {
			parts = append(parts, []byte(p.Top.question()))
		}
		for _, r := range p.Reads {
			if r.Fold != nil {
				parts = append(parts, []byte(strings.Join(r.Fold.Lines(), "\n")))
			}
			for _, st := range r.statements() {
				parts = append(parts, []byte(st.SQL))
				for _, param := range st.Params {
					parts = append(parts, param.question(values)...)
				}
			}
		}
	}
	return parts
}

// question writes a parameter with the value it has.
func (p Param) question(values []scalar.Value) [][]byte {
	parts := [][]byte{{byte(p.Kind)}, []byte(p.Text)}
	if p.Kind != FoldParam {
		return parts
	}
	v := values[p.Fold]
	form := "value"
	switch {
	case v.Bytes == nil:
		form = "null"
	case v.Binary:
		form = "binary"
	}
	return append(parts, []byte(strconv.FormatUint(uint64(v.OID), 10)), []byte(form), v.Bytes)
}

// ReductionQuestion returns all that the measurements of the block depend on, and with
// which boundary, but for the target and its price: who asks for another error goes
// on from there. Like [BlockPlan.Question] it says nothing of the secret and the data.
func (b *BlockPlan) ReductionQuestion(values []scalar.Value) [][]byte {
	q := b.reading(values)
	for _, p := range b.Sets {
		if p.Selection != nil {
			q = append(q, []byte(dp.Exact(p.Selection.Event())))
		}
		if p.Reduction == nil {
			continue
		}
		q = append(q, fmt.Appendf(nil, "%s %v", p.Reduction.Mechanism, p.alpha))
		for _, m := range p.Reduction.Statistics {
			q = append(q, fmt.Appendf(nil, "%v %v %+v", m.Sensitivity, m.beta, m.within))
			if p.Reduction.Mechanism != brownian { // a path ends with its last level
				q = append(q, fmt.Appendf(nil, "%d", p.Reduction.PoolPico))
			}
		}
	}
	return q
}

// Request names the targets of the block, and their allowance: whoever asks
// for the same again gets the same, whether it was reached or not.
func (b *BlockPlan) Request() []byte {
	var s []byte
	for _, p := range b.Sets {
		if p.Reduction != nil {
			s = fmt.Appendf(s, "%+v %d ", p.Reduction.settings.Target, p.Reduction.settings.EpsilonPico)
		}
	}
	return s
}
