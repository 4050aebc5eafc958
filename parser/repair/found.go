package repair

import (
	"fmt"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// An instead collects statements.
type instead struct {
	tables
	found

	at spot
}

// found has statements, each once.
type found []string

func (f *found) add(format string, args ...any) {
	if sql := fmt.Sprintf(format, args...); !slices.Contains(*f, sql) {
		*f = append(*f, sql)
	}
}

// A tables knows the relations of a statement, and its WITH queries.
type tables struct {
	cat  ast.Names
	with *pg.WithClause
	// boundless has the lookups that found no column with bounds. A computed column may use many columns, and each of these as many again.
	boundless map[lookup]bool
}

// A lookup is the lookup of a column in the FROM clause of a SELECT.
type lookup struct {
	sel *pg.SelectStmt
	ref string
}

// A spot is the place of the refused thing in the text; there is none if it is negative.
type spot int32

// levelsAt lists the SELECTs around the refused thing, the innermost first.
func (at spot) levelsAt(sel *pg.SelectStmt) []*pg.SelectStmt {
	var out []*pg.SelectStmt
	everyNodeOf(sel, func(n *pg.Node) {
		if s := n.GetSelectStmt(); s != nil && at.nodeAt(s) != nil {
			out = append(out, s)
		}
	})
	slices.Reverse(out)
	return out
}

// protected reports whether a table has protected rows.
func (i tables) protected(v *pg.RangeVar) bool {
	if v == nil {
		return false
	}
	r, known := i.cat.Relation(v.Schemaname, v.Relname)
	return known && r.Protected
}

// unitOf returns the names of the unit's columns in the tables of a FROM clause.
func (i tables) unitOf(from []*pg.Node) map[string]bool {
	units := map[string]bool{}
	for _, n := range from {
		pgtree.Every(n, func(m *pg.Node) {
			if v := m.GetRangeVar(); v != nil {
				if r, known := i.cat.Relation(v.Schemaname, v.Relname); known && r.Unit != "" && !r.Nobody {
					units[r.Unit] = true
				}
			}
		})
	}
	return units
}
