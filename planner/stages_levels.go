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
		counted := fmt.Sprintf("LEAST(%s, %d)", sqltext.Of(sqltext.UnitGroups, s.counting(m)), rows)
		most := int8Literal(x.st.each) + " * " + counted
		if x.most(s).Cmp(big.NewInt(narrowSum)) >= 0 {
			most = fmt.Sprintf("CAST(%d AS pg_catalog.numeric) * %s", x.st.each, counted)
		}
		return fmt.Sprintf("CAST(LEAST(GREATEST(%s, -(%s)), %s) AS %s)", column, most, most, x.sqlType(s))
	}
	if offset, ok := x.st.statisticForm.(offsetSum); ok && m.weighting == byCountAndSum {
		column = aboutCentre(column, offset.centres[x.vector], sqltext.Of(sqltext.UnitGroups, s.counting(m)))
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
	most, limit := x.st.statisticForm.(normForm).adds(rows), big.NewInt(x.st.measure.saturation(x.st))
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

// counting names the column of the count that weights of a measure are by.
func (s *stages) counting(m *Measure) string {
	for i, st := range s.read.statistics {
		if st.measure == m && st.counts() {
			return sqltext.Statistic(i)
		}
	}
	return ""
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

// levelled is e: of the rows of p the level of their unit by each norm, and how long its vector
// is.
func (s *stages) levelled(from string) *sqltext.Select {
	cols := sqltext.Columns("", s.keys()...)
	for _, x := range s.summands() {
		cols = append(cols, sqltext.Column{SQL: x.name})
	}
	for i, n := range s.normColumns() {
		norm := norm{s: s, of: n}
		cols = append(cols, sqltext.Column{SQL: norm.level(), As: sqltext.Level(i)})
		if n.m.cuts() && len(n.m.Norms) == 1 {
			cols = append(cols, sqltext.Column{SQL: norm.length(), As: sqltext.Length(i)})
		}
	}
	cols = append(cols, s.firsts()...)
	if s.set.Private() {
		cols = append(cols, sqltext.Column{SQL: s.weight(), As: sqltext.Weight})
	}
	return &sqltext.Select{Columns: cols, From: s.withSubtotals(from)}
}

// first is true in one of the rows of a unit.
func (s *stages) first() string { return "pg_catalog.row_number() OVER (PARTITION BY u) = 1" }

// firsts are the columns that tell one row of a unit, whose level is the unit's. Where norms are of each group by
// itself that of a unit is the largest of them.
func (s *stages) firsts() []sqltext.Column {
	if s.set.Top == nil {
		if !s.keyed() {
			return nil
		}
		return []sqltext.Column{{SQL: s.first(), As: sqltext.First}}
	}
	var cols []sqltext.Column
	for i, n := range s.normColumns() {
		first := s.first()
		if n.m.cuts() {
			first = "pg_catalog.row_number() OVER (PARTITION BY u ORDER BY " + norm{s: s, of: n}.size() + " DESC) = 1"
		}
		cols = append(cols, sqltext.Column{SQL: first, As: sqltext.FirstBy(i)})
	}
	return cols
}

// units counts each unit once, in the row of its level.
func (s *stages) units(norms []normColumn) string {
	where := func(first string) string { return countRows.SQL + " FILTER (WHERE " + first + ")" }
	switch {
	case !s.keyed():
		return countRows.SQL
	case s.set.Top == nil:
		return where(sqltext.First)
	}
	last := len(norms) - 1
	out := where(sqltext.FirstBy(last))
	if last == 0 {
		return out
	}
	cases := make([]string, last)
	for i := range cases {
		cases[i] = "WHEN GROUPING(" + sqltext.Level(i) + ") = 0 THEN " + where(sqltext.FirstBy(i))
	}
	return "CASE " + strings.Join(cases, " ") + " ELSE " + out + " END"
}

// weight writes the weight of a unit in each of its partitions [mechanisms.PartitionWeight]: the root is of
// an integer below 2⁵², of which a double is right to less than its distance from the next integer.
// A row that is nobody's has none.
func (s *stages) weight() string {
	weight := "CAST(pg_catalog.trunc(pg_catalog.sqrt(CAST(1099511627776 / pg_catalog.count(*) OVER (PARTITION BY u) " +
		"AS pg_catalog.float8))) AS pg_catalog.int4)"
	if s.set.alone() {
		weight = "1"
	}
	if s.sp.b.source.Tagged() {
		weight = "CASE WHEN " + sqltext.Selects + " THEN " + weight + " ELSE 0 END"
	}
	return weight
}

// A norm writes one norm of the unit of a row.
type norm struct {
	s  *stages
	of normColumn
}

// narrow says that the norm, or its square, is an int8.
func (n norm) narrow() bool { return n.of.of.st.counts() || n.coordinate() }

// coordinate says that the norm is the size of one number: without groups, or of each by itself.
func (n norm) coordinate() bool { return !n.s.keyed() || n.of.m.byGroup.holds() }

func (s *stages) keyed() bool { return len(s.set.keys) > 0 }

// squared says that the norm is the root of what is summed.
func (n norm) squared() bool { return !n.coordinate() && !n.of.m.laplace }

// size writes the norm, or its square.
func (n norm) size() string {
	x := n.of.of.name
	switch {
	case n.coordinate():
		return "pg_catalog.abs(" + x + ")"
	case n.of.m.laplace:
		x = "pg_catalog.abs(" + x + ")"
	case n.narrow():
		x += " * " + x
	default:
		x = "CAST(" + x + " AS pg_catalog.numeric) * " + x
	}
	sum := "pg_catalog.sum(" + x + ") OVER (PARTITION BY u)"
	if n.narrow() {
		sum = "CAST(" + sum + " AS pg_catalog.int8)"
	}
	return n.largest(sum)
}

// level writes the least level whose limit the norm is within, counted from the least one: it is decided in integers.
func (n norm) level() string {
	if !n.of.m.cuts() {
		of := n.of.m.Norms[n.of.norm]
		return strconv.Itoa(of.Grid.Below() + of.Fixed)
	}
	return bucket(n.size(), n.of.m.Norms[n.of.norm], n.squared(), n.narrow())
}

// bucket writes the level of a size, which is a norm or its square, counted from the least one.
func bucket(size string, of Norm, squared, narrow bool) string {
	limits, element := of.Grid.Integers(), numericType
	if squared {
		limits = of.Grid.Squares()
	}
	if narrow {
		element = int8Type
	}
	texts := make([]string, len(limits))
	for i, l := range limits {
		texts[i] = l.String()
	}
	return fmt.Sprintf("pg_catalog.width_bucket(%s - 1, CAST('{%s}' AS %s[]))", size, strings.Join(texts, ","), element)
}

// length writes 1024 times the norm, rounded up such that the statistics of a unit divided by it
// are within the unit ball; of a norm that is no root, the norm.
func (n norm) length() string { return n.withRoom(n.lengthOf()) }

func (n norm) lengthOf() string {
	switch {
	case !n.squared():
		return "GREATEST(" + n.size() + ", 1)"
	case n.narrow():
		return "CAST(pg_catalog.ceil(pg_catalog.sqrt(CAST(" + n.size() + " AS pg_catalog.float8)) * 1024) AS pg_catalog.int8) + 1"
	}
	return "pg_catalog.ceil(pg_catalog.sqrt(" + n.size() + " * 1048576)) + 1"
}

// total adds the units up by their levels.
func (s *stages) total(keys []string, from sqltext.Item) *sqltext.Select {
	norms := s.normColumns()
	cols := sqltext.Columns("", keys...)
	for i := range norms {
		cols = append(cols, sqltext.Column{SQL: sqltext.Level(i)})
	}
	if s.set.Private() {
		weights := "0"
		if s.read.units {
			weights = "pg_catalog.sum(" + sqltext.Weight + ")"
		}
		cols = append(cols, sqltext.Column{SQL: weights})
	}
	cols = append(cols, sqltext.Column{SQL: s.units(norms)})
	for _, x := range s.summands() {
		cols = append(cols, sqltext.Column{SQL: "pg_catalog.sum(" + x.name + ")"}, sqltext.Column{SQL: s.directions(x, norms)})
	}
	by := s.groupedBy(norms)
	if len(by) > 0 && !s.set.Private() {
		by = append(by, sqltext.Unsortable)
	}
	return &sqltext.Select{Columns: cols, From: from, GroupBy: by}
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
	by := norm{s: s, of: norms[at]}
	bits := m.fraction(x.st)
	if by.squared() {
		bits += 10
	}
	scale := new(big.Int).Lsh(big.NewInt(1), bits)
	most := x.most(s)
	if most.Mul(most, scale).Cmp(big.NewInt(narrowSum)) < 0 && by.narrow() {
		return fmt.Sprintf("pg_catalog.sum(%s * CAST(%v AS pg_catalog.int8) / %s)", x.name, scale, sqltext.Length(at))
	}
	return fmt.Sprintf("pg_catalog.sum(pg_catalog.div(CAST(%s AS pg_catalog.numeric) * %v, CAST(%s AS pg_catalog.numeric)))",
		x.name, scale, sqltext.Length(at))
}

// groupedBy lists the keys with the levels of each vector of a measure, or alone where there is
// none.
func (s *stages) groupedBy(norms []normColumn) []string {
	var sets [][]string
	for _, levels := range s.vectors(norms) {
		set := s.keys()
		for _, i := range levels {
			set = append(set, sqltext.Level(i))
		}
		sets = append(sets, set)
	}
	if len(sets) == 0 {
		return s.keys()
	}
	if len(sets) == 1 {
		return sets[0]
	}
	texts := make([]string, len(sets))
	for i, set := range sets {
		texts[i] = "(" + strings.Join(set, ", ") + ")"
	}
	return []string{"GROUPING SETS (" + strings.Join(texts, ", ") + ")"}
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

// A coarserNorm is the norm of a unit over the groups of a coarser set.
type coarserNorm struct {
	squareRatio int64
	// column has the sum of the unit in the group of a row; "" where all of its rows are in one group.
	column string
	keys   []string
}

// coarserNorms lists the norms, beside that of a summand's own, by which its units are weighted: none where
// they are at most that one.
func (s *stages) coarserNorms(x summand) []coarserNorm {
	m := x.st.measure
	if m.family == nil || m.laplace || !m.cuts() || s.set.alone() {
		return nil
	}
	var out []coarserNorm
	for i, c := range m.family.coarser {
		n := coarserNorm{squareRatio: c.squareRatio}
		if !c.set.alone() {
			n.column = sqltext.Subtotal(x.at, i)
			for _, k := range c.set.keys {
				n.keys = append(n.keys, sqltext.Key(slices.Index(s.set.keys, k)))
			}
		}
		same := slices.IndexFunc(out, func(o coarserNorm) bool { return o.column == "" && n.column == "" })
		if same < 0 {
			out = append(out, n)
		} else {
			out[same].squareRatio = min(out[same].squareRatio, n.squareRatio)
		}
	}
	return out
}

// withSubtotals adds to the rows of a relation the sums of their unit in the groups of coarser sets.
func (s *stages) withSubtotals(from string) sqltext.Item {
	table := &sqltext.Table{SQL: from, As: sqltext.Bounded}
	cols := []sqltext.Column{{SQL: "p.*"}}
	for _, x := range s.summands() {
		for _, n := range s.coarserNorms(x) {
			if n.column != "" {
				by := append([]string{sqltext.Unit}, n.keys...)
				cols = append(cols, sqltext.Column{SQL: sumOver(x, by), As: n.column})
			}
		}
	}
	if len(cols) == 1 {
		return table
	}
	return &sqltext.Query{Select: &sqltext.Select{Columns: cols, From: table}, As: sqltext.Bounded}
}

// sumOver adds a summand up: a count in int8, since the rows of a unit are bounded such that their square is.
func sumOver(x summand, by []string) string {
	sum := "pg_catalog.sum(" + x.name + ") OVER (PARTITION BY " + strings.Join(by, ", ") + ")"
	if x.st.counts() {
		return "CAST(" + sum + " AS pg_catalog.int8)"
	}
	return sum
}

// largest writes the square of the norm by which units are weighted in all sets, rounded up: of the largest of
// the own one and of those of coarser sets, divided by how many times the limit theirs is.
func (n norm) largest(own string) string {
	all := []string{own}
	for _, c := range n.s.coarserNorms(n.of.of) {
		unit := []string{sqltext.Unit}
		square := sumOver(n.of.of, unit)
		if square += " * " + square; c.column != "" {
			product := n.of.of.name + " * " + c.column
			square = "pg_catalog.sum(" + product + ") OVER (PARTITION BY u)"
			if n.narrow() {
				square = "CAST(" + square + " AS pg_catalog.int8)"
			}
		}
		all = append(all, dividedUp(square, c.squareRatio, n.narrow()))
	}
	if len(all) == 1 {
		return own
	}
	return "GREATEST(" + strings.Join(all, ", ") + ")"
}

// dividedUp writes a number that is not negative divided by another, rounded up.
func dividedUp(x string, by int64, narrow bool) string {
	switch {
	case by == 1:
		return x
	case narrow:
		return fmt.Sprintf("(%s + %d) / %d", x, by-1, by)
	}
	return fmt.Sprintf("pg_catalog.div(%s + %d, %d)", x, by-1, by)
}

// withRoom lengthens the length that directions of both signs are divided by. Each is rounded toward zero, so
// that a sum of k of them is off by k at most, of 2^f: divided by 2^f/(2^f−k) times the length, sums of
// directions are within the ball of the coarser set too. A unit is in fewer groups than 2^f.
func (n norm) withRoom(length string) string {
	sum, ok := n.of.of.st.statisticForm.(valueSum)
	oneSign := !ok || sum.values.low >= 0 || sum.values.high <= 0
	if oneSign || n.s.coarserNorms(n.of.of) == nil {
		return length
	}
	const ball = 1 << sumFraction
	return fmt.Sprintf("pg_catalog.div((%s) * %d, %d - %s OVER (PARTITION BY u)) + 1", length, ball, ball, countRows.SQL)
}
