package planner

import (
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// Relation writes the constant relation that replaces the block. array returns the text of the array of column i, a literal or a parameter;
// it is not called for a block without columns.
func (q *Query) Relation(block int, array func(column int) string) string {
	b := q.blocks[block]
	var names, cells, arrays []string
	for i, c := range relationColumns(b) {
		arrays = append(arrays, "pg_catalog.unnest(CAST("+array(i)+" AS "+c.elem+"[]))")
		cells = append(cells, c.cell+" AS "+c.name)
		names = append(names, c.name)
	}
	if len(names) == 0 {
		return "(SELECT 1 AS a0)"
	}
	return unnested(cells, arrays, names)
}

// A relationColumn is a column of the relation of a block: its name, the type of the elements of its array, and the expression over an
// element. It is of an aggregate or, with −1, a key or a call of GROUPING.
type relationColumn struct {
	name, elem, cell string
	aggregate        int
}

func relationColumns(b *block) (all []relationColumn) {
	for i, k := range b.keys {
		name := "g" + strconv.Itoa(i+1)
		all = append(all, relationColumn{name, k.typ.SQL(), k.shown("u." + name), -1})
	}
	for i := range b.groupings {
		name := "s" + strconv.Itoa(i+1)
		all = append(all, relationColumn{name, "pg_catalog.int4", "CAST(u." + name + " AS pg_catalog.int4)", -1})
	}
	for i, a := range b.aggregates {
		elem, cast := a.result.SQL(), a.result.SQL()
		if a.array { // an array of arrays cannot be ragged, so each is written as a text
			elem, cast = "pg_catalog.text", cast+"[]"
		}
		name := "a" + strconv.Itoa(i+1)
		all = append(all, relationColumn{name, elem, "CAST(u." + name + " AS " + cast + ")", i})
	}
	return all
}

// unnested writes a sub-select of cells over arrays, whose elements have the names as columns of u.
func unnested(cells, arrays, names []string) string {
	return "(SELECT " + strings.Join(cells, ", ") +
		" FROM ROWS FROM (" + strings.Join(arrays, ", ") + ") AS u(" + strings.Join(names, ", ") + "))"
}

// Concealed returns how many concealed views are left in the rewritten statement.
func (q *Query) Concealed() int { return len(q.stmt.Concealed) }

// ConcealedColumns returns the columns of a concealed view.
func (q *Query) ConcealedColumns(view int) []catalog.Column {
	r := q.stmt.Concealed[view].Resolved
	return q.cat.Source(catalog.Name{Schema: r.Schema, Name: r.Name}).Columns
}

// ConcealedRelation returns a sub-select of the rows of a concealed view. array writes the array of a column, whose elements are texts.
func (q *Query) ConcealedRelation(view int, array func(column int) string) string {
	var names, cells, arrays []string
	for i, c := range q.ConcealedColumns(view) {
		name := "c" + strconv.Itoa(i+1)
		names, arrays = append(names, name), append(arrays, "pg_catalog.unnest(CAST("+array(i)+" AS pg_catalog.text[]))")
		cell := "CAST(u." + name + " AS " + c.Type.Display + ")" + collateAs(c.Collation)
		if c.Type.Kind == 'd' { // as for a key
			cell = "(SELECT " + cell + " WHERE u." + name + " IS NOT NULL)"
		}
		cells = append(cells, cell+" AS "+ast.QuoteIdent(c.Name))
	}
	return unnested(cells, arrays, names)
}

// shown writes a key in its type above the block. A column keeps its domain there: tables made from it have the domain, and set operations
// resolve it differently. A domain may reject NULL, which a group can have for a key, so NULL is not cast.
func (k *key) shown(cell string) string {
	if d := k.typ.Domain; d.Name != "" {
		domain := ast.QuoteIdent(d.Schema) + "." + ast.QuoteIdent(d.Name)
		return "(SELECT CAST(" + cell + " AS " + domain + ")" + collate(k.typ) + " WHERE " + cell + " IS NOT NULL)"
	}
	return "CAST(" + cell + " AS " + k.typ.Modified() + ")" + collate(k.typ)
}

func collate(t pgtype.Type) string { return collateAs(t.Collation) }

func collateAs(c catalog.Name) string {
	if c.Name == "" {
		return ""
	}
	return " COLLATE " + ast.QuoteIdent(c.Schema) + "." + ast.QuoteIdent(c.Name)
}

// Columns returns how many columns the released relation of a block has.
func (q *Query) Columns(block int) int {
	b := q.blocks[block]
	return len(b.keys) + len(b.groupings) + len(b.aggregates)
}

// Blocks returns how many release blocks the query has.
func (q *Query) Blocks() int { return len(q.blocks) }
