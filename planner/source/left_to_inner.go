package source

import "dpproxy/parser/ast"

// LeftToInner: where a foreign key says that each row around has a row that is looked up, and nothing else decides which one that is, the
// join is an inner one. An outer join in FROM could leave the columns NULL that refer to it, and ONLY of a partitioned table has no rows.
func leftToInner(a *applied, l *lookup) (ast.JoinKind, bool) {
	ref, ok := l.tied.(*ast.Column)
	if !ok || len(l.conds) > 1 || l.from.Only && l.table.Source.Kind == 'p' {
		return 0, false
	}
	f, err := a.frame.field(ref)
	if err != nil || f == nil || f.column == nil || f.column.Outer {
		return 0, false
	}
	t, name := a.resolved.stored(f.column)
	return ast.Inner, t != nil && t.Finds(name, l.table.Name, l.key)
}
