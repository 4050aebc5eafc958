package planner

import (
	"fmt"
	"strconv"
	"strings"

	"dpproxy/dp"
	"dpproxy/planner/scalar"
)

// Question returns all of the block on which its answer depends, except the secret and the data: the reads, their constants, the order of
// the rows, and the noise.
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

// question returns a parameter with its value.
func (p Param) question(values []scalar.Value) [][]byte {
	parts := [][]byte{{byte(p.Kind)}, []byte(p.Text)}
	if p.Kind != FoldParam {
		return parts
	}
	v := values[p.Fold]
	form := "value"
	switch {
	case v.Unknown: // nothing that was released is its answer
		form = "unknown"
	case v.Bytes == nil:
		form = "null"
	case v.Binary:
		form = "binary"
	}
	return append(parts, []byte(strconv.FormatUint(uint64(v.OID), 10)), []byte(form), v.Bytes)
}

// ReductionQuestion returns all on which the measurements of the block depend, and their boundary, but neither the target nor its price: a
// statement with another target continues from them. Like [BlockPlan.Question] it contains neither the secret nor data.
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

// Request identifies the targets of the block and their allowance: the same request gets the same answer again, whether or not the target
// was reached.
func (b *BlockPlan) Request() []byte {
	var s []byte
	for _, p := range b.Sets {
		if p.Reduction != nil {
			s = fmt.Appendf(s, "%+v %d ", p.Reduction.settings.Target, p.Reduction.settings.EpsilonPico)
		}
	}
	return s
}
