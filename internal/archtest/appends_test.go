package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// TestAppends finds slices that are appended to under one name and kept under another: two
// such share an array where there is room in it, and the one overwrites what the other ends with.
// slices.Concat, and append to slices.Clip(x), make a slice of their own. Allowed are x = append(x, …), also where a
// call around it gives x back, and the append that a function returns: its caller takes it in the place of its argument.
func TestAppends(t *testing.T) {
	eachFile(t, func(name, _ string, f *ast.File) {
		for _, call := range sharedAppends(f) {
			t.Errorf("%s: append to %s, which goes on under its name; write slices.Concat or slices.Clip", name,
				types.ExprString(call.Args[0]))
		}
	})
}

func TestAppendsAreSeen(t *testing.T) {
	for text, want := range map[string]int{
		"x = append(x, 1)":                                 0,
		"x.list = append(x.list, 1)":                       0,
		"x = append(x[:0], 1)":                             0,
		"x = wrap(append(x, 1), 2)":                        0,
		"set(&x, append(x, 1))":                            0,
		"set(&y, append(x, 1))":                            1,
		"y := append(x, 1)":                                1,
		"y := append(x.list, 1)":                           1,
		"use(append(x, 1))":                                1,
		"y := wrap(append(append(x, 1), 2))":               1,
		"y := append(slices.Clip(x), 1)":                   0,
		"y := append(x[:1:1], 1)":                          0,
		"y := append([]int{1}, x...)":                      0,
		"return append(x, 1)":                              0,
		"return append(append(x, 1), 2)":                   0,
		"return &query{by: append(x, 1)}":                  1,
		"return wrap(append(x, 1))":                        1,
		"x, y = append(x, 1), append(y, 2)":                0,
		"x, y = append(y, 1), append(x, 2)":                2,
		"for range 3 { f := func() { y = append(x, 1) } }": 1,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package p\nfunc f() {\n"+text+"\n}\n", 0)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := len(sharedAppends(f)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// sharedAppends are the calls of append whose first argument is a name, and whose result has another.
func sharedAppends(f *ast.File) (out []*ast.CallExpr) {
	back := map[*ast.CallExpr]bool{} // whose result takes the place of the argument
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				for call := appended(result); call != nil; call = appended(call.Args[0]) {
					back[call] = true
				}
			}
		case *ast.AssignStmt:
			takenBack(n, back)
		case *ast.CallExpr:
			setThrough(n, back)
		}
		return true
	})
	ast.Inspect(f, func(n ast.Node) bool {
		if call := appended(n); call != nil && named(call.Args[0]) && !back[call] {
			out = append(out, call)
		}
		return true
	})
	return out
}

// takenBack marks the appends to what the same assignment sets.
func takenBack(a *ast.AssignStmt, back map[*ast.CallExpr]bool) {
	for i, right := range a.Rhs {
		set := a.Lhs
		if len(a.Lhs) == len(a.Rhs) {
			set = a.Lhs[i : i+1]
		}
		ast.Inspect(right, func(n ast.Node) bool {
			if _, function := n.(*ast.FuncLit); function {
				return false
			}
			if call := appended(n); call != nil && slices.ContainsFunc(set, func(e ast.Expr) bool {
				return types.ExprString(e) == types.ExprString(whole(call.Args[0]))
			}) {
				back[call] = true
			}
			return true
		})
	}
}

// setThrough marks the appends to x in a call that is given &x, in which to keep what comes of them.
func setThrough(call *ast.CallExpr, back map[*ast.CallExpr]bool) {
	for _, a := range call.Args {
		address, ok := a.(*ast.UnaryExpr)
		if !ok || address.Op != token.AND {
			continue
		}
		for _, b := range call.Args {
			if inner := appended(b); inner != nil && types.ExprString(inner.Args[0]) == types.ExprString(address.X) {
				back[inner] = true
			}
		}
	}
}

// whole is the slice that an expression is a part of.
func whole(e ast.Expr) ast.Expr {
	if part, ok := e.(*ast.SliceExpr); ok {
		return whole(part.X)
	}
	return e
}

// appended is the call of append that a node is, or nil.
func appended(n ast.Node) *ast.CallExpr {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != "append" {
		return nil
	}
	return call
}

// named reports whether an expression is a variable, a field, or a part of one whose room is not bounded.
func named(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name != "nil"
	case *ast.SelectorExpr:
		return !strings.Contains(types.ExprString(e), "(")
	case *ast.SliceExpr:
		return !e.Slice3 && named(e.X)
	case *ast.IndexExpr:
		return named(e.X)
	}
	return false
}
