package planner

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/sqltext"
)

// stages writes the SQL of one read. A read of plain statistics has one row for each unit
// and partition; one of a valueForm has a row for each value b as well.
type stages struct {
	*reader
	read *Read
	own  valueForm // nil for plain statistics
}

func (s *stages) statement() (*sqltext.Select, error) {
	if s.set.contribution.unique {
		return s.once()
	}
	s.read.Ordered = s.extra() == nil && s.sp.unitOrdered()
	with, from := []sqltext.Named{}, sqltext.Bounded
	stage := func(name string, write func() (*sqltext.Select, error)) error {
		q, err := write()
		with = append(with, sqltext.Named{Name: name, Query: q})
		return err
	}
	if err := stage(sqltext.UnitGroups, s.perUnit); err != nil {
		return nil, err
	}
	if s.chooses() {
		with = append(with, sqltext.Named{Name: sqltext.ManyRows, Query: s.manyRows()})
	}
	if err := stage(sqltext.Bounded, s.bounded); err != nil {
		return nil, err
	}
	if s.set.contribution.choosesPartitions {
		with = append(with, sqltext.Named{Name: sqltext.ManyPartitions, Query: s.manyPartitions()})
		if err := stage(sqltext.Kept, s.kept); err != nil {
			return nil, err
		}
		from = sqltext.Kept
	}
	keys, err := s.shown()
	if err != nil {
		return nil, err
	}
	q := s.total(keys, &sqltext.Table{SQL: from})
	q.With = with
	return q, nil
}

// extra names the column beside the keys, or nothing.
func (s *stages) extra() []string {
	if s.own != nil {
		return []string{sqltext.Value}
	}
	return nil
}

// by lists the unit, the keys and further columns.
func (s *stages) by(further ...string) []string {
	return slices.Concat([]string{sqltext.Unit}, s.keys(), further)
}

// source writes the rows, with the b of a valueForm: NULL in rows that do not count. Such
// rows take part in the choice of rows and partitions nevertheless, which is the same for all
// statistics.
func (s *stages) source(whole bool) (sqltext.Item, error) {
	q, err := s.rows(whole)
	if err != nil {
		return nil, err
	}
	rows := &sqltext.Query{Select: q, As: sqltext.Rows}
	if s.own == nil {
		return rows, nil
	}
	st := s.read.statistics[0]
	cond := s.column(st.terms()[0].arg) + " IS NOT NULL"
	if st.filter != nil {
		cond += " AND " + s.filter(st)
	}
	b, err := s.own.value(s.reader)
	return &sqltext.Query{As: sqltext.Rows, Select: &sqltext.Select{
		Columns: []sqltext.Column{{SQL: "r.*"}, {SQL: "CASE WHEN " + cond + " THEN " + b + " END", As: sqltext.Value}},
		From:    rows,
	}}, err
}

func (s *stages) filter(st *statistic) string { return sqltext.Filter(indexOf(s.filters, st.filter)) }

// perUnit is g: the rows, values and sums of each unit in each partition.
func (s *stages) perUnit() (*sqltext.Select, error) {
	from, err := s.source(false)
	if err != nil {
		return nil, err
	}
	return s.counted(from, s.by(s.extra()...))
}

// counted writes the statistics of groups of rows.
func (s *stages) counted(from sqltext.Item, by []string) (*sqltext.Select, error) {
	sums, err := s.sums()
	return &sqltext.Select{
		Columns: slices.Concat(sqltext.Columns("", by...), []sqltext.Column{countRows}, sums),
		From:    from, GroupBy: by,
	}, err
}

// sums writes plain statistics over rows.
func (s *stages) sums() ([]sqltext.Column, error) {
	if s.own != nil {
		return nil, nil
	}
	var out []sqltext.Column
	for i, st := range s.read.statistics {
		x, err := st.ofRows(s.reader)
		if err != nil {
			return nil, err
		}
		if st.filter != nil {
			x += " FILTER (WHERE " + s.filter(st) + ")"
		}
		out = append(out, sqltext.Column{SQL: x, As: sqltext.Statistic(i)})
	}
	return out, nil
}

// ofUnit writes a plain statistic of one unit and partition within its sensitivity (S15).
func ofUnit(st *statistic, i int) sqltext.Column {
	x := sqltext.Statistic(i)
	limit := st.sensitivity.LInf
	if st.counts() {
		return sqltext.Column{SQL: fmt.Sprintf("LEAST(%s, %d)", x, limit), As: x}
	}
	return sqltext.Column{SQL: fmt.Sprintf("CAST(LEAST(GREATEST(COALESCE(%s, 0), -%d), %d) AS pg_catalog.int8)", x, limit, limit), As: x}
}

// chooses reports whether it matters which rows of a unit are kept: not when rows are
// only counted, nor when dp.max_sum bounds the sum of a unit.
func (s *stages) chooses() bool {
	c := s.set.contribution
	return c.choosesRows && slices.ContainsFunc(s.read.statistics, func(st *statistic) bool { return st.choosesRows(c, st.filter != nil) })
}

// manyRows is x: the units of which rows are chosen.
func (s *stages) manyRows() *sqltext.Select {
	rows := s.set.contribution.Rows
	many := &sqltext.Select{Columns: sqltext.Columns("", sqltext.Unit), From: &sqltext.Table{SQL: sqltext.UnitGroups}}
	if s.extra() == nil {
		many.Where = []string{fmt.Sprintf("n > %d", rows)}
	} else {
		many.GroupBy, many.Having = s.by(), fmt.Sprintf("pg_catalog.sum(n) > %d", rows)
	}
	return &sqltext.Select{Distinct: true, Columns: sqltext.Columns("", sqltext.Unit), From: &sqltext.Query{Select: many, As: "over"}}
}

// bounded is p: within the limits of rows, with public keys numbered.
func (s *stages) bounded() (*sqltext.Select, error) {
	var from sqltext.Item = &sqltext.Table{SQL: sqltext.UnitGroups}
	if s.chooses() {
		var err error
		if from, err = s.chosen(); err != nil {
			return nil, err
		}
	}
	numbers, from, where, err := s.numbered(sqltext.UnitGroups, from)
	if err != nil {
		return nil, err
	}
	cols := sqltext.Columns(sqltext.UnitGroups, sqltext.Unit)
	for i, k := range s.keys() {
		cols = append(cols, sqltext.Column{SQL: numbers[i], As: k})
	}
	switch {
	case s.own == nil:
		for i, st := range s.read.statistics {
			cols = append(cols, ofUnit(st, i))
		}
	case s.own.perValue():
		cols = append(cols, sqltext.Columns(sqltext.UnitGroups, sqltext.Value, sqltext.Count)...)
	default:
		cols = append(cols, sqltext.Columns(sqltext.UnitGroups, sqltext.Value)...)
	}
	return &sqltext.Select{Columns: cols, From: from, Where: where}, nil
}

// chosen writes g with the units of x replaced by those of their chosen rows.
func (s *stages) chosen() (sqltext.Item, error) {
	some, err := s.chosenRows()
	if err != nil {
		return nil, err
	}
	return &sqltext.Query{As: sqltext.UnitGroups, Select: &sqltext.Select{
		Columns: sqltext.Columns("", "*"), From: &sqltext.Table{SQL: sqltext.UnitGroups},
		Where: []string{sqltext.NotAmong(sqltext.ManyRows)}, UnionAll: []*sqltext.Select{some},
	}}, nil
}

// chosenRows chooses the rows of the units in x. If an index finds them, the rows of each unit are
// looked up: the time then tells of a unit in x, by as many rows as are its own. Without
// one all rows are read again, whether x has a unit or not.
func (s *stages) chosenRows() (*sqltext.Select, error) {
	from, err := s.source(true)
	if err != nil {
		return nil, err
	}
	s.read.lookup = s.sp.unitIndexed()
	if !s.read.lookup {
		from = &sqltext.Among{Item: from, As: sqltext.Rows, Units: sqltext.ManyRows, Touched: true}
	}
	ranked := &sqltext.Select{From: from, Columns: []sqltext.Column{{SQL: "r.*"}, {
		SQL: "pg_catalog.row_number() OVER (PARTITION BY " + strings.Join(s.by(), ", ") +
			" ORDER BY " + s.hmac(tagRow, sqltext.Bytes) + ", " + sqltext.Bytes + ")",
		As: sqltext.Order,
	}}}
	if s.read.lookup {
		ranked = &sqltext.Select{Columns: sqltext.Columns(sqltext.Rows, "*"), From: &sqltext.Join{
			Left: &sqltext.Table{SQL: sqltext.ManyRows}, Right: &sqltext.Query{Select: ranked, As: sqltext.Rows, Lateral: true},
		}}
	}
	q, err := s.counted(&sqltext.Query{Select: ranked, As: sqltext.Rows}, s.by(s.extra()...))
	q.Where = []string{fmt.Sprintf("o <= %d", s.set.contribution.Rows)}
	return q, err
}

// manyPartitions is y: the units of which partitions are chosen.
func (s *stages) manyPartitions() *sqltext.Select {
	var all sqltext.Item = &sqltext.Table{SQL: sqltext.Bounded}
	if s.extra() != nil {
		units := &sqltext.Select{Distinct: true, Columns: sqltext.Columns("", s.by()...), From: all}
		all = &sqltext.Query{As: sqltext.Bounded, Select: units}
	}
	return &sqltext.Select{
		Columns: sqltext.Columns("", sqltext.Unit), From: all,
		GroupBy: []string{sqltext.Unit}, Having: fmt.Sprintf("pg_catalog.count(*) > %d", s.set.contribution.Partitions),
	}
}

// kept is q: within the limit of partitions.
func (s *stages) kept() (*sqltext.Select, error) {
	bytes, err := s.keyBytes()
	if err != nil {
		return nil, err
	}
	bounded := &sqltext.Table{SQL: sqltext.Bounded}
	unit := canonicalColumns([]pgtype.Type{s.w.Physical(s.sp.b.source.Unit())}, []string{"p.u"})
	ranked := &sqltext.Select{
		Columns: []sqltext.Column{{SQL: "p.*"}, {
			SQL: "pg_catalog.dense_rank() OVER (PARTITION BY p.u ORDER BY " + s.hmac(tagPartition, unit+" || "+bytes) + ", " + bytes + ")",
			As:  sqltext.Order,
		}},
		From: &sqltext.Among{Item: bounded, As: sqltext.Bounded, Units: sqltext.ManyPartitions},
	}
	return &sqltext.Select{
		Columns: []sqltext.Column{{SQL: "p.*"}, {SQL: "1", As: sqltext.Order}}, From: bounded,
		Where: []string{sqltext.NotAmong(sqltext.ManyPartitions)},
		UnionAll: []*sqltext.Select{{
			Columns: sqltext.Columns("", "*"), From: &sqltext.Query{Select: ranked, As: sqltext.Order},
			Where: []string{fmt.Sprintf("o <= %d", s.set.contribution.Partitions)},
		}},
	}, nil
}

// total adds the units up.
func (s *stages) total(keys []string, from sqltext.Item) *sqltext.Select {
	if s.own != nil {
		return s.own.total(s.keys(), keys, from)
	}
	cols := sqltext.Columns("", keys...)
	if s.read.units {
		cols = append(cols, sqltext.Column{SQL: countRows.SQL})
	}
	for i := range s.read.statistics {
		cols = append(cols, sqltext.Column{SQL: "COALESCE(pg_catalog.sum(" + sqltext.Statistic(i) + "), 0)"})
	}
	return &sqltext.Select{Columns: cols, From: from, GroupBy: s.keys()}
}

// once writes a read of a source with one row for each unit: nothing is bounded.
func (s *stages) once() (*sqltext.Select, error) {
	from, err := s.source(false)
	if err != nil {
		return nil, err
	}
	cols, err := s.ofGroups()
	if err != nil {
		return nil, err
	}
	by := s.keys()
	if s.own != nil && s.own.perValue() {
		by = append(by, sqltext.Value)
	}
	if len(by) == 0 {
		return &sqltext.Select{Columns: ofAll(cols), From: from}, nil
	}
	grouped := &sqltext.Select{Columns: append(sqltext.Columns("", s.keys()...), cols...), From: from, GroupBy: by}
	return s.onceTotal(&sqltext.Query{Select: grouped, As: sqltext.UnitGroups})
}

// ofGroups writes the columns that once reads of each group.
func (s *stages) ofGroups() ([]sqltext.Column, error) {
	if s.own != nil {
		return s.own.ofGroups(), nil
	}
	sums, err := s.sums()
	if s.read.units {
		return append([]sqltext.Column{countRows}, sums...), err
	}
	return sums, err
}

// ofAll makes sums over no rows zero, and drops the names of statistics.
func ofAll(cols []sqltext.Column) []sqltext.Column {
	out := slices.Clone(cols)
	for i, c := range cols {
		if c.As != sqltext.Count {
			out[i].As = ""
		}
		if strings.HasPrefix(c.SQL, "pg_catalog.sum") {
			out[i].SQL = "COALESCE(" + c.SQL + ", 0)"
		}
	}
	return out
}

// onceTotal numbers the keys of the groups of once.
func (s *stages) onceTotal(grouped sqltext.Item) (*sqltext.Select, error) {
	numbers, from, where, err := s.numbered(sqltext.UnitGroups, grouped)
	if err == nil && s.set.Private() {
		numbers, err = s.shown()
	}
	if err != nil {
		return nil, err
	}
	if s.own != nil && s.own.perValue() {
		var cols []sqltext.Column
		for i, k := range s.keys() {
			cols = append(cols, sqltext.Column{SQL: numbers[i], As: k})
		}
		cols = append(cols, sqltext.Columns(sqltext.UnitGroups, sqltext.Value, sqltext.Count)...)
		p := &sqltext.Select{Columns: cols, From: from, Where: where}
		return s.own.total(s.keys(), s.keys(), &sqltext.Query{Select: p, As: sqltext.Bounded}), nil
	}
	cols := sqltext.Columns("", numbers...)
	if s.read.units {
		cols = append(cols, sqltext.Columns(sqltext.UnitGroups, sqltext.Count)...)
	}
	for i := range s.read.statistics {
		cols = append(cols, sqltext.Column{SQL: "COALESCE(" + sqltext.Of(sqltext.UnitGroups, sqltext.Statistic(i)) + ", 0)"})
	}
	return &sqltext.Select{Columns: cols, From: from, Where: where}, nil
}
