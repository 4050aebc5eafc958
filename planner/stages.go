package planner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpproxy/planner/pgtype"
)

// stages writes the SQL of one read. A read of plain statistics has one row for each unit
// and partition; one of a valueForm has a row for each value b as well.
type stages struct {
	*reader
	read *Read
	own  valueForm // nil for plain statistics
}

func (s *stages) sql() (string, error) {
	if s.set.contribution.unique {
		return s.once()
	}
	s.read.Ordered = s.extra() == nil && s.sp.unitOrdered()
	var with []string
	parts := []func() (string, error){s.perUnit, s.bounded}
	chooses := s.set.contribution.choosesPartitions
	if chooses {
		parts = append(parts, s.partitions)
	}
	for _, part := range parts {
		text, err := part()
		if err != nil {
			return "", err
		}
		with = append(with, text)
	}
	keys, err := s.shown()
	if err != nil {
		return "", err
	}
	from := "p"
	if chooses {
		from = "q"
	}
	return "WITH " + strings.Join(with, ", ") + " " + s.total(keys, from), nil
}

// extra names the column beside the keys, or nothing.
func (s *stages) extra() []string {
	if s.own != nil {
		return []string{"b"}
	}
	return nil
}

// source writes the rows, with the b of a valueForm: NULL in rows that do not count. Those
// take part in the choice of rows and partitions nevertheless, which is the same for all
// statistics.
func (s *stages) source(whole bool) (string, error) {
	rows, err := s.rows(whole)
	if err != nil || s.own == nil {
		return "(" + rows + ") AS r", err
	}
	st := s.read.statistics[0]
	cond := s.column(st.terms()[0].arg) + " IS NOT NULL"
	if st.filter != nil {
		cond += " AND " + s.filter(st)
	}
	b, err := s.own.value(s.reader)
	return "(SELECT r.*, CASE WHEN " + cond + " THEN " + b + " END AS b FROM (" + rows + ") AS r) AS r", err
}

func (s *stages) filter(st *statistic) string {
	return "f" + strconv.Itoa(indexOf(s.filters, st.filter)+1)
}

// perUnit is g: what each unit has in each partition.
func (s *stages) perUnit() (string, error) {
	from, err := s.source(false)
	if err != nil {
		return "", err
	}
	by := join(names{"u"}, s.keys(), s.extra())
	sums, err := s.sums()
	if err != nil {
		return "", err
	}
	return "g AS (SELECT " + join(by, []string{"pg_catalog.count(*) AS n"}, sums).list() + " FROM " + from + groupBy(by) + ")", nil
}

// sums writes plain statistics over rows.
func (s *stages) sums() ([]string, error) {
	if s.own != nil {
		return nil, nil
	}
	var out []string
	for i, st := range s.read.statistics {
		x, err := st.ofRows(s.reader)
		if err != nil {
			return nil, err
		}
		if st.filter != nil {
			x += " FILTER (WHERE " + s.filter(st) + ")"
		}
		out = append(out, x+" AS m"+strconv.Itoa(i+1))
	}
	return out, nil
}

// ofUnit writes a plain statistic of one unit and partition within its sensitivity (S15).
func ofUnit(st *statistic, i int) string {
	x := "m" + strconv.Itoa(i+1)
	limit := st.sensitivity.LInf
	if st.counts() {
		return fmt.Sprintf("LEAST(%s, %d) AS %s", x, limit, x)
	}
	return fmt.Sprintf("CAST(LEAST(GREATEST(COALESCE(%s, 0), -%d), %d) AS pg_catalog.int8) AS %s", x, limit, limit, x)
}

// chooses reports whether it matters which rows of a unit are kept: not when rows are
// only counted, nor when dp.max_sum bounds what a unit adds up to.
func (s *stages) chooses() bool {
	c := s.set.contribution
	return c.choosesRows && slices.ContainsFunc(s.read.statistics, func(st *statistic) bool { return st.choosesRows(c, st.filter != nil) })
}

// bounded is p, after x where rows are chosen: within the limits of rows, with public
// keys numbered.
func (s *stages) bounded() (string, error) {
	numbers, joins, where, err := s.numbered("g")
	if err != nil {
		return "", err
	}
	cols := []string{"g.u"}
	for i, k := range s.keys() {
		cols = append(cols, numbers[i]+" AS "+k)
	}
	switch {
	case s.own == nil:
		for i, st := range s.read.statistics {
			cols = append(cols, ofUnit(st, i))
		}
	case s.own.perValue():
		cols = append(cols, "g.b", "g.n")
	default:
		cols = append(cols, "g.b")
	}
	from, x := "g", ""
	if s.chooses() {
		if x, from, err = s.chosen(); err != nil {
			return "", err
		}
	}
	return x + "p AS (SELECT " + strings.Join(cols, ", ") + " FROM " + from + joins + where + ")", nil
}

// chosen writes x, and g with the units of x replaced by what their chosen rows have.
func (s *stages) chosen() (x, from string, err error) {
	rows := s.set.contribution.Rows
	by := join([]string{"u"}, s.keys())
	having := fmt.Sprintf("SELECT u FROM g WHERE n > %d", rows)
	if s.extra() != nil {
		having = fmt.Sprintf("SELECT u FROM g%s HAVING pg_catalog.sum(n) > %d", groupBy(by), rows)
	}
	cut, err := s.cut(by, rows)
	if err != nil {
		return "", "", err
	}
	x = "x AS (SELECT DISTINCT u FROM (" + having + ") AS over), "
	return x, "(SELECT * FROM g WHERE NOT (u IN (SELECT u FROM x)) UNION ALL " + cut + ") AS g", nil
}

// cut chooses the rows of the units in x. If an index finds them, the rows of each unit are
// looked up: the time then tells of a unit in x, by as many rows as are its own. Without
// one all rows are read again, whether x has a unit or not.
func (s *stages) cut(by names, rows int64) (string, error) {
	from, err := s.source(true)
	if err != nil {
		return "", err
	}
	sums, err := s.sums()
	if err != nil {
		return "", err
	}
	s.read.lookup = s.sp.unitIndexed()
	if !s.read.lookup {
		from = only("r", from, "x", "r.tables OPERATOR(pg_catalog.<) 0 OR ")
	}
	ranked := fmt.Sprintf("SELECT r.*, pg_catalog.row_number() OVER (PARTITION BY %s ORDER BY %s, bytes) AS o FROM %s",
		by.list(), s.hmac(tagRow, "bytes"), from)
	if s.read.lookup {
		ranked = "SELECT r.* FROM x CROSS JOIN LATERAL (" + ranked + ") AS r"
	}
	by = join(by, s.extra())
	return "SELECT " + join(by, names{"pg_catalog.count(*) AS n"}, sums).list() + " FROM (" + ranked + ") AS r" +
		fmt.Sprintf(" WHERE o <= %d", rows) + groupBy(by), nil
}

// partitions is q: within the limit of partitions.
func (s *stages) partitions() (string, error) {
	bytes, err := s.keyBytes()
	if err != nil {
		return "", err
	}
	unit := canonicalColumns([]pgtype.Type{s.w.Physical(s.sp.b.source.Unit())}, []string{"p.u"})
	most := s.set.contribution.Partitions
	all := "p"
	if s.extra() != nil {
		all = "(SELECT DISTINCT " + join(names{"u"}, s.keys()).list() + " FROM p) AS p"
	}
	return fmt.Sprintf("y AS (SELECT u FROM %s GROUP BY u HAVING pg_catalog.count(*) > %d), ", all, most) +
		"q AS (SELECT p.*, 1 AS o FROM p WHERE NOT (u IN (SELECT u FROM y)) UNION ALL SELECT * FROM (SELECT p.*, pg_catalog.dense_rank() OVER (PARTITION BY p.u ORDER BY " +
		s.hmac(tagPartition, unit+" || "+bytes) + ", " + bytes + ") AS o FROM " + only("p", "p", "y", "") + ") AS o" + fmt.Sprintf(" WHERE o <= %d)", most), nil
}

// total adds the units up.
func (s *stages) total(keys []string, from string) string {
	if s.own != nil {
		return s.own.total(s, keys, from)
	}
	var cols names
	if s.read.units {
		cols = append(cols, "pg_catalog.count(*)")
	}
	for i := range s.read.statistics {
		cols = append(cols, "COALESCE(pg_catalog.sum(m"+strconv.Itoa(i+1)+"), 0)")
	}
	return "SELECT " + join(keys, cols).list() + " FROM " + from + groupBy(s.keys())
}

// once writes a read of a source with one row for each unit: nothing is bounded.
func (s *stages) once() (string, error) {
	from, err := s.source(false)
	if err != nil {
		return "", err
	}
	cols, err := s.ofGroups()
	if err != nil {
		return "", err
	}
	by := names(s.keys())
	if s.own != nil && s.own.perValue() {
		by = join(by, names{"b"})
	}
	if len(by) == 0 {
		return "SELECT " + nulls(cols).list() + " FROM " + from, nil
	}
	numbers, joins, where, err := s.numbered("g")
	if err != nil {
		return "", err
	}
	grouped := "(SELECT " + join(s.keys(), cols).list() + " FROM " + from + groupBy(by) + ") AS g"
	return s.onceTotal(grouped, numbers, joins, where)
}

// ofGroups writes what once reads of each group.
func (s *stages) ofGroups() (names, error) {
	if s.own != nil {
		return s.own.ofGroups(), nil
	}
	sums, err := s.sums()
	if s.read.units {
		return join(names{"pg_catalog.count(*) AS n"}, sums), err
	}
	return sums, err
}

// nulls makes sums over no rows zero, and drops their names.
func nulls(cols names) names {
	out := make(names, len(cols))
	for i, c := range cols {
		x, _, _ := strings.Cut(c, " AS m")
		out[i] = x
		if strings.HasPrefix(x, "pg_catalog.sum") {
			out[i] = "COALESCE(" + x + ", 0)"
		}
	}
	return out
}

// onceTotal numbers the keys of what once has grouped.
func (s *stages) onceTotal(grouped string, numbers []string, joins, where string) (string, error) {
	if s.set.Private() {
		var err error
		if numbers, err = s.shown(); err != nil {
			return "", err
		}
	}
	if s.own != nil && s.own.perValue() {
		var cols names
		for i, k := range s.keys() {
			cols = append(cols, numbers[i]+" AS "+k)
		}
		p := "(SELECT " + join(cols, names{"g.b", "g.n"}).list() + " FROM " + grouped + joins + where + ") AS p"
		return s.own.total(s, s.keys(), p), nil
	}
	var cols names
	if s.read.units {
		cols = append(cols, "g.n")
	}
	for i := range s.read.statistics {
		cols = append(cols, "COALESCE(g.m"+strconv.Itoa(i+1)+", 0)")
	}
	return "SELECT " + join(numbers, cols).list() + " FROM " + grouped + joins + where, nil
}

// only restricts a relation to the units that have too much, such that Postgres reads the
// relation whole also if there are none: else the time of a statement would tell whether
// one unit has more than may count. never is a condition that never holds, for which the
// tables of a join have to be joined first. The fence keeps Postgres from ordering the rows
// before.
func only(name, relation, units, never string) string {
	return fmt.Sprintf("(SELECT %[1]s.* FROM %[2]s LEFT JOIN %[3]s ON %[3]s.u = %[1]s.u WHERE CASE WHEN %[4]s%[3]s.u IS NULL THEN false ELSE true END OFFSET 0) AS %[1]s",
		name, relation, units, never)
}

// names are columns.
type names []string

func (n names) list() string { return strings.Join(n, ", ") }

func join(lists ...[]string) names {
	var all names
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func groupBy(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return " GROUP BY " + strings.Join(keys, ", ")
}
