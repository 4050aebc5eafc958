package planner

import (
	"math"

	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// maxWeight bounds the work of computing the expressions of a statement for one row
// ([scalar.Env.Weight]): what takes long on one row alone tells that it is there.
const maxWeight = 1 << 16

// maxJoined bounds it for the rows that joins make of one.
const maxJoined = 1 << 18

// weigh bounds the work of the expressions of a block for one row.
func (bd *binding) weigh() (int64, error) {
	w := weigher{env: bd.env}
	for _, k := range bd.b.keys {
		w.add(k.expr)
	}
	for _, a := range bd.b.aggregates {
		w.add(a.form.overRows()...)
	}
	bd.b.source.Computed(w.add, func(c *scalar.Column) {
		w.add(&scalar.Ref{Column: c})
		w.total = min(w.total, math.MaxInt64-1<<32) + w.env.HashCost(c)
	})
	if w.total > maxWeight {
		return 0, bd.tooLarge()
	}
	return max(w.total, 1), nil
}

// weighReads refuses a block whose reads, each of which computes what weighs n, could take
// long on one row beside those of the blocks before it, or on the rows that joins make of it.
func (bd *binding) weighReads(n int64, parts []*Part, rows int64, total *int64) error {
	reads := int64(0)
	for _, p := range parts {
		reads += int64(len(p.Reads))
	}
	n *= reads
	if *total = min(*total, maxWeight) + min(n, maxWeight+1); *total > maxWeight || n*min(rows, maxJoined+1) > maxJoined {
		return bd.tooLarge()
	}
	return nil
}

func (bd *binding) tooLarge() error {
	return pgerr.New(pgerr.StatementTooComplex, "the expressions over protected rows are too large").At(bd.b.at).
		WithHint("Use fewer, or shorter texts and patterns: left(x, 1000), or a varchar(n); a column of a sub-select counts at each reference, and all of them in each grouping set, percentile and count(DISTINCT).")
}

type weigher struct {
	env   *scalar.Env
	total int64
}

func (w *weigher) add(list ...scalar.Expr) {
	for _, e := range list {
		if e == nil {
			continue
		}
		n := w.env.EvalCost(e)
		if w.total > math.MaxInt64-n {
			n = math.MaxInt64 - w.total
		}
		w.total += n
	}
}
