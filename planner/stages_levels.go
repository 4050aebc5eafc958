package planner

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dpproxy/planner/sqltext"
)

// A summand is a column that is added up over units: of a statistic or, where its centre is chosen,
// of the statistic about one of them.
type summand struct {
	st     *statistic
	at     int // among the statistics of the read
	vector int
	name   string
}

// summands lists those of the read.
func (s *stages) summands() []summand {
	var out []summand
	for i, st := range s.read.statistics {
		offset, ok := st.statisticForm.(offsetSum)
		if !ok || st.measure.weighting != byCountAndSum {
			out = append(out, summand{st, i, 0, sqltext.Statistic(i)})
			continue
		}
		for j := range offset.centres {
			out = append(out, summand{st, i, j, sqltext.Vector(i, j)})
		}
	}
	return out
}

const (
	int8Type    = "pg_catalog.int8"
	numericType = "pg_catalog.numeric"
	// narrowSum bounds numbers that are computed in int8.
	narrowSum = 1 << 62
)

// ofUnit writes what a unit adds in one partition, saturated: by numbers that are public, and by a
// proof of its rows (S15).
func (x summand) ofUnit(s *stages) string {
	m, rows := x.st.measure, s.set.bounds.rows
	column := sqltext.Of(sqltext.UnitGroups, sqltext.Statistic(x.at))
	if x.st.counts() {
		return fmt.Sprintf("LEAST(%s, %v)", column, x.st.statisticForm.(normForm).adds(rows))
	}
	column = "COALESCE(" + column + ", 0)"
	if m.weighting == byCount {
		counted := fmt.Sprintf("LEAST(%s, %d)", sqltext.Of(sqltext.UnitGroups, sqltext.Statistic(s.counting(m))), rows)
		most := int8Literal(x.st.each) + " * " + counted
		if x.most(s).Cmp(big.NewInt(narrowSum)) >= 0 {
			most = fmt.Sprintf("CAST(%d AS pg_catalog.numeric) * %s", x.st.each, counted)
		}
		return fmt.Sprintf("CAST(LEAST(GREATEST(%s, -(%s)), %s) AS %s)", column, most, most, x.sqlType(s))
	}
	if offset, ok := x.st.statisticForm.(offsetSum); ok && m.weighting == byCountAndSum {
		column = aboutCentre(column, offset.centres[x.vector], sqltext.Of(sqltext.UnitGroups, sqltext.Statistic(s.counting(m))))
	}
	most := x.most(s)
	return fmt.Sprintf("CAST(LEAST(GREATEST(%s, -%v), %v) AS pg_catalog.int8)", column, most, most)
}

// aboutCentre writes twice a sum less so many times a centre: in int8, of a sum and a count that are
// saturated such that it fits, unless the centre is so large that a count of rows would not.
func aboutCentre(sum string, centre int64, rows string) string {
	most := int64(narrowSum) / 4 / max(centre, -centre, 1)
	if most < maxGroupRows {
		return fmt.Sprintf("CAST(%s AS pg_catalog.numeric) * 2 - CAST(%d AS pg_catalog.numeric) * %s", sum, centre, rows)
	}
	return fmt.Sprintf("CAST(LEAST(GREATEST(%s, -%d), %d) AS pg_catalog.int8) * 2 - %s * LEAST(%s, %d)",
		sum, narrowSum/4, narrowSum/4, int8Literal(centre), rows, most)
}

// most bounds what a unit adds in one partition.
func (x summand) most(s *stages) *big.Int {
	rows := s.set.bounds.rows
	if x.st.measure.weighting == byCount && !x.st.counts() {
		most := big.NewInt(x.st.each)
		return most.Mul(most, big.NewInt(rows))
	}
	if f, ok := x.st.statisticForm.(momentForm); ok {
		return mostBetween(x.st.measure, f)
	}
	most, limit := x.st.statisticForm.(normForm).adds(rows), big.NewInt(x.st.measure.Norms[x.st.measure.normOf(x.st)].saturation)
	if most.Cmp(limit) > 0 {
		return limit
	}
	return most
}

func (x summand) sqlType(s *stages) string {
	if x.most(s).Cmp(big.NewInt(narrowSum)) < 0 {
		return int8Type
	}
	return numericType
}

// counting is the place of the count that weights of a measure are by.
func (s *stages) counting(m *Measure) int {
	return slices.IndexFunc(s.read.statistics, func(st *statistic) bool { return st.measure == m && st.counts() })
}

// A normColumn is one norm of one vector of a measure, and the summand that it is of.
type normColumn struct {
	m      *Measure
	norm   int
	vector int
	of     summand
}

// normColumns lists the norms by which units are told apart.
func (s *stages) normColumns() []normColumn {
	var out []normColumn
	for _, x := range s.summands() {
		m := x.st.measure
		for norm, of := range m.statistics[:len(m.Norms)] {
			if s.set.statistics[of] == x.st {
				out = append(out, normColumn{m, norm, x.vector, x})
			}
		}
	}
	return out
}

// levelled is e: of the rows of p the level of their unit by each norm, and how long its vector is.
func (s *stages) levelled() *sqltext.Select {
	var cols []sqltext.Column
	for _, x := range s.summands() {
		cols = append(cols, sqltext.Column{SQL: x.name})
	}
	for i, n := range s.normColumns() {
		norm := norm{s: s, of: n}
		cols = append(cols, sqltext.Column{SQL: norm.level(), As: sqltext.Level(i)})
		if n.m.cuts() && len(n.m.Norms) == 1 {
			cols = append(cols, sqltext.Column{SQL: "GREATEST(" + norm.size() + ", 1)", As: sqltext.Length(i)})
		}
	}
	return &sqltext.Select{Columns: cols, From: &sqltext.Table{SQL: sqltext.Bounded, As: sqltext.Bounded}}
}

// A norm is one norm of the unit of a row.
type norm struct {
	s  *stages
	of normColumn
}

// coordinate says that the norm is the size of one number: without groups, or of each by itself.
func (n norm) coordinate() bool { return len(n.s.set.keys) == 0 || n.of.m.byGroup.holds() }

// squared says that the norm is the root of what is summed.
func (n norm) squared() bool { return !n.coordinate() && !n.of.m.laplace }

// size writes the norm of a unit without groups.
func (n norm) size() string { return "pg_catalog.abs(" + n.of.of.name + ")" }

// level writes the least level whose limit the norm is within, counted from the least one: it is decided in integers.
func (n norm) level() string {
	of := n.of.m.Norms[n.of.norm]
	if !n.of.m.cuts() {
		return strconv.Itoa(of.Grid.Below() + of.Fixed)
	}
	limits := of.Grid.Integers()
	texts := make([]string, len(limits))
	for i, l := range limits {
		texts[i] = l.String()
	}
	return fmt.Sprintf("pg_catalog.width_bucket(%s - 1, CAST('{%s}' AS %s[]))", n.size(), strings.Join(texts, ","), int8Type)
}

// total adds the units up by their levels.
func (s *stages) total() *sqltext.Select {
	norms := s.normColumns()
	var cols []sqltext.Column
	for i := range norms {
		cols = append(cols, sqltext.Column{SQL: sqltext.Level(i)})
	}
	cols = append(cols, sqltext.Column{SQL: countRows.SQL})
	for _, x := range s.summands() {
		cols = append(cols, sqltext.Column{SQL: "pg_catalog.sum(" + x.name + ")"}, sqltext.Column{SQL: s.directions(x, norms)})
	}
	from := &sqltext.Query{Select: s.levelled(), As: sqltext.Levelled}
	return &sqltext.Select{Columns: cols, From: from, GroupBy: append(s.groupedBy(norms), sqltext.Unsortable)}
}

// directions writes the sum of the directions of a summand, or NULL where none is used.
func (s *stages) directions(x summand, norms []normColumn) string {
	m := x.st.measure
	if len(m.Norms) > 1 || !m.cuts() {
		return "NULL"
	}
	at := 0
	for norms[at].m != m {
		at++
	}
	scale := new(big.Int).Lsh(big.NewInt(1), m.fraction(x.st))
	most := x.most(s)
	if most.Mul(most, scale).Cmp(big.NewInt(narrowSum)) < 0 {
		return fmt.Sprintf("pg_catalog.sum(%s * CAST(%v AS pg_catalog.int8) / %s)", x.name, scale, sqltext.Length(at))
	}
	return fmt.Sprintf("pg_catalog.sum(pg_catalog.div(CAST(%s AS pg_catalog.numeric) * %v, CAST(%s AS pg_catalog.numeric)))",
		x.name, scale, sqltext.Length(at))
}

// groupedBy lists the levels of each vector of a measure.
func (s *stages) groupedBy(norms []normColumn) []string {
	vectors := s.vectors(norms)
	sets := make([]string, len(vectors))
	for i, levels := range vectors {
		names := make([]string, len(levels))
		for j, n := range levels {
			names[j] = sqltext.Level(n)
		}
		sets[i] = strings.Join(names, ", ")
	}
	if len(sets) == 1 {
		return sets
	}
	return []string{"GROUPING SETS ((" + strings.Join(sets, "), (") + "))"}
}

// vectors lists, for each vector of a measure, the norms that it is weighted by: the last one
// is its own.
func (s *stages) vectors(norms []normColumn) [][]int {
	var out [][]int
	for i, n := range norms {
		if n.norm < len(n.m.Norms)-1 {
			continue
		}
		var levels []int
		for j, o := range norms[:i] {
			if o.m == n.m && o.norm < n.norm {
				levels = append(levels, j)
			}
		}
		out = append(out, append(slices.Clip(levels), i))
	}
	return out
}

// describe tells the read how its rows are parsed.
func (s *stages) describe() {
	for _, n := range s.normColumns() {
		s.read.levels = append(s.read.levels, levelColumn{n.m, n.norm, n.vector})
	}
	for _, x := range s.summands() {
		column := sumColumn{place: x.st.place, vector: x.vector, measure: x.st.measure}
		column.shared = x.st.counts() || x.st.measure.weighting != byCountAndSum
		s.read.sums = append(s.read.sums, column)
	}
	if s.read.levels == nil {
		s.read.levels = []levelColumn{}
	}
}
