package parser

import (
	"slices"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// A PriorResult is the released result of a Prior: rows of texts, nil for NULL.
type PriorResult struct {
	Names, Types []string // of its columns, as SQL
	Rows         [][][]byte
	// Sample says that the rows stand for any: groups are not those of the list.
	Sample bool
}

// Result writes what takes the place of the Prior: a value, a list, a choice, or a query. No rows are one of NULLs where a value is
// needed, and else none.
func (p Prior) Result(r PriorResult) string {
	switch {
	case p.Form == PriorGroups:
		n := len(p.Keys)
		return r.choice(p.Keys, func(row [][]byte) string { return r.constant(n, row[n]) }, r.constant(n, nil))
	case p.Form == PriorRanks && len(p.Keys) == 0:
		return p.Ranking.choice(r, r.Rows[0], 0) + p.Ranking.as
	case p.Form == PriorRanks:
		value := func(row [][]byte) string { return p.Ranking.choice(r, row, len(p.Keys)) }
		return r.choice(p.Keys, value, p.Ranking.none()) + p.Ranking.as
	}
	where := ""
	switch {
	case r.Sample:
		where = " WHERE TRUE"
	case len(r.Rows) == 0:
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
	case p.Form == PriorValue:
		return lines[0]
	case p.Form == PriorList && where == "":
		return values
	}
	names := make([]string, len(r.Names))
	for i, name := range r.Names {
		names[i] = ast.QuoteIdent(name)
	}
	return "SELECT * FROM (" + values + ") AS released(" + strings.Join(names, ", ") + ")" + where
}

// Fits refuses a result of so many rows whose choice would repeat the statement's own expressions beyond what a statement may have.
func (p Prior) Fits(rows int) error {
	repeated := 0
	for _, key := range p.Keys {
		repeated += len(key)
	}
	if p.Ranking != nil {
		repeated += len(p.Ranking.value) * len(p.Ranking.steps)
	}
	if repeated*rows <= maxText {
		return nil
	}
	return pgerr.New(pgerr.StatementTooComplex, "with a released result in it, the statement would be longer than %d bytes", maxText).
		WithHint("Use shorter expressions, or fewer groups.")
}

// constant writes a cell of a column.
func (r PriorResult) constant(column int, cell []byte) string {
	if cell == nil {
		return "CAST(NULL AS " + r.Types[column] + ")"
	}
	return "CAST(" + ast.Quote(string(cell)) + " AS " + r.Types[column] + ")"
}

// choice writes the value of a row's group: of those that are not among them it is NULL. A group whose key has a NULL is that of no row.
func (r PriorResult) choice(keys []string, value func(row [][]byte) string, none string) string {
	var b strings.Builder
	for _, row := range r.Rows {
		if slices.ContainsFunc(row[:len(keys)], func(cell []byte) bool { return cell == nil }) {
			continue
		}
		b.WriteString(" WHEN ")
		for i, key := range keys {
			if i > 0 {
				b.WriteString(" AND ")
			}
			b.WriteString("(" + key + ") = " + r.constant(i, row[i]))
		}
		b.WriteString(" THEN " + value(row))
	}
	if b.Len() == 0 {
		return none
	}
	return "(CASE" + b.String() + " END)"
}
