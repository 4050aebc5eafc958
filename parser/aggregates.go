package parser

import pg "github.com/pganalyze/pg_query_go/v5"

// isAggregateName knows the aggregates of Postgres by name. A call of any of
// them over protected rows makes a block; which of them can be answered is not
// decided here.
func isAggregateName(name string) bool {
	switch name {
	case "count", "sum", "avg", "min", "max", "any_value",
		"stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp",
		"bool_and", "bool_or", "every", "bit_and", "bit_or", "bit_xor",
		"array_agg", "string_agg", "xmlagg",
		"json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg",
		"json_agg_strict", "jsonb_agg_strict", "json_object_agg_strict", "jsonb_object_agg_strict",
		"json_object_agg_unique", "jsonb_object_agg_unique",
		"json_object_agg_unique_strict", "jsonb_object_agg_unique_strict",
		"corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept",
		"regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy",
		"percentile_cont", "percentile_disc", "mode",
		"range_agg", "range_intersect_agg":
		return true
	}
	return false
}

// callee returns the schema and the name of the called function.
func callee(f *pg.FuncCall) (schema, name string) {
	names, _ := stringsOf(f.Funcname)
	switch len(names) {
	case 0:
		return "", ""
	case 1:
		return "", names[0]
	}
	return names[len(names)-2], names[len(names)-1]
}

// isAggregate reports whether the node is an aggregate call: by name, or since
// its syntax is that of aggregates alone.
func isAggregate(n *pg.Node) bool {
	switch x := n.GetNode().(type) {
	case *pg.Node_FuncCall:
		f := x.FuncCall
		if f.Over != nil {
			return false
		}
		if f.AggStar || f.AggDistinct || f.AggWithinGroup || f.AggFilter != nil || len(f.AggOrder) > 0 {
			return true
		}
		schema, name := callee(f)
		return (schema == "" || schema == "pg_catalog") && isAggregateName(name) || isReport(f) || isWeight(f)
	case *pg.Node_JsonArrayAgg, *pg.Node_JsonObjectAgg:
		return true
	}
	return false
}

// isReport reports whether a call asks for the error of an aggregate: dp.stderr(count(*)).
func isReport(f *pg.FuncCall) bool {
	schema, name := callee(f)
	if schema != "dp" || len(f.Args) == 0 || !isAggregate(f.Args[0]) {
		return false
	}
	_, ok := reports[name]
	return ok
}

// reports are the functions of the schema dp that ask for the error of an aggregate, and whether
// they take a confidence.
var reports = map[string]bool{
	"stderr": false, "noise_scale": false, "error": true, "lower": true, "upper": true, "cut": false, "cut_upper": true,
}

// holds reports whether there is such a node of this query level in the expressions.
func holds(such func(*pg.Node) bool, list ...*pg.Node) bool {
	found := false
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		switch {
		case found:
		case such(n):
			found = true
		case n.GetSubLink() != nil:
			visitNode(n.GetSubLink().Testexpr, visit)
		case n.GetSelectStmt() != nil:
		default:
			children(n, visit)
		}
	}
	visitNodes(list, visit)
	return found
}

// isWeight reports whether a call weighs an aggregate: dp.weight(sum(x), 3).
func isWeight(f *pg.FuncCall) bool { return callsWeight(f) && isAggregate(f.Args[0]) }

// callsWeight reports whether a call is one of dp.weight with an argument.
func callsWeight(f *pg.FuncCall) bool {
	schema, name := callee(f)
	return schema == "dp" && name == "weight" && len(f.GetArgs()) > 0
}

// unweighed returns what a call weighs, and any other node as it is.
func unweighed(n *pg.Node) *pg.Node {
	if f := n.GetFuncCall(); f != nil && isWeight(f) {
		return f.Args[0]
	}
	return n
}

// weighing returns the call of dp.weight in an aggregate call and the aggregate itself, below dp.error and its kin; nil
// if nothing weighs it.
func weighing(n *pg.Node) (weight *pg.FuncCall, of *pg.Node) {
	for f := n.GetFuncCall(); f != nil; f = n.GetFuncCall() {
		switch {
		case isWeight(f):
			weight = f
		case !isReport(f):
			return weight, n
		}
		n = f.Args[0]
	}
	return weight, n
}

// isPlainWeight reports whether a call of dp.weight is of an aggregate and a weight, and nothing else.
func isPlainWeight(f *pg.FuncCall) bool {
	return len(f.Args) == 2 && !f.AggDistinct && f.AggFilter == nil && len(f.AggOrder) == 0 && !f.FuncVariadic
}
