package pgtree

import pg "github.com/pganalyze/pg_query_go/v5"

// IsAggregateName knows the aggregates of Postgres by name. A call of any of
// them over protected rows makes a block; which of them can be answered is not
// decided here.
func IsAggregateName(name string) bool {
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

// Callee returns the schema and the name of the called function.
func Callee(f *pg.FuncCall) (schema, name string) {
	names, _ := Strings(f.Funcname)
	switch len(names) {
	case 0:
		return "", ""
	case 1:
		return "", names[0]
	}
	return names[len(names)-2], names[len(names)-1]
}

// IsAggregate reports whether the node is an aggregate call: by name, or since
// its syntax is that of aggregates alone.
func IsAggregate(n *pg.Node) bool {
	switch x := n.GetNode().(type) {
	case *pg.Node_FuncCall:
		f := x.FuncCall
		if f.Over != nil {
			return false
		}
		if f.AggStar || f.AggDistinct || f.AggWithinGroup || f.AggFilter != nil || len(f.AggOrder) > 0 {
			return true
		}
		schema, name := Callee(f)
		return (schema == "" || schema == "pg_catalog") && IsAggregateName(name) || IsReport(f) || IsWeight(f)
	case *pg.Node_JsonArrayAgg, *pg.Node_JsonObjectAgg:
		return true
	}
	return false
}

// IsReport reports whether a call asks for the error of an aggregate: dp.stderr(count(*)).
func IsReport(f *pg.FuncCall) bool {
	schema, name := Callee(f)
	if schema != "dp" || len(f.Args) == 0 || !IsAggregate(f.Args[0]) {
		return false
	}
	_, ok := Reports[name]
	return ok
}

// Reports are the functions of the schema dp that ask for the error of an aggregate, and whether
// they take a confidence.
var Reports = map[string]bool{
	"stderr": false, "noise_scale": false, "error": true, "lower": true, "upper": true, "cut": false, "cut_upper": true,
}

// Holds reports whether there is such a node of this query level in the expressions.
func Holds(such func(*pg.Node) bool, list ...*pg.Node) bool {
	found := false
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		switch {
		case found:
		case such(n):
			found = true
		case n.GetSubLink() != nil:
			Visit(n.GetSubLink().Testexpr, visit)
		case n.GetSelectStmt() != nil:
		default:
			Children(n, visit)
		}
	}
	VisitAll(list, visit)
	return found
}

// IsWeight reports whether a call weighs an aggregate: dp.weight(sum(x), 3).
func IsWeight(f *pg.FuncCall) bool { return CallsWeight(f) && IsAggregate(f.Args[0]) }

// CallsWeight reports whether a call is one of dp.weight with an argument.
func CallsWeight(f *pg.FuncCall) bool {
	schema, name := Callee(f)
	return schema == "dp" && name == "weight" && len(f.GetArgs()) > 0
}

// Unweighed returns what a call weighs, and any other node as it is.
func Unweighed(n *pg.Node) *pg.Node {
	if f := n.GetFuncCall(); f != nil && IsWeight(f) {
		return f.Args[0]
	}
	return n
}

// Weighing returns the call of dp.weight in an aggregate call and the aggregate itself, below dp.error and its kin; nil
// if nothing weighs it.
func Weighing(n *pg.Node) (weight *pg.FuncCall, of *pg.Node) {
	for f := n.GetFuncCall(); f != nil; f = n.GetFuncCall() {
		switch {
		case IsWeight(f):
			weight = f
		case !IsReport(f):
			return weight, n
		}
		n = f.Args[0]
	}
	return weight, n
}

// IsPlainWeight reports whether a call of dp.weight is of an aggregate and a weight, and nothing else.
func IsPlainWeight(f *pg.FuncCall) bool {
	return len(f.Args) == 2 && !f.AggDistinct && f.AggFilter == nil && len(f.AggOrder) == 0 && !f.FuncVariadic
}
