package planner

import (
	"fmt"
	"math"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// A topClause is ORDER BY an aggregate DESC LIMIT k of a block.
type topClause struct {
	aggregate int
	limit     scalar.Expr // a constant; nil if it is a literal
	literal   int64
	at        int
}

// newTopClause resolves the clause of a block; nil if it has none.
func newTopClause(r *scalar.Resolver, t *ast.Top) (*topClause, error) {
	if t == nil {
		return nil, nil
	}
	out := &topClause{aggregate: t.Aggregate, at: t.Limit.Pos()}
	if c, ok := t.Limit.(*ast.Const); ok {
		_, err := fmt.Sscan(c.Text, &out.literal)
		return out, err
	}
	var err error
	out.limit, err = r.Whole(t.Limit)
	return out, err
}

// rows returns k; limited is false if a parameter is NULL, so that there is no limit.
func (t *topClause) rows(env *scalar.Env) (k int64, limited bool, err error) {
	k = t.literal
	if t.limit != nil {
		values, err := env.Floats(t.limit)
		if err != nil {
			return 0, false, err
		}
		if values[0] == nil {
			return 0, false, nil
		}
		k = int64(math.Min(*values[0], maxGroups+1))
	}
	if k < 0 {
		return 0, false, pgerr.New(pgerr.InvalidLimit, "LIMIT must not be negative").At(t.at)
	}
	return k, true, nil
}
