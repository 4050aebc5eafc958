package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// lacking reports whether a call is of an aggregate that a small group has no value of, or asks for
// the error of one, or weighs one.
func lacking(f *pg.FuncCall) bool {
	if pgtree.IsReport(f) || pgtree.IsWeight(f) {
		inner := f.Args[0].GetFuncCall()
		return inner != nil && lacking(inner)
	}
	switch _, name := pgtree.Callee(f); name {
	case "avg", "min", "max", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp",
		"corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_intercept", "regr_r2", "regr_slope",
		"percentile_cont", "percentile_disc", "mode":
		return true
	}
	return false
}

// canLack reports whether an aggregate is NULL of groups that may be small.
func canLack(n *pg.Node) bool {
	f := pgtree.Unweighed(n).GetFuncCall()
	return f == nil || lacking(f)
}

// whole reports whether an aggregate counts.
func whole(n *pg.Node) bool {
	_, name := pgtree.Callee(pgtree.Unweighed(n).GetFuncCall())
	return name == "count" || name == "regr_count"
}
