package pgtree

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// ListFunction names the function of a call that lists values: generate_series, or unnest of one array; "" for others.
func ListFunction(call *pg.FuncCall) string {
	if call == nil || call.FuncVariadic || call.AggDistinct || call.AggStar || call.Over != nil {
		return ""
	}
	schema, name := Callee(call)
	switch {
	case schema != "" && schema != "pg_catalog":
	case name == "generate_series", name == "unnest" && len(call.Args) == 1:
		return name
	}
	return ""
}

// ConstantCall returns the call of a function that stands alone in FROM and whose arguments no row decides; nil of others, and of lists
// that a block has as they are written.
func ConstantCall(f *pg.RangeFunction) *pg.FuncCall {
	if f == nil || f.IsRowsfrom || len(f.Functions) != 1 {
		return nil
	}
	items := f.Functions[0].GetList().GetItems()
	if len(items) == 0 || items[0].GetFuncCall() == nil {
		return nil
	}
	call := items[0].GetFuncCall()
	if ListFunction(call) != "" && !f.Ordinality && len(f.Coldeflist) == 0 || slices.ContainsFunc(call.Args, readsRow) {
		return nil
	}
	return call
}

// readsRow reports whether an expression has a column outside of its sub-selects.
func readsRow(n *pg.Node) (reads bool) {
	if n == nil || n.GetSubLink() != nil {
		return false
	}
	Children(n, func(c *pg.Node) { reads = reads || readsRow(c) })
	return reads || n.GetColumnRef() != nil
}
