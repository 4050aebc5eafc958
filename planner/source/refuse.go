package source

import (
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// notHere refuses a clause or relation inside a block.
func notHere(at int, hint, format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.NotAllowed, format, args...).At(at).WithHint("%s", hint)
}

// errEnded refuses an expression over rows whose level is complete.
func errEnded(e ast.Expr) error {
	return pgerr.New(pgerr.Internal, "an expression is resolved after the source of its rows").At(e.Pos())
}
