package planner

import (
	"fmt"
	"strconv"
	"strings"

	"dpproxy/planner/scalar"
)

// stages writes the SQL of one read. A read of plain measures has one row for each unit
// and partition; one of a histogram has a row for each node b, and one of different
// values a row for each value b.
type stages struct {
	*reader
	read *Read
	kind measureKind // of a read of one measure
}

func (s *stages) sql() (string, error) {
	if s.part.contribution.unique {
		return s.once()
	}
	s.read.Ordered = s.extra() == nil && s.bd.unitOrdered()
	var with []string
	parts := []func() (string, error){s.perUnit, s.bounded}
	chooses := s.part.choosesPartitions(s.bd.b)
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
	return "WITH " + strings.Join(with, ",\n") + "\n" + s.total(keys, from), nil
}

// extra names the column beside the keys, or nothing.
func (s *stages) extra() []string {
	if s.kind == histogram || s.kind == countDifferent {
		return []string{"b"}
	}
	return nil
}

// source writes the rows, with the b of a histogram or of different values: NULL in rows
// that do not count. Those take part in the choice of rows and partitions nevertheless,
// which is the same for all measures.
func (s *stages) source(whole bool) (string, error) {
	rows, err := s.rows(whole)
	if err != nil || s.extra() == nil {
		return "(" + rows + ") AS r", err
	}
	m := s.read.measures[0]
	c := s.arg(m)
	cond := c + " IS NOT NULL"
	if m.filter != nil {
		cond += " AND " + s.filter(m)
	}
	b := c
	if s.kind == histogram {
		x, err := s.lattice(m)
		if err != nil {
			return "", err
		}
		b = fmt.Sprintf("(%s - (%d)) / %d", x, m.values.low, m.shape.Width())
	}
	return "(SELECT r.*, CASE WHEN " + cond + " THEN " + b + " END AS b FROM (" + rows + ") AS r) AS r", nil
}

func (s *stages) arg(m *measureOf) string { return "c" + strconv.Itoa(indexOf(s.args, m.arg)+1) }

func (s *stages) filter(m *measureOf) string {
	return "f" + strconv.Itoa(indexOf(s.filters, m.filter)+1)
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
	return "g AS (SELECT " + join(by, []string{"pg_catalog.count(*) AS n"}, sums).list() + "\n  FROM " + from + groupBy(by) + ")", nil
}

// sums writes the plain measures over rows.
func (s *stages) sums() ([]string, error) {
	if s.extra() != nil {
		return nil, nil
	}
	var out []string
	for i, m := range s.read.measures {
		x, err := s.sum(m)
		if err != nil {
			return nil, err
		}
		out = append(out, x+" AS m"+strconv.Itoa(i+1))
	}
	return out, nil
}

// sum writes a measure over rows of one partition.
func (s *stages) sum(m *measureOf) (string, error) {
	var conds []string
	if m.filter != nil {
		conds = append(conds, s.filter(m))
	}
	x := "pg_catalog.count(*)"
	switch m.kind { //nolint:exhaustive // the others have statements of their own
	case countValues:
		x = "pg_catalog.count(" + s.arg(m) + ")"
	case sumValues, sumCentred, sumSquares:
		value, err := s.lattice(m)
		if err != nil {
			return "", err
		}
		x = "pg_catalog.sum(" + value + ")"
	}
	if len(conds) > 0 {
		x += " FILTER (WHERE " + strings.Join(conds, " AND ") + ")"
	}
	return x, nil
}

// clamped writes a plain measure of one unit and partition within its sensitivity (S15).
func clamped(m *measureOf, i int) string {
	x := "m" + strconv.Itoa(i+1)
	limit := m.sensitivity.LInf
	switch m.kind { //nolint:exhaustive // the others have statements of their own
	case countRows, countUnits1, countValues:
		return fmt.Sprintf("LEAST(%s, %d) AS %s", x, limit, x)
	}
	return fmt.Sprintf("CAST(LEAST(GREATEST(COALESCE(%s, 0), -%d), %d) AS pg_catalog.int8) AS %s", x, limit, limit, x)
}

// chooses reports whether it matters which rows of a unit are kept: not when rows are
// only counted, nor when dp.max_sum bounds what a unit adds up to.
func (s *stages) chooses() bool {
	c := &s.part.contribution
	if !c.chosen {
		return false
	}
	for _, m := range s.read.measures {
		counts := m.kind == countRows || m.kind == countUnits1
		sums := c.maxSum != nil && (counts || m.kind == countValues || m.kind == sumValues)
		if !sums && (!counts || m.filter != nil) {
			return true
		}
	}
	return false
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
	switch s.kind { //nolint:exhaustive // the others have plain measures
	case histogram:
		cols = append(cols, "g.b", "g.n")
	case countDifferent:
		cols = append(cols, "g.b")
	default:
		for i, m := range s.read.measures {
			cols = append(cols, clamped(m, i))
		}
	}
	from, x := "g", ""
	if s.chooses() {
		if x, from, err = s.chosen(); err != nil {
			return "", err
		}
	}
	return x + "p AS (SELECT " + strings.Join(cols, ", ") + "\n  FROM " + from + joins + where + ")", nil
}

// chosen writes x, and g with the units of x replaced by what their chosen rows have.
func (s *stages) chosen() (x, from string, err error) {
	rows := s.part.contribution.Rows
	by := join([]string{"u"}, s.keys())
	having := fmt.Sprintf("SELECT u FROM g WHERE n > %d", rows)
	if s.extra() != nil {
		having = fmt.Sprintf("SELECT u FROM g%s HAVING pg_catalog.sum(n) > %d", groupBy(by), rows)
	}
	cut, err := s.cut(by, rows)
	if err != nil {
		return "", "", err
	}
	x = "x AS (SELECT DISTINCT u FROM (" + having + ") AS over),\n"
	return x, "(SELECT * FROM g WHERE NOT (u IN (SELECT u FROM x))\n  UNION ALL " + cut + ") AS g", nil
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
	s.read.lookup = s.bd.unitIndexed()
	if !s.read.lookup {
		from = only("r", from, "x", "r.tables OPERATOR(pg_catalog.<) 0 OR ")
	}
	ranked := fmt.Sprintf("SELECT r.*, pg_catalog.row_number() OVER (PARTITION BY %s\n    ORDER BY %s, bytes) AS o FROM %s",
		by.list(), s.hmac(tagRow, "bytes"), from)
	if s.read.lookup {
		ranked = "SELECT r.* FROM x CROSS JOIN LATERAL (" + ranked + ") AS r"
	}
	by = join(by, s.extra())
	return "SELECT " + join(by, names{"pg_catalog.count(*) AS n"}, sums).list() + "\n  FROM (" + ranked + ") AS r" +
		fmt.Sprintf(" WHERE o <= %d", rows) + groupBy(by), nil
}

// partitions is q: within the limit of partitions.
func (s *stages) partitions() (string, error) {
	bytes, err := s.keyBytes()
	if err != nil {
		return "", err
	}
	unit := canonicalColumns([]scalar.Type{s.w.Physical(s.bd.b.source.unit())}, []string{"p.u"})
	most := s.part.contribution.Partitions
	all := "p"
	if s.extra() != nil {
		all = "(SELECT DISTINCT " + join(names{"u"}, s.keys()).list() + " FROM p) AS p"
	}
	return fmt.Sprintf("y AS (SELECT u FROM %s GROUP BY u HAVING pg_catalog.count(*) > %d),\n", all, most) +
		"q AS (SELECT p.*, 1 AS o FROM p WHERE NOT (u IN (SELECT u FROM y))\n  UNION ALL SELECT * FROM (SELECT p.*, pg_catalog.dense_rank() OVER (PARTITION BY p.u\n    ORDER BY " +
		s.hmac(tagPartition, unit+" || "+bytes) + ", " + bytes + ") AS o FROM " + only("p", "p", "y", "") + ") AS o" + fmt.Sprintf(" WHERE o <= %d)", most), nil
}

// total adds the units up.
func (s *stages) total(keys []string, from string) string {
	by := names(s.keys())
	switch s.kind { //nolint:exhaustive // the others have plain measures
	case histogram:
		return s.levels(keys, from)
	case countDifferent:
		return "SELECT " + join(keys, names{"pg_catalog.count(DISTINCT b)"}).list() + "\nFROM " + from + groupBy(by)
	}
	var cols names
	if s.read.units {
		cols = append(cols, "pg_catalog.count(*)")
	}
	for i := range s.read.measures {
		cols = append(cols, "COALESCE(pg_catalog.sum(m"+strconv.Itoa(i+1)+"), 0)")
	}
	return "SELECT " + join(keys, cols).list() + "\nFROM " + from + groupBy(by)
}

// levels adds a histogram up at each level of its tree.
func (s *stages) levels(keys []string, from string) string {
	shape := s.read.measures[0].shape
	var divisors []string
	for level := range shape.Levels() {
		divisors = append(divisors, fmt.Sprintf("(%d, %d)", level, shape.Divisor(level)/shape.Width()))
	}
	by := join(s.keys(), names{"l.level", "node"})
	return "SELECT " + join(keys, names{"l.level", "b / l.divisor AS node", "pg_catalog.sum(n)"}).list() +
		"\nFROM (SELECT " + join(s.keys(), names{"b", "pg_catalog.sum(n) AS n"}).list() + " FROM " + from + " WHERE b IS NOT NULL" + groupBy(join(s.keys(), names{"b"})) + ") AS h" +
		"\n  CROSS JOIN (VALUES " + strings.Join(divisors, ", ") + ") AS l(level, divisor)" + groupBy(by)
}

// once writes a read of a source with one row for each unit: nothing is bounded.
func (s *stages) once() (string, error) {
	from, err := s.source(false)
	if err != nil {
		return "", err
	}
	var cols names
	switch s.kind { //nolint:exhaustive // the others have plain measures
	case histogram:
		cols = names{"b", "pg_catalog.count(*) AS n"}
	case countDifferent:
		cols = names{"pg_catalog.count(DISTINCT b) AS m1"}
	default:
		sums, err := s.sums()
		if err != nil {
			return "", err
		}
		if s.read.units {
			cols = append(cols, "pg_catalog.count(*) AS n")
		}
		cols = append(cols, sums...)
	}
	by := names(s.keys())
	if s.kind == histogram {
		by = join(by, names{"b"})
	}
	if len(by) == 0 {
		return "SELECT " + nulls(cols).list() + "\nFROM " + from, nil
	}
	numbers, joins, where, err := s.numbered("g")
	if err != nil {
		return "", err
	}
	grouped := "(SELECT " + join(s.keys(), cols).list() + "\n  FROM " + from + groupBy(by) + ") AS g"
	return s.onceTotal(grouped, numbers, joins, where)
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
	if s.part.Private() {
		var err error
		if numbers, err = s.shown(); err != nil {
			return "", err
		}
	}
	if s.kind == histogram {
		var cols names
		for i, k := range s.keys() {
			cols = append(cols, numbers[i]+" AS "+k)
		}
		p := "(SELECT " + join(cols, names{"g.b", "g.n"}).list() + " FROM " + grouped + joins + where + ") AS p"
		return s.levels(s.keys(), p), nil
	}
	var cols names
	if s.read.units {
		cols = append(cols, "g.n")
	}
	for i := range s.read.measures {
		cols = append(cols, "COALESCE(g.m"+strconv.Itoa(i+1)+", 0)")
	}
	return "SELECT " + join(numbers, cols).list() + "\nFROM " + grouped + joins + where, nil
}

// only restricts a relation to the units that have too much, such that Postgres reads the
// relation whole also if there are none: else the time of a statement would tell whether
// one unit has more than may count. never is a condition that never holds, for which the
// tables of a join have to be joined first. The fence keeps Postgres from ordering the rows
// before.
func only(name, relation, units, never string) string {
	return fmt.Sprintf("(SELECT %[1]s.* FROM %[2]s LEFT JOIN %[3]s ON %[3]s.u = %[1]s.u\n  WHERE CASE WHEN %[4]s%[3]s.u IS NULL THEN false ELSE true END OFFSET 0) AS %[1]s",
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
	return "\n  GROUP BY " + strings.Join(keys, ", ")
}
