package planner

import (
	"math"

	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// maxEvalCost bounds the cost of computing the expressions of a statement for one row
// ([scalar.Env.EvalCost]): a row that takes long by itself tells that it is there.
const maxEvalCost = 1 << 16

// maxJoinedCost bounds it for the rows that joins make of one.
const maxJoinedCost = 1 << 18

// evalCost is the cost of the expressions of a block for one row, at least 1. A column that several
// expressions use counts for each: Postgres may compute it anew.
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

// checkEvalCost refuses a block whose reads, each of which costs n for one row, could take
// long on one row beside those of the blocks before it, or on the rows that joins make of it.
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

// evalCosts adds up the costs of expressions, at most the largest int64.
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
