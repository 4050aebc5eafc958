package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// An ownColumn is a column of a table with which a SELECT computes.
type ownColumn struct {
	table  *pg.RangeVar
	column string
	typ    string // the type of suggested bounds; empty for a public column, whose bounds anybody can look up
	// unknown says that the policy has no bounds.
	unknown bool

	level *pg.SelectStmt // the innermost SELECT that names it
	path  []string       // its name there
}

// ownColumn finds the column of a table that a reference of a SELECT passes on, or is computed from; nil if no such column has bounds, or
// if statements before this one make them.
func (s tables) ownColumn(sel *pg.SelectStmt, ref *pg.Node, depth int) *ownColumn {
	const deepest = 10
	at := lookup{sel, strings.Join(columnPath(ref), "\x00")}
	if depth > deepest || s.boundless[at] {
		return nil
	}
	own := s.searchColumn(sel, ref, depth)
	s.boundless[at] = own == nil
	return own
}

func (s tables) searchColumn(sel *pg.SelectStmt, ref *pg.Node, depth int) *ownColumn {
	name := columnOf(ref)
	item := s.itemOf(sel, ref)
	query := s.queryOf(item)
	if v := item.GetRangeVar(); query == nil && v != nil {
		own := &ownColumn{table: v, column: name, level: sel, path: columnPath(ref)}
		t, _ := s.of(v)
		typ, unknown := s.Suggested(v.Schemaname, v.Relname, name)
		own.typ, own.unknown = unmodified.ReplaceAllString(typ, ""), unknown
		if own.typ == "" && (t.Protected || t.View || !slices.Contains(t.Columns, name)) || s.bounded[own.key()] {
			return nil
		}
		return own
	}
	for _, target := range query.GetTargetList() {
		val := valueOf(target)
		out, known := pgtree.OutputName(target.GetResTarget())
		switch {
		case pgtree.IsStar(val):
			passed := pg.MakeColumnRefNode([]*pg.Node{pg.MakeStrNode(name)}, -1)
			if own := s.ownColumn(query, passed, depth+1); own != nil {
				return own.in(sel, ref)
			}
		case known && out == name && columnOf(val) != "":
			if own := s.ownColumn(query, val, depth+1); own != nil {
				return own.in(sel, ref)
			}
		case known && out == name:
			for _, c := range columnsOf(val) {
				if own := s.ownColumn(query, c, depth+1); own != nil {
					return own
				}
			}
		}
	}
	return nil
}

// in returns the column under the name that it has in a SELECT around sub-selects.
func (c *ownColumn) in(sel *pg.SelectStmt, ref *pg.Node) *ownColumn {
	c.level, c.path = sel, columnPath(ref)
	return c
}

// key tells columns of tables apart.
func (c *ownColumn) key() string {
	return strings.Join([]string{c.table.Schemaname, c.table.Relname, c.column}, "\x00")
}
