package planner

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// Released is what came out of a grouping set: integers with noise, one row for each partition
// that is shown. The rows of one with public keys are all of its partitions, in
// order; those of private keys are in the order of their keys.
type Released struct {
	Keys [][]*string // of each row, in the order of the set; nil if they are public
	Rows [][]*big.Int
	// Margins are how far the integers of each row may be off, where a chain ended; nil
	// where the mechanisms of the plan tell.
	Margins [][]Margin
}

// integers are those of one row with what is known of their noise.
type integers struct {
	ints    []*big.Int
	margins []Margin // nil: the mechanisms of the plan tell
}

func (r *Released) integers() []integers {
	out := make([]integers, len(r.Rows))
	for i, row := range r.Rows {
		out[i].ints = row
		if r.Margins != nil {
			out[i].margins = r.Margins[i]
		}
	}
	return out
}

// Columns returns the released relation as text arrays, one for each column: grouping
// keys, calls of GROUPING, and aggregates computed from released integers. A grouping set that
// reads nothing has nil for its Released.
func (b *BlockPlan) Columns(released []*Released) []string {
	var keys, groupings, outputs [][]*string
	keys = make([][]*string, len(b.block.keys))
	groupings = make([][]*string, len(b.block.groupings))
	outputs = make([][]*string, len(b.block.aggregates))
	consistent := b.consistent(released)
	for i, p := range b.Sets {
		var rows []integers
		if consistent[i] != nil {
			rows = consistent[i].integers()
		}
		for row := range p.rows(released[i]) {
			p.appendKeys(keys, p.keysOf(released[i], row))
			for g, args := range b.block.groupings {
				text := strconv.Itoa(p.grouping(args))
				groupings[g] = append(groupings[g], &text)
			}
			for o := range outputs {
				outputs[o] = append(outputs[o], p.text(o, rows[row]))
			}
		}
	}
	var arrays []string
	for _, cells := range append(append(keys, groupings...), outputs...) {
		arrays = append(arrays, ArrayText(cells))
	}
	return arrays
}

// rows returns how many rows the grouping set shows.
func (p *GroupingSet) rows(r *Released) int {
	if r == nil || r.Keys == nil {
		return p.size
	}
	return len(r.Rows)
}

func (p *GroupingSet) keysOf(r *Released, row int) []*string {
	if r == nil || r.Keys == nil {
		return p.publicKeys(row)
	}
	return r.Keys[row]
}

// appendKeys adds a row of keys; those that the set lacks are NULL.
func (p *GroupingSet) appendKeys(columns [][]*string, keys []*string) {
	for k := range columns {
		var cell *string
		for i, in := range p.keys {
			if in == k {
				cell = keys[i]
			}
		}
		columns[k] = append(columns[k], cell)
	}
}

// grouping is the value of GROUPING over keys: a bit for each key that the set lacks.
func (p *GroupingSet) grouping(args []int) int {
	n := 0
	for _, k := range args {
		n *= 2
		if !slices.Contains(p.keys, k) {
			n++
		}
	}
	return n
}

// Relation writes the constant relation that takes the block's place; array
// returns the text of column i's array, a literal or a parameter. An array of a
// block without columns is never asked for.
func (q *Query) Relation(block int, array func(column int) string) string {
	b := q.blocks[block]
	var names, cells, arrays []string
	column := func(name, elem, cell string) {
		arrays = append(arrays, "pg_catalog.unnest(CAST("+array(len(arrays))+" AS "+elem+"[]))")
		cells = append(cells, cell+" AS "+name)
		names = append(names, name)
	}
	for i, k := range b.keys {
		name := "g" + strconv.Itoa(i+1)
		column(name, k.typ.SQL(), k.shown("u."+name))
	}
	for i := range b.groupings {
		name := "s" + strconv.Itoa(i+1)
		column(name, "pg_catalog.int4", "CAST(u."+name+" AS pg_catalog.int4)")
	}
	for i, a := range b.aggregates {
		elem, cast := a.result.SQL(), a.result.SQL()
		if a.array { // an array of arrays cannot be ragged: each is the text of one
			elem, cast = "pg_catalog.text", cast+"[]"
		}
		name := "a" + strconv.Itoa(i+1)
		column(name, elem, "CAST(u."+name+" AS "+cast+")")
	}
	if len(names) == 0 {
		return "(SELECT 1 AS a0)"
	}
	return "(SELECT " + strings.Join(cells, ", ") + " FROM ROWS FROM (" + strings.Join(arrays, ", ") + ") AS u(" + strings.Join(names, ", ") + "))"
}

// Concealed returns how many views are left in the rewritten statement whose queries no
// analyst may see.
func (q *Query) Concealed() int { return len(q.stmt.Concealed) }

// ConcealedColumns returns the columns of such a view.
func (q *Query) ConcealedColumns(view int) []catalog.Column {
	r := q.stmt.Concealed[view].Resolved
	return q.cat.Source(catalog.Name{Schema: r.Schema, Name: r.Name}).Columns
}

// ConcealedRelation returns the sub-select of the rows of such a view. Array writes the
// array of a column, whose elements are texts.
func (q *Query) ConcealedRelation(view int, array func(column int) string) string {
	var names, cells, arrays []string
	for i, c := range q.ConcealedColumns(view) {
		name := "c" + strconv.Itoa(i+1)
		names, arrays = append(names, name), append(arrays, "pg_catalog.unnest(CAST("+array(i)+" AS pg_catalog.text[]))")
		cell := "CAST(u." + name + " AS " + c.Type.Display + ")" + collateAs(c.Collation)
		if c.Type.Kind == 'd' { // as of a key
			cell = "(SELECT " + cell + " WHERE u." + name + " IS NOT NULL)"
		}
		cells = append(cells, cell+" AS "+ast.QuoteIdent(c.Name))
	}
	return "(SELECT " + strings.Join(cells, ", ") + " FROM ROWS FROM (" + strings.Join(arrays, ", ") + ") AS u(" + strings.Join(names, ", ") + "))"
}

// shown writes a key in the type that it has above the block: a column keeps its domain
// there, which tables made of it have, and which set operations resolve differently. A
// domain need not take the NULL that a group can have for a key, so that no NULL is cast.
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

// ArrayText writes an array literal of Postgres; nil elements are NULL.
func ArrayText(cells []*string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, c := range cells {
		if i > 0 {
			b.WriteByte(',')
		}
		if c == nil {
			b.WriteString("NULL")
			continue
		}
		b.WriteByte('"')
		b.WriteString(arrayEscaper.Replace(*c))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var arrayEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
