package parser

import (
	"slices"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/pgerr"
)

// A Result is the released result of a binding: rows of texts, nil for NULL.
type Result struct {
	Names, Types []string // of its columns, as SQL
	Rows         [][][]byte
	// Unknown says that the rows stand for others: then NULL is a value that is not known.
	Unknown bool
}

// Constants writes a result for the holes of a binding: a value, a list, a choice, or a query. No rows are one of NULLs where a value is
// needed, and else none.
func (b Binding) Constants(r Result) Constants { return Constants{b.written(r), r.Unknown} }

func (b Binding) written(r Result) string {
	switch {
	case b.As == AsGroups:
		n := len(b.Keys)
		return r.choice(b.Keys, func(row [][]byte) string { return r.constant(n, row[n]) }, r.constant(n, nil))
	case b.As == AsRanks && len(b.Keys) == 0:
		return b.Ranking.choice(r, r.Rows[0], 0) + b.Ranking.as
	case b.As == AsRanks:
		value := func(row [][]byte) string { return b.Ranking.choice(r, row, len(b.Keys)) }
		return r.choice(b.Keys, value, b.Ranking.none()) + b.Ranking.as
	}
	if b.As == AsTable {
		table := "(" + Binding{As: AsRows}.written(r) + ")"
		if b.Alias != "" {
			table += " AS " + ast.QuoteIdent(b.Alias)
		}
		return table
	}
	if b.As == AsArray {
		return r.array(0)
	}
	if len(r.Rows) > maxLines {
		return r.arrays()
	}
	where := ""
	if len(r.Rows) == 0 {
		r.Rows, where = [][][]byte{make([][]byte, len(r.Types))}, " WHERE FALSE"
	}
	lines := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = r.constant(j, cell)
		}
		lines[i] = strings.Join(cells, ", ")
	}
	values := "VALUES (" + strings.Join(lines, "), (") + ")"
	switch {
	case b.As == AsValue:
		return lines[0]
	case b.As == AsList && where == "":
		return values
	}
	return "SELECT * FROM (" + values + ") AS released(" + r.columns() + ")" + where
}

// columns writes the names of the columns.
func (r Result) columns() string {
	names := make([]string, len(r.Names))
	for i, name := range r.Names {
		names[i] = ast.QuoteIdent(name)
	}
	return strings.Join(names, ", ")
}

// maxLines bounds the rows that are written one by one; the columns of more rows are arrays, which are shorter.
const maxLines = 1000

// arrays writes the rows as arrays of the values of each column.
func (r Result) arrays() string {
	lists := make([]string, len(r.Types))
	for i := range r.Types {
		lists[i] = "pg_catalog.unnest(" + r.array(i) + ")"
	}
	return "SELECT * FROM ROWS FROM (" + strings.Join(lists, ", ") + ") AS released(" + r.columns() + ")"
}

// array writes the values of a column.
func (r Result) array(column int) string {
	cells := make([]string, len(r.Rows))
	for n, row := range r.Rows {
		cells[n] = arrayElement(row[column])
	}
	return "CAST(" + ast.Quote("{"+strings.Join(cells, ",")+"}") + " AS " + r.Types[column] + "[])"
}

// Length is about how long the result is in a text.
func (r Result) Length() (n int) {
	for _, row := range r.Rows {
		for i, cell := range row {
			n += len(cell) + len(",")
			if len(r.Rows) <= maxLines {
				n += len("CAST('' AS )") + len(r.Types[i])
			}
		}
	}
	return n
}

// Fits refuses a result of so many rows whose choice would repeat the statement's own expressions beyond what a statement may have.
func (b Binding) Fits(rows int) error {
	repeated := 0
	for _, key := range b.Keys {
		repeated += len(key)
	}
	if b.Ranking != nil {
		repeated += len(b.Ranking.value) * len(b.Ranking.steps)
	}
	if repeated*rows <= lex.MaxText {
		return nil
	}
	return pgerr.New(pgerr.StatementTooComplex, "with a released result in it, the statement would be longer than %d bytes", lex.MaxText).
		WithHint("Use shorter expressions, or fewer groups.")
}

// constant writes a cell of a column.
func (r Result) constant(column int, cell []byte) string {
	if cell == nil {
		return "CAST(NULL AS " + r.Types[column] + ")"
	}
	return "CAST(" + ast.Quote(string(cell)) + " AS " + r.Types[column] + ")"
}

// choice writes the value of a row's group: of those that are not among them it is NULL. A group whose key has a NULL is that of no row.
func (r Result) choice(keys []string, value func(row [][]byte) string, none string) string {
	rows := r.keyed(len(keys))
	if len(rows) == 0 {
		return none
	}
	var b strings.Builder
	b.WriteString("(")
	r.choose(&b, keys, r.order(len(keys)), rows, value)
	b.WriteString(")")
	return b.String()
}

// keyed are the rows without a NULL in their keys, which are the first columns.
func (r Result) keyed(keys int) [][][]byte {
	if r.Unknown {
		return r.Rows
	}
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row [][]byte) bool {
		return slices.ContainsFunc(row[:keys], func(cell []byte) bool { return cell == nil })
	})
}

// order says by which keys rows are told apart, one after the other: those with the fewest values first. It is nil where a value can be
// spelled in several ways, so that rows of one value would not stand together.
func (r Result) order(keys int) []int {
	order, values := make([]int, keys), make([]int, keys)
	rows := r.keyed(keys)
	for i := range order {
		if order[i] = i; keys > 1 && !oneSpelling(r.Types[i]) {
			return nil
		}
		values[i] = len(byCell(rows, i))
	}
	slices.SortStableFunc(order, func(i, j int) int { return values[i] - values[j] })
	return order
}

// oneSpelling reports whether equal values of a type are written alike.
func oneSpelling(typ string) bool {
	return slices.Contains([]string{"int2", "int4", "int8", "bool", "date", "text", "varchar"}, strings.TrimPrefix(typ, "pg_catalog."))
}

// byCell puts rows together that have the same text in a column.
func byCell(rows [][][]byte, column int) (groups [][][][]byte) {
	places := map[string]int{}
	for _, row := range rows {
		i, known := places[string(row[column])]
		if !known {
			i = len(groups)
			places[string(row[column])], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], row)
	}
	return groups
}

// choose writes one CASE for each key in the order, inside that of the key before it, so that the keys that are written and the work for a
// row grow with the values of each key and not with their combinations.
func (r Result) choose(b *strings.Builder, keys []string, order []int, rows [][][]byte, value func(row [][]byte) string) {
	if order == nil {
		r.compareAll(b, keys, rows, value)
		return
	}
	first, then := order[0], order[1:]
	b.WriteString("CASE (" + keys[first] + ")")
	for _, group := range byCell(rows, first) {
		b.WriteString(" WHEN " + r.constant(first, group[0][first]) + " THEN ")
		if len(then) > 0 {
			r.choose(b, keys, then, group, value)
			continue
		}
		b.WriteString(value(group[0]))
	}
	b.WriteString(" END")
}

// compareAll compares all keys for each row.
func (r Result) compareAll(b *strings.Builder, keys []string, rows [][][]byte, value func(row [][]byte) string) {
	b.WriteString("CASE")
	for _, row := range rows {
		for i, key := range keys {
			b.WriteString([]string{" WHEN ", " AND "}[min(i, 1)] + "(" + key + ") = " + r.constant(i, row[i]))
		}
		b.WriteString(" THEN " + value(row))
	}
	b.WriteString(" END")
}

// Different is how many different constants a choice between the rows has, of one value each, that are told apart by the first columns.
func (r Result) Different(keys int) (n int) {
	rows := r.keyed(keys)
	for i := range keys + 1 {
		n += len(byCell(rows, i))
	}
	return n
}
