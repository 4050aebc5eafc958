package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// A query of one row without FROM, as WITH params AS (SELECT 5 AS n) or LATERAL (SELECT qty * 2 AS doubled), has names for expressions. So
// has VALUES of one row.

// oneRow returns the targets of such a query of constants; nil of any other.
func oneRow(v *queryConverter, sel *pg.SelectStmt, location int32) []ast.Target {
	if values, names := constantRows(sel); values != nil {
		return rowOfValues(v, values, names, location)
	}
	level := v.a.levels[sel]
	if level == nil || level.kind != public || level.scope.escape >= 0 || !isOneRow(sel) {
		return nil
	}
	return targetsBelow(v, level, &each{scope: level.scope}, sel, location)
}

// laterallyOneRow returns the targets of such a query that refers to the items before it in FROM.
func laterallyOneRow(e *each, v exprConverter, sel *pg.SelectStmt, location int32) []ast.Target {
	level := v.a.levels[sel]
	if level == nil || level.kind != public || level.scope.escape < 0 || level.scope.parent.parent != e.scope || !isOneRow(sel) {
		return nil
	}
	return targetsBelow(v.queryConverter, level, &each{scope: level.scope, repeated: true}, sel, location)
}

func targetsBelow(v *queryConverter, l *level, of *each, sel *pg.SelectStmt, location int32) []ast.Target {
	below := &queryConverter{conversion: v.conversion, level: l, depth: v.depth + 1, each: of}
	if below.depth > maxLevels {
		v.tooLarge(location)
	}
	return below.query(sel, location).Targets
}

// rowOfValues returns the values of VALUES with one row, nil if there are several.
func rowOfValues(v *queryConverter, sel *pg.SelectStmt, names []string, location int32) (row []ast.Target) {
	if len(sel.ValuesLists) > 1 {
		return nil
	}
	v.tail(sel, location)
	for i, cell := range sel.ValuesLists[0].GetList().GetItems() {
		x := exprConverter{v, false}.expr(cell)
		t := ast.Target{X: x, Name: valuesColumn(i), At: v.a.pos(location)}
		if i < len(names) {
			t.Name = names[i]
		}
		row = append(row, t)
	}
	return row
}

// isOneRow reports whether a query has one row, of expressions of its own.
func isOneRow(sel *pg.SelectStmt) bool {
	bare := &pg.SelectStmt{TargetList: sel.TargetList, LimitOption: sel.LimitOption, Op: sel.Op}
	plain := func(n *pg.Node) bool {
		several := false
		pgtree.Every(n, func(m *pg.Node) {
			several = several || pgtree.IsStar(m) || pgtree.ListFunction(m.GetFuncCall()) != "" || pgtree.IsWindowCall(m)
		})
		return !several
	}
	return len(sel.TargetList) > 0 && proto.Equal(bare, sel) && !pgtree.IsAggregated(sel) &&
		!slices.ContainsFunc(sel.TargetList, func(n *pg.Node) bool { return !plain(n) })
}
