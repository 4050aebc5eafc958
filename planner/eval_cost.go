package planner

import (
	"math"

	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// maxEvalCost bounds the cost of the expressions of a statement for a row ([scalar.Env.EvalCost]): a row that takes long reveals itself
// by the time of the read.
const maxEvalCost = 1 << 16

// maxJoinedCost bounds the cost for all rows that joins make from one row.
const maxJoinedCost = 1 << 18

// evalCost returns the cost of the expressions of a block for a row, at least 1. A column counts in each expression that uses it:
// Postgres may compute it each time.
func (b *block) evalCost(env *scalar.Env) (int64, error) {
	c := evalCosts{env: env}
	for _, k := range b.keys {
		c.add(k.expr)
	}
	for _, a := range b.aggregates {
		c.add(a.form.overRows()...)
	}
	b.source.Computed(c.add, func(column *scalar.Column) {
		c.add(&scalar.Ref{Column: column})
		c.total = min(c.total, math.MaxInt64-1<<32) + c.env.HashCost(column)
	})
	if c.total > maxEvalCost {
		return 0, b.tooLarge()
	}
	return max(c.total, 1), nil
}

// checkEvalCost refuses a block whose reads, each at cost n for a row, could together with the blocks before it take long on one row, or
// on the rows that joins make from it.
func (b *block) checkEvalCost(n int64, reads int, rows int64, total *int64) error {
	n *= int64(reads)
	if *total = min(*total, maxEvalCost) + min(n, maxEvalCost+1); *total > maxEvalCost || n*min(rows, maxJoinedCost+1) > maxJoinedCost {
		return b.tooLarge()
	}
	return nil
}

func (b *block) tooLarge() error {
	return pgerr.New(pgerr.StatementTooComplex, "the expressions over protected rows are too large").At(b.at).
		WithHint("Use fewer, or shorter texts and patterns: left(x, 1000), or a varchar(n); " +
			"a column of a sub-select counts at each reference, and all of them in each grouping set, percentile and count(DISTINCT).")
}

// evalCosts adds up the costs of expressions, and saturates at the largest int64.
type evalCosts struct {
	env   *scalar.Env
	total int64
}

func (c *evalCosts) add(list ...scalar.Expr) {
	for _, e := range list {
		if e == nil {
			continue
		}
		n := c.env.EvalCost(e)
		if c.total > math.MaxInt64-n {
			n = math.MaxInt64 - c.total
		}
		c.total += n
	}
}
