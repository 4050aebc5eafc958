package planner

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/sqltext"
)

// ownTotal adds up a valueForm by the levels of units.
func (s *stages) ownTotal(keys []string, from string) (*sqltext.Select, error) {
	if h, ok := s.own.(bucketed); ok {
		return s.histogramTotal(h.buckets(), keys, from), nil
	}
	return s.differentTotal(keys, from)
}

// perUnitOf writes PARTITION BY for a unit, in one partition or in all.
func (s *stages) perUnitOf(all bool) string {
	if all {
		return "OVER (PARTITION BY u)"
	}
	return "OVER (PARTITION BY " + strings.Join(s.by(), ", ") + ")"
}

// histogramTotal weights the rows of a unit by the norm of their number in each partition. To a node a
// unit adds the rows that it adds to the buckets below it, so that each level of the tree has
// at most that norm.
func (s *stages) histogramTotal(h histogram, keys []string, from string) *sqltext.Select {
	m := s.read.statistics[0].measure
	squared := s.keyed() && !m.laplace
	sized := s.sized(from, squared)
	length, bits := "GREATEST("+sqltext.Size+", 1)", m.fraction(s.read.statistics[0])
	if squared {
		length, bits = rootUp(sqltext.Size), bits+10
	}
	levelled := &sqltext.Select{
		Columns: append(sqltext.Columns("", append(s.keys(), sqltext.Value, sqltext.Count)...),
			sqltext.Column{SQL: bucket(sqltext.Size, m.Norms[0], squared, true), As: sqltext.Level(0)},
			sqltext.Column{SQL: length, As: sqltext.Length(0)}, sqltext.Column{SQL: sqltext.First}),
		From: &sqltext.Query{Select: sized, As: sqltext.Ranked},
	}
	by := append(s.keys(), sqltext.Level(0))
	buckets := &sqltext.Select{
		Columns: append(sqltext.Columns("", append(slices.Clip(by), sqltext.Value)...),
			sqltext.Column{SQL: "pg_catalog.sum(CAST(n AS pg_catalog.int8))", As: sqltext.Count},
			sqltext.Column{
				SQL: fmt.Sprintf("pg_catalog.sum(n * %s / %s)", int8Literal(int64(1)<<bits), sqltext.Length(0)),
				As:  sqltext.Directions,
			},
			sqltext.Column{SQL: countRows.SQL + " FILTER (WHERE " + sqltext.First + ")", As: sqltext.Units}),
		From: &sqltext.Query{Select: levelled, As: sqltext.Levelled}, GroupBy: append(slices.Clip(by), sqltext.Value),
	}
	counted := &sqltext.Query{Select: buckets, As: sqltext.Histogram}
	if h.tree.Levels() == 1 {
		return &sqltext.Select{
			Columns: append(append(sqltext.Columns("", slices.Concat(keys, []string{sqltext.Level(0), sqltext.Units})...),
				sqltext.Column{SQL: "0"}),
				sqltext.Columns("", sqltext.Value, sqltext.Count, sqltext.Directions)...),
			From: counted,
		}
	}
	return &sqltext.Select{
		Columns: append(sqltext.Columns("", append(slices.Clip(keys), sqltext.Level(0))...),
			sqltext.Column{SQL: "pg_catalog.sum(units) FILTER (WHERE l.level = 0)"}, sqltext.Column{SQL: "l.level"},
			sqltext.Column{SQL: "b / l.divisor", As: "node"}, sqltext.Column{SQL: "pg_catalog.sum(n)"},
			sqltext.Column{SQL: "pg_catalog.sum(" + sqltext.Directions + ")"}),
		From:    &sqltext.Listed{Item: counted, List: h.divisors()},
		GroupBy: append(slices.Clip(by), "l.level", "node"),
	}
}

// sized is the rows of p with the norm of their unit, or its square, as an int8: of a square that is none, and of no
// unit there is, the largest that is told apart.
func (s *stages) sized(from string, squared bool) *sqltext.Select {
	rows := sqltext.Item(&sqltext.Table{SQL: from, As: sqltext.Bounded})
	size := "pg_catalog.sum(n) " + s.perUnitOf(true)
	if squared {
		ofPartition := sqltext.Column{SQL: "pg_catalog.sum(n) " + s.perUnitOf(false), As: sqltext.Order}
		rows = &sqltext.Query{As: sqltext.Bounded, Select: &sqltext.Select{
			Columns: append(sqltext.Columns("", s.by(sqltext.Value, sqltext.Count)...), ofPartition), From: rows,
		}}
		size = fmt.Sprintf("CAST(LEAST(pg_catalog.sum(n * o) %s, %d) AS pg_catalog.int8)", s.perUnitOf(true), narrowSum)
	}
	return &sqltext.Select{
		Columns: append(sqltext.Columns("", append(s.keys(), sqltext.Value, sqltext.Count)...),
			sqltext.Column{SQL: size, As: sqltext.Size}, sqltext.Column{SQL: s.first(), As: sqltext.First}),
		From: rows,
	}
}

// rootUp writes 1024 times the root of a square, rounded up; of the largest one so much that nothing is left of a direction.
func rootUp(square string) string {
	root := "CAST(pg_catalog.ceil(pg_catalog.sqrt(CAST(" + square + " AS pg_catalog.float8)) * 1024) AS pg_catalog.int8) + 1"
	return fmt.Sprintf("CASE WHEN %s < %d THEN %s ELSE %d END", square, narrowSum, root, narrowSum)
}

// fewRows are those of a unit with one value, saturated.
var fewRows = sqltext.Column{
	SQL: fmt.Sprintf("CAST(LEAST(%s, %d) AS pg_catalog.int4)", sqltext.Of(sqltext.UnitGroups, sqltext.Count), maxGroupRows),
	As:  sqltext.Count,
}

// inOrder says that rows are ordered before those of a unit with one value are counted. There are about as many
// of these as rows, and they are needed by their units.
func (s *stages) inOrder() bool {
	_, listed := s.own.(modes)
	return s.own != nil && s.own.perValue() && !listed && !s.set.Private()
}

// ordered writes the rows that count by their unit, the numbers of their keys, and b, in this order.
func (s *stages) ordered(rows sqltext.Item) (sqltext.Item, error) {
	numbers, from, where, err := s.numbered(sqltext.Rows, rows)
	if err != nil {
		return nil, err
	}
	cols, value := sqltext.Columns(sqltext.Rows, sqltext.Unit), sqltext.Of(sqltext.Rows, sqltext.Value)
	for i, k := range s.keys() {
		cols = append(cols, sqltext.Column{SQL: numbers[i], As: k})
	}
	return &sqltext.Query{As: sqltext.Rows, Select: &sqltext.Select{
		Columns: append(slices.Clip(cols), sqltext.Column{SQL: value}), From: from,
		Where:   append(slices.Clip(where), value+" IS NOT NULL"),
		OrderBy: s.by(sqltext.Value), Fence: true,
	}}, nil
}

// differentTotal counts different values. A unit with k of them in a partition, and the norm N of
// all its k, keeps at a limit C the first k·C/N of each, in an order that only the secret knows. The
// r-th is kept from the level on whose limit has C² ≥ r²·N²/k²; a value counts from the least level on at
// which a unit keeps it.
func (s *stages) differentTotal(keys []string, from string) (*sqltext.Select, error) {
	st := s.read.statistics[0]
	m := st.measure
	_, physical, err := s.w.Value(st.terms()[0].arg)
	if err != nil {
		return nil, err
	}
	bytes := canonicalColumns([]pgtype.Type{s.w.Physical(s.sp.b.source.Unit()), physical}, []string{"u", "b"})
	ranked := &sqltext.Select{
		Columns: append(sqltext.Columns("", append(s.by(), sqltext.Value)...),
			sqltext.Column{SQL: "pg_catalog.count(*) " + s.perUnitOf(false), As: sqltext.Count},
			sqltext.Column{SQL: "pg_catalog.row_number() OVER (PARTITION BY " + strings.Join(s.by(), ", ") +
				" ORDER BY " + s.hmac(tagValue, bytes) + ", " + bytes + ")", As: sqltext.Order}),
		From: &sqltext.Table{SQL: from, As: sqltext.Bounded},
	}
	squared := s.keyed() && !m.laplace
	size := "pg_catalog.sum(n) " + s.perUnitOf(true)
	kept := "pg_catalog.div(o * o * %s + CAST(n AS pg_catalog.numeric) * n - 1, CAST(n AS pg_catalog.numeric) * n)" // rounded up
	switch {
	case !s.keyed():
		size, kept = "CAST(n AS pg_catalog.numeric)", "CAST(o AS pg_catalog.numeric)"
	case m.laplace: // Σ k over partitions: each has k rows
		size, kept = "CAST("+countRows.SQL+" "+s.perUnitOf(true)+" AS pg_catalog.numeric)", "pg_catalog.div(o * %s + n - 1, n)"
	}
	if strings.Contains(kept, "%s") {
		kept = fmt.Sprintf(kept, size)
	}
	levelled := &sqltext.Select{
		Columns: append(sqltext.Columns("", append(s.keys(), sqltext.Value)...),
			sqltext.Column{SQL: bucket(size, m.Norms[0], squared, false), As: sqltext.Level(0)},
			sqltext.Column{SQL: bucket(kept, m.Norms[0], squared, false), As: sqltext.Level(1)},
			sqltext.Column{SQL: s.first(), As: sqltext.First}),
		From: &sqltext.Query{Select: ranked, As: sqltext.Ranked},
	}
	return s.differentLevels(keys, levelled), nil
}

// differentLevels counts the values by the least level at which they are kept, and the units by
// theirs.
func (s *stages) differentLevels(keys []string, levelled *sqltext.Select) *sqltext.Select {
	values := &sqltext.Select{
		Columns: append(sqltext.Columns("", append(s.keys(), sqltext.Value)...),
			sqltext.Column{SQL: "pg_catalog.min(" + sqltext.Level(1) + ")", As: sqltext.Level(0)}),
		From: &sqltext.Table{SQL: sqltext.Levelled}, GroupBy: append(s.keys(), sqltext.Value),
	}
	by := append(s.keys(), sqltext.Level(0))
	return &sqltext.Select{
		Columns: append(sqltext.Columns("", append(slices.Clip(keys), sqltext.Level(0))...),
			sqltext.Column{SQL: "NULL"}, sqltext.Column{SQL: countRows.SQL}),
		From: &sqltext.Query{Select: values, As: sqltext.Histogram}, GroupBy: by,
		UnionAll: []*sqltext.Select{{
			Columns: append(sqltext.Columns("", append(slices.Clip(keys), sqltext.Level(0))...),
				sqltext.Column{SQL: countRows.SQL + " FILTER (WHERE " + sqltext.First + ")"}, sqltext.Column{SQL: "NULL"}),
			From: &sqltext.Table{SQL: sqltext.Levelled}, GroupBy: by,
		}},
		With: []sqltext.Named{{Name: sqltext.Levelled, Query: levelled}},
	}
}
