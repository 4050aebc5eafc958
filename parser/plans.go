package parser

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// A PlanCall is a call of dp.plan, whose argument is the text of a statement: a constant, or
// parameter $Param of the statement around it, 0 if it is a constant.
type PlanCall struct {
	Text  string
	Param int
}

// planCalls returns the calls of dp.plan anywhere in a statement whose argument is known
// before it runs.
func planCalls(text string, stmt *pg.Node) []PlanCall {
	if !strings.Contains(strings.ToLower(text), "plan") {
		return nil
	}
	var calls []PlanCall
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		if f := n.GetFuncCall(); f != nil {
			if schema, name := pgtree.Callee(f); schema == "dp" && name == "plan" && len(f.Args) == 1 {
				if c, ok := planCall(f.Args[0]); ok {
					calls = append(calls, c)
				}
			}
		}
		if sel := n.GetSelectStmt(); sel != nil {
			pgtree.Others(sel.ProtoReflect(), visit)
			return
		}
		pgtree.Children(n, visit)
	}
	pgtree.Visit(stmt, visit)
	return calls
}

// planCall reads the argument, which may be cast to text.
func planCall(n *pg.Node) (PlanCall, bool) {
	if cast := n.GetTypeCast(); cast != nil {
		return planCall(cast.Arg)
	}
	if p := n.GetParamRef(); p != nil {
		return PlanCall{Param: int(p.Number)}, true
	}
	if s, ok := n.GetAConst().GetVal().(*pg.A_Const_Sval); ok {
		return PlanCall{Text: s.Sval.GetSval()}, true
	}
	return PlanCall{}, false
}
