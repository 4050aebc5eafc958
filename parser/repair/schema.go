package repair

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// A Schema knows the tables and views that rules ask about. It names nothing that analysts cannot see.
type Schema interface {
	// Table returns the table or view of a name; the schema is empty if the client wrote none.
	Table(schema, name string) (t Table, known bool)
	// Suggested returns the type of a column whose bounds can be suggested, empty of any other, and whether the policy has no bounds of it.
	Suggested(schema, table, column string) (typ string, unknown bool)
}

// A Table is a table or a view.
type Table struct {
	Columns   []string
	Protected bool
	View      bool
	// Unit is the column of the privacy unit, empty if there is none, or if it is NULL in some rows.
	Unit string
	// Keys are columns of each of which no two rows have the same value, and none has NULL.
	Keys []string
	// Parents are the keys of other tables that have the value of each row in a column.
	Parents map[string]Key
	// Ways are the keys of several columns by which rows lead to rows of people.
	Ways []Way
}

// A Way leads from columns of a table to the key of another one.
type Way struct {
	Columns, Keys []string
	To            Key // without a column
}

// A Key is a column of another table.
type Key struct{ Schema, Table, Column string }

// valued returns a column that has a value in every row, if analysts can name such a column: the unit, or a key. Otherwise it returns any
// column, and nothing if there is none.
func (t Table) valued() string {
	for _, name := range slices.Concat([]string{t.Unit}, t.Keys, t.Columns) {
		if name != "" {
			return name
		}
	}
	return ""
}

// A tables knows the tables of a statement, and its WITH queries.
type tables struct {
	Schema
	ctes *pg.WithClause
	// bounded are the columns that have bounds from statements before this one.
	bounded map[string]bool
	// boundless has the lookups that found no column with bounds. A computed column may use many columns, and each of these as many again.
	boundless map[lookup]bool
}

// A lookup is the lookup of a column in the FROM clause of a SELECT.
type lookup struct {
	sel *pg.SelectStmt
	ref string
}

// of returns the table that an item of FROM names.
func (s tables) of(v *pg.RangeVar) (t Table, known bool) {
	if v == nil {
		return Table{}, false
	}
	return s.Table(v.Schemaname, v.Relname)
}

// protected reports whether a table has protected rows.
func (s tables) protected(v *pg.RangeVar) bool {
	t, known := s.of(v)
	return known && t.Protected
}

// unitOf returns the names of the unit's columns in the tables of a FROM clause.
func (s tables) unitOf(from []*pg.Node) map[string]bool {
	units := map[string]bool{}
	for _, n := range from {
		pgtree.Every(n, func(m *pg.Node) {
			if t, known := s.of(m.GetRangeVar()); known && t.Unit != "" {
				units[t.Unit] = true
			}
		})
	}
	return units
}

// queryOf returns the query of a sub-select, or of a WITH query that an item of FROM names; nil for a table.
func (s tables) queryOf(item *pg.Node) (query *pg.SelectStmt) {
	if sub := item.GetRangeSubselect(); sub != nil {
		return sub.Subquery.GetSelectStmt()
	}
	if v := item.GetRangeVar(); v != nil && v.Schemaname == "" {
		for _, c := range s.ctes.GetCtes() {
			if cte := c.GetCommonTableExpr(); cte.GetCtename() == v.Relname {
				query = cte.Ctequery.GetSelectStmt()
			}
		}
	}
	return query
}

// itemOf returns the item of FROM that has a column: the item with its qualifier, or the only item with such a column.
func (s tables) itemOf(sel *pg.SelectStmt, ref *pg.Node) (found *pg.Node) {
	path := columnPath(ref)
	if len(path) == 0 {
		return nil
	}
	for _, item := range itemsOf(sel.FromClause) {
		alias, has := s.described(item, path[len(path)-1])
		if len(path) > 1 && path[len(path)-2] == alias {
			return item
		}
		if len(path) == 1 && has {
			found = item
		}
	}
	return found
}

// described returns the name of an item of FROM, and whether the item has a column.
func (s tables) described(item *pg.Node, column string) (alias string, has bool) {
	alias, query := item.GetRangeSubselect().GetAlias().GetAliasname(), s.queryOf(item)
	if v := item.GetRangeVar(); v != nil {
		alias = aliasOf(v)
		t, known := s.of(v)
		has = query == nil && known && slices.Contains(t.Columns, column)
	}
	return alias, has || s.shows(query, column, map[*pg.SelectStmt]bool{})
}

// shows reports whether a sub-select has a column: by its name, or by a star over items that have it. It looks at each sub-select once.
func (s tables) shows(query *pg.SelectStmt, column string, seen map[*pg.SelectStmt]bool) bool {
	if seen[query] {
		return false
	}
	seen[query] = true
	for _, t := range query.GetTargetList() {
		name, known := pgtree.OutputName(t.GetResTarget())
		if known && name == column {
			return true
		}
		if !pgtree.IsStar(t.GetResTarget().GetVal()) {
			continue
		}
		for _, item := range itemsOf(query.FromClause) {
			below := s.queryOf(item)
			table, named := s.of(item.GetRangeVar())
			if below == nil && (item.GetRangeVar() == nil || named && slices.Contains(table.Columns, column)) ||
				below != nil && s.shows(below, column, seen) {
				return true
			}
		}
	}
	return false
}

// keys returns the expressions of GROUP BY, including those named by position or alias.
func (s tables) keys(sel *pg.SelectStmt) (keys []*pg.Node) {
	for _, g := range sel.GroupClause {
		if k, ok := pgtree.Position(g); ok {
			if k < 1 || k > len(sel.TargetList) {
				return nil
			}
			g = sel.TargetList[k-1].GetResTarget().GetVal()
		} else if path := columnPath(g); len(path) == 1 && s.itemOf(sel, g) == nil {
			if t := pgtree.TargetNamed(sel, path[0]); t != nil {
				g = t.Val
			}
		}
		keys = append(keys, g)
	}
	return keys
}
