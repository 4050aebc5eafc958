package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// TestPolicyIsRead finds what a policy can say and nothing looks at: fields of the exported structs of config, and of those in
// planner/policy that it fills. A field counts as read where its name is selected, of whatever value, but to set it or to take its
// address, so that a name which other types have too may hide one that is not.
func TestPolicyIsRead(t *testing.T) {
	var fields []string
	read := map[string]bool{}
	eachFile(t, func(name, pkg string, f *ast.File) {
		if pkg == "config" || name == "planner/policy/policy.go" {
			fields = append(fields, exportedFields(f)...)
		}
		selected(f, read)
	})
	if len(fields) < 80 {
		t.Errorf("only %d fields were found", len(fields))
	}
	for _, field := range fields {
		if !read[field] {
			t.Errorf("nothing reads %s of a policy", field)
		}
	}
}

func TestUnreadFieldsAreSeen(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", `package p
type Policy struct { Read, Written, Unread int; own int }
type other struct { Unseen int }
func f(p Policy) int { p.Written = 3; q := Policy{Unread: p.own}; set(&q.Unread); return p.Read }`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if fields := exportedFields(f); !slices.Equal(fields, []string{"Read", "Written", "Unread"}) {
		t.Errorf("the fields are %v", fields)
	}
	read := map[string]bool{}
	if selected(f, read); !read["Read"] || read["Written"] || read["Unread"] {
		t.Errorf("read are %v", read)
	}
}

// exportedFields are those of the exported structs of a file.
func exportedFields(f *ast.File) (fields []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, list := range s.Fields.List {
				for _, name := range list.Names {
					if name.IsExported() {
						fields = append(fields, name.Name)
					}
				}
			}
		}
		return false
	})
	return fields
}

// selected marks the names that are selected to be read, and not to be set.
func selected(f *ast.File, read map[string]bool) {
	set := map[*ast.SelectorExpr]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if s, ok := left.(*ast.SelectorExpr); ok && n.Tok == token.ASSIGN {
					set[s] = true
				}
			}
		case *ast.UnaryExpr:
			if s, ok := n.X.(*ast.SelectorExpr); ok && n.Op == token.AND {
				set[s] = true
			}
		case *ast.SelectorExpr:
			if !set[n] {
				read[n.Sel.Name] = true
			}
		}
		return true
	})
}
