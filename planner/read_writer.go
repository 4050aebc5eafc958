package planner

import (
	"slices"
	"strings"

	"dpproxy/planner/sqltext"
)

// A readWriter writes the SQL of a read. If units have several rows, DATA returns the rows as it has them for a valueForm or if there are
// groups; otherwise it adds up plain statistics by unit, and returns a row for each unit. Package fold does the rest.
type readWriter struct {
	*reader
	read *Read
	own  valueForm // nil for plain statistics
}

func (s *readWriter) statement() (*sqltext.Select, error) {
	if s.set.bounds.unique {
		return s.once()
	}
	if s.own != nil || s.folds() {
		return s.folded()
	}
	return s.ofUnits()
}

// source writes the rows, with the column b of a valueForm, which is NULL in rows that do not count.
func (s *readWriter) source() (sqltext.Item, error) {
	q, err := s.rows()
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
	if h, ok := s.own.(bucketed); ok && h.buckets().tree.Doubling() != nil {
		x, err := h.buckets().distance(s.reader)
		away := &sqltext.Select{ // fenced: the bucket uses it several times
			Columns: []sqltext.Column{{SQL: "r.*"}, {SQL: "CASE WHEN " + cond + " THEN " + x + " END", As: sqltext.Away}},
			From:    rows, Fence: true,
		}
		b := h.buckets().number(sqltext.Of(sqltext.Rows, sqltext.Away))
		return &sqltext.Query{As: sqltext.Rows, Select: &sqltext.Select{
			Columns: []sqltext.Column{{SQL: "r.*"}, {SQL: b, As: sqltext.Value}}, From: &sqltext.Query{Select: away, As: sqltext.Rows},
		}}, err
	}
	b, err := s.own.value(s.reader)
	return &sqltext.Query{As: sqltext.Rows, Select: &sqltext.Select{
		Columns: []sqltext.Column{{SQL: "r.*"}, {SQL: "CASE WHEN " + cond + " THEN " + b + " END", As: sqltext.Value}},
		From:    rows,
	}}, err
}

func (s *readWriter) filter(st *statistic) string {
	return sqltext.Filter(indexOf(s.filters, st.filter))
}

// sums writes plain statistics over rows.
func (s *readWriter) sums() ([]sqltext.Column, error) {
	var out []sqltext.Column
	for i, st := range s.read.statistics {
		x, err := st.ofRows(s.reader)
		if err != nil {
			return nil, err
		}
		filter := ""
		if st.filter != nil {
			filter = " FILTER (WHERE " + s.filter(st) + ")"
		}
		x += filter
		if late, ok := st.statisticForm.(lateForm); ok && s.late(late.summed()) {
			value, err := s.integer(late.summed())
			if err != nil {
				return nil, err
			}
			x = late.scaled(x, "pg_catalog.count("+value+")"+filter)
		}
		out = append(out, sqltext.Column{SQL: x, As: sqltext.Statistic(i)})
	}
	return out, nil
}

// bucket writes the column b of a group of rows; for a mode it is the number of the value in its list.
func (s *readWriter) bucket(from sqltext.Item) (sqltext.Column, sqltext.Item, error) {
	m, ok := s.own.(modes)
	if !ok {
		return sqltext.Column{SQL: sqltext.Of(sqltext.UnitGroups, sqltext.Value)}, from, nil
	}
	_, physical, err := s.w.Value(m.arg)
	number, from := m.numberedValue(s.reader, sqltext.UnitGroups, sqltext.Value, from, physical)
	return sqltext.Column{SQL: number, As: sqltext.Value}, from, err
}

// once writes a read of a source with a row for each unit: nothing has to be bounded.
func (s *readWriter) once() (*sqltext.Select, error) {
	from, err := s.source()
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

// ofGroups writes the columns that once reads for each group.
func (s *readWriter) ofGroups() ([]sqltext.Column, error) {
	if s.own != nil {
		return s.own.ofGroups(), nil
	}
	sums, err := s.sums()
	if s.read.units {
		return append([]sqltext.Column{countRows}, sums...), err
	}
	return sums, err
}

// ofAll makes sums over no rows zero, and removes the names of statistics.
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

// onceTotal replaces the keys of the groups of once by their numbers.
func (s *readWriter) onceTotal(grouped sqltext.Item) (*sqltext.Select, error) {
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
		value, from, err := s.bucket(from)
		if err != nil {
			return nil, err
		}
		cols = append(cols, value)
		cols = append(cols, sqltext.Columns(sqltext.UnitGroups, sqltext.Count)...)
		p := &sqltext.Select{Columns: cols, From: from, Where: where}
		return s.own.total(s.keys(), s.keys(), &sqltext.Query{Select: p, As: sqltext.Numbered}), nil
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
