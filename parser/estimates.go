package parser

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// An EstimateCall is a call of dp.local_histogram or dp.local_mean. Its texts are constants or parameters of the statement around it.
type EstimateCall struct {
	// Mean says that it is dp.local_mean.
	Mean            bool
	Table, Question Argument
	// Confidence is the text of a number, empty if there is none.
	Confidence string
	At         int
}

// estimateCalls returns the calls of dp.local_histogram and dp.local_mean anywhere in a statement whose arguments are known
// before it runs. Others are left to Postgres: the functions on the mirror raise.
func estimateCalls(l *locator, stmt *pg.Node) []EstimateCall {
	if !strings.Contains(strings.ToLower(l.text), "local_") {
		return nil
	}
	var calls []EstimateCall
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		if f := n.GetFuncCall(); f != nil {
			if c, ok := estimateCall(l, f); ok {
				calls = append(calls, c)
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

// estimateCall reads a call, by position or by name.
func estimateCall(l *locator, f *pg.FuncCall) (c EstimateCall, ok bool) {
	schema, name := pgtree.Callee(f)
	subjects := map[string]string{"local_histogram": "column", "local_mean": "expression"}
	if schema != "dp" || subjects[name] == "" || len(f.Args) > 3 {
		return c, false
	}
	c.Mean, c.At = name == "local_mean", l.client(int(f.Location)-l.base)
	names := []string{"table", subjects[name], "confidence"}
	for i, n := range f.Args {
		name := names[i]
		if named := n.GetNamedArgExpr(); named != nil {
			name, n = named.Name, named.Arg
		}
		var known bool
		switch name {
		case names[0]:
			c.Table, known = boundArgument(l, n)
		case names[1]:
			c.Question, known = boundArgument(l, n)
		case names[2]:
			c.Confidence, _, known = constantText(n)
			known = known && c.Confidence != ""
		}
		if !known {
			return c, false
		}
	}
	return c, c.Table.Given && c.Question.Given
}

// boundArgument reads a text that is a constant, or a parameter that is bound to one.
func boundArgument(l *locator, n *pg.Node) (a Argument, ok bool) {
	within := n
	for within.GetTypeCast() != nil {
		within = within.GetTypeCast().Arg
	}
	if p := within.GetParamRef(); p != nil {
		return Argument{Param: int(p.Number), Given: true, At: l.client(int(p.Location) - l.base)}, true
	}
	text, isNull, ok := constantText(n)
	if !ok || isNull {
		return a, false
	}
	return argumentOf(l, n, text), true
}
