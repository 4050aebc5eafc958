package source

import (
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
)

// notHere refuses a clause or relation inside a block.
func notHere(at int, hint, format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.NotAllowed, format, args...).At(at).WithHint("%s", hint)
}

// unbounded refuses a relation whose rows nothing bounds.
func unbounded(model *policy.Model, relation string, at int) error {
	return pgerr.New(pgerr.NoContribution, "the policy does not bound how many rows of %q one %s may contribute", relation, model.Unit()).
		At(at).WithHint("The administrator can set max_rows_per_group.")
}

// errEnded refuses an expression over rows whose level is complete.
func errEnded(e ast.Expr) error {
	return pgerr.New(pgerr.Internal, "an expression is resolved after the source of its rows").At(e.Pos())
}
