package source

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// LeftToInner: where a foreign key says that each row around has a row that is looked up, and nothing else decides which one that is, the
// join is an inner one. An outer join in FROM could leave the columns NULL that refer to it, and ONLY of a partitioned table has no rows.
func leftToInner(a *applied, l *lookup) (ast.JoinKind, bool) {
	ref, ok := l.tied.(*ast.Column)
	if !ok || a.extended || len(l.conds) > 1 || l.from.Only && l.table.Source.Kind == 'p' {
		return 0, false
	}
	f, err := a.frame.field(ref)
	if err != nil || f == nil || f.column == nil {
		return 0, false
	}
	t, name := a.resolved.stored(f.column)
	return ast.Inner, t != nil && t.Finds(name, l.table.Name, l.key)
}

// stored returns the table that a column of a level is of, and its name there; nil if it is computed, or of a query.
func (r *resolved) stored(c *scalar.Column) (*policy.Table, string) {
	home := r.home[c]
	switch {
	case home == nil || home.listed:
		return nil, ""
	case home.rows == nil:
		return home.table, c.Name
	}
	b := home.rows.branches[0]
	below, plain := scalar.PlainColumn(b.targets[slices.Index(home.columns, c)])
	if b.elements == nil || !plain { // elements stand beside the rows of a table as they are
		return nil, ""
	}
	return b.source.stored(below)
}
