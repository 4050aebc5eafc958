package replay

import (
	"slices"
	"strconv"
	"strings"

	"dpproxy/parser"
	"dpproxy/parser/lex"
	"dpproxy/parser/marks"
	"dpproxy/planner"
)

// A Statement is the outer query of a statement, as it is evaluated over replicas.
type Statement struct {
	query  *planner.Query
	blocks int
	inner  string // the client's own query, with the names of blocks in their places
	prefix string // of the names, which the query does not have
	width  int    // the columns of all blocks
	marks  marks.Result
	// rounded is how far rounding moves the values of a column.
	rounded map[string]float64
}

// maxColumns bounds the columns that are replayed.
const maxColumns = 90

// NewStatement returns the outer query of a statement that was planned. ok is false if it cannot be replayed: if it is no SELECT, has views
// that are concealed, or columns that the parse tree does not tell.
func NewStatement(stmt *parser.Statement, q *planner.Query, plan *planner.Plan) (s *Statement, ok bool) {
	if len(stmt.Concealed) > 0 {
		return nil, false
	}
	s = &Statement{query: q, blocks: q.Blocks(), prefix: "dp_", rounded: planner.Roundings(plan)}
	for strings.Contains(lex.Lower(stmt.InnerText()), s.prefix) {
		s.prefix += "x_"
	}
	s.inner = stmt.SpliceInner(func(i int) string { return "(SELECT * FROM " + s.block(i) + ")" })
	var blocks []marks.Block
	for i, b := range plan.Blocks {
		blocks = append(blocks, planner.Marked(b, s.block(i)))
		s.width += q.Columns(i)
	}
	s.marks, ok = marks.Of(s.inner, blocks)
	for _, p := range stmt.ErrorPlaces {
		if at := len(s.marks.Columns) - 1 - p.FromEnd; at >= 0 {
			s.marks.Columns[at].Mark = marks.Cell // it tells no rows apart
		}
	}
	return s, ok && len(s.marks.Columns) <= maxColumns
}

func (s *Statement) block(i int) string { return s.prefix + "b" + strconv.Itoa(i) }

// Calls are the names of the functions that the query calls.
func (s *Statement) Calls() []string { return s.marks.Calls }

// Names are those of other things that it uses, behind which functions may stand.
func (s *Statement) Names() []string { return s.marks.Names }

// SQL is a query of one row: an array of JSON arrays of texts, for each row of each replica its number in the batch, its place, its key
// and its cells. $1 is an array of texts, the columns of the blocks of one replica after another, $2 the number of replicas, and $3 the
// columns that are the same in all. The client's own parameters are literals.
//
// Each block is a WITH query in front of the client's text, so that nothing within that text refers to the replica. The list of columns
// makes names unique, and the line break ends a comment.
func (s *Statement) SQL(literals []string, c Cells) string {
	n, outer, text, place := s.prefix+"replica", s.prefix+"outer", s.prefix+"text", s.prefix+"place"
	cells := []string{
		"CAST(" + n + ".n AS pg_catalog.text)", "CAST(" + outer + "." + place + " AS pg_catalog.text)", s.key(outer, outer+"."+place),
	}
	names := s.names()
	for _, name := range names {
		cells = append(cells, "CAST("+outer+"."+name+" AS pg_catalog.text)")
	}
	return "SELECT pg_catalog.json_agg(pg_catalog.to_json(ARRAY[" + strings.Join(cells, ", ") + "])) " +
		"FROM pg_catalog.generate_series(0, $2 - 1) AS " + n + "(n), " +
		"LATERAL (WITH " + strings.Join(s.relations(n, c), ", ") + " SELECT " + text + ".*, pg_catalog.row_number() OVER () AS " + place +
		" FROM (" + bound(s.inner, literals) + "\n) AS " + text + "(" + strings.Join(names, ", ") + ")) AS " + outer
}

// relations are the WITH queries of the blocks, of the replica n.
func (s *Statement) relations(n string, c Cells) (with []string) {
	differing := 0
	for _, p := range c.places {
		if !p.same {
			differing++
		}
	}
	first := 0
	for i := range s.blocks {
		relation := s.query.Relation(i, func(column int) string {
			p := c.places[first+column]
			if p.same {
				return "($3)[" + strconv.Itoa(p.at+1) + "]"
			}
			return "($1)[" + n + ".n * " + strconv.Itoa(differing) + " + " + strconv.Itoa(p.at+1) + "]"
		})
		first += s.query.Columns(i)
		with = append(with, s.block(i)+" AS MATERIALIZED "+relation)
	}
	return with
}

// bound puts literals in the places of parameters.
func bound(sql string, literals []string) string {
	toks, _, err := lex.Scan(sql)
	if err != nil || len(literals) == 0 {
		return sql
	}
	var b strings.Builder
	last := 0
	for _, t := range toks {
		n, err := strconv.Atoi(strings.TrimPrefix(sql[t.Start:t.End], "$"))
		if sql[t.Start] != '$' || err != nil || n < 1 || n > len(literals) {
			continue
		}
		b.WriteString(sql[last:t.Start])
		b.WriteString(literals[n-1])
		last = t.End
	}
	b.WriteString(sql[last:])
	return b.String()
}

// Columns are those of the query.
func (s *Statement) Columns() []marks.Column { return s.marks.Columns }

// Replayed are the names of the columns whose errors are found by replays.
func (s *Statement) Replayed() (all []string) {
	for _, c := range s.marks.Columns {
		switch c.Mark {
		case marks.Noisy, marks.Most, marks.Least, marks.Mixed:
			all = append(all, c.Name)
		case marks.Label, marks.Cell, marks.Unknown:
		}
	}
	return all
}

// names are the columns of the query, as we call them.
func (s *Statement) names() (all []string) {
	for i := range s.marks.Columns {
		all = append(all, "c"+strconv.Itoa(i+1))
	}
	return all
}

// labelled reports whether any column tells rows apart.
func (s *Statement) labelled() bool {
	return slices.ContainsFunc(s.marks.Columns, func(c marks.Column) bool { return c.Mark == marks.Label })
}

// Labels reports whether a column of the query has no noise.
func (s *Statement) Labels(column int) bool { return s.marks.Columns[column].Mark == marks.Label }

// Prefix begins names that a statement does not have.
func (s *Statement) Prefix() string { return s.prefix }

// Key writes the key of a row of the answer, a relation whose columns are called c1, c2 and so on, and, behind them, its place.
func (s *Statement) Key(relation, place string) string { return s.key(relation, relation+"."+place) }

// key writes a text by which a row of the answer is found again: its labels, or, without any, its place.
func (s *Statement) key(relation, place string) string {
	if !s.labelled() {
		return "CAST(" + place + " AS pg_catalog.text)"
	}
	var labels []string
	for i, name := range s.names() {
		if s.marks.Columns[i].Mark == marks.Label {
			labels = append(labels, "CAST("+relation+"."+name+" AS pg_catalog.text)")
		}
	}
	return "pg_catalog.md5(CAST(ROW(" + strings.Join(labels, ", ") + ") AS pg_catalog.text))"
}
