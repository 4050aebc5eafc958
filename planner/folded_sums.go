package planner

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"dpproxy/fold"
	"dpproxy/planner/sqltext"
)

// A summedForm is a statistic that adds up columns of rows.
type summedForm interface {
	statisticForm
	// addition says how. The caller sets its filter.
	addition(c *addedColumns) (fold.Addition, error)
}

// addedColumns are the columns of rows after their keys, which are added up.
type addedColumns struct {
	*readWriter
	sql     []string
	columns []fold.Number
}

// column returns the index of a column, which it adds if necessary.
func (c *addedColumns) column(sql string, n fold.Number) int {
	for i := range c.sql {
		if c.sql[i] == sql && c.columns[i] == n {
			return i
		}
	}
	c.sql, c.columns = append(c.sql, sql), append(c.columns, n)
	return len(c.sql) - 1
}

// where returns the index of a condition.
func (c *addedColumns) where(sql string) int { return c.column(sql, fold.Number{Kind: fold.Truth}) }

// factor returns times·integer − less, for the integer of a term.
func (c *addedColumns) factor(t term, times, less int64) (fold.Factor, error) {
	if i := slices.IndexFunc(c.integers, t.sameInteger); i >= 0 {
		return c.factorOf(i, times, less), nil
	}
	x, err := c.integer(t)
	return fold.Factor{Column: c.column(x, t.steps()), Times: times, Less: less}, err
}

// factorOf is factor for an integer of the rows. Package fold rounds a stored column to its lattice, if it can.
func (c *addedColumns) factorOf(integer int, times, less int64) fold.Factor {
	x, number := sqltext.Integer(integer), c.integers[integer].steps()
	if c.stored[integer].Kind != 0 {
		x, number = sqltext.Of(sqltext.Rows, x), c.stored[integer]
	}
	return fold.Factor{Column: c.column(x, number), Times: times, Less: less}
}

// steps describes the integers of a term as DATA writes them.
func (t term) steps() fold.Number {
	return fold.Number{Kind: fold.Whole, Low: t.values.low, High: t.values.high}
}

// distance returns the distance from the middle of the bounds, in half steps.
func (c *addedColumns) distance(t term) (fold.Factor, error) {
	return c.factor(t, 2, t.values.low+t.values.high)
}

// sum adds up times·integer − less, for the integer of a term; package fold multiplies its factors if it can.
func (c *addedColumns) sum(t term, times, less int64) (fold.Addition, error) {
	at := slices.IndexFunc(c.products, func(p product) bool { return p.apart != nil && p.sameInteger(t) })
	if at < 0 {
		f, err := c.factor(t, times, less)
		return fold.Addition{Factors: []fold.Factor{f}, Unit: 1}, err
	}
	a := fold.Addition{Unit: 1, Offset: less}
	for _, f := range c.products[at].apart {
		of, _ := c.reader.factor(f.Column)
		integer := slices.IndexFunc(c.integers, of.equal)
		a.Factors = append(a.Factors, c.factorOf(integer, times*f.Times, times*f.Less))
		times = 1
	}
	return a, nil
}

func (f valueSum) addition(c *addedColumns) (fold.Addition, error) { return c.sum(f.term, 1, 0) }

func (f offsetSum) addition(c *addedColumns) (fold.Addition, error) { return c.sum(f.term, 1, 0) }

func (f centredSum) addition(c *addedColumns) (fold.Addition, error) {
	return c.sum(f.term, 2, f.values.low+f.values.high)
}

func (f productSum) addition(c *addedColumns) (fold.Addition, error) {
	return c.product(f.y, f.x, f.unit)
}

func (f squareSum) addition(c *addedColumns) (fold.Addition, error) {
	a, err := c.product(f.term, f.term, f.unit)
	if err != nil {
		return a, err
	}
	a.Offset, err = f.offset()
	return a, err
}

// product adds up products of distances in a unit.
func (c *addedColumns) product(y, x term, unit int64) (fold.Addition, error) {
	first, err := c.distance(y)
	if err != nil {
		return fold.Addition{}, err
	}
	second, err := c.distance(x)
	return fold.Addition{Factors: []fold.Factor{first, second}, Unit: unit}, err
}

// addition returns the numbers and the rows that a statistic adds up.
func (c *addedColumns) addition(st *statistic) (fold.Addition, error) {
	a := fold.Addition{Unit: 1} // counts rows
	if form, ok := st.statisticForm.(summedForm); ok {
		var err error
		if a, err = form.addition(c); err != nil {
			return a, err
		}
	} else if !st.counts() {
		return a, fmt.Errorf("planner: %s is not added up of rows", st)
	}
	cond := ""
	if st.filter != nil {
		cond = sqltext.Of(sqltext.Rows, c.filter(st))
	}
	if f, ok := st.statisticForm.(valueCount); ok && c.sp.nullable(f.arg) {
		// IS NOT NULL is false for a composite value with a NULL field.
		counts := "pg_catalog.num_nulls(" + sqltext.Of(sqltext.Rows, c.reader.column(f.arg)) + ") = 0"
		if cond != "" {
			counts = "(" + counts + " AND " + cond + ")"
		}
		cond = counts
	}
	if a.Filter = -1; cond != "" {
		a.Filter = c.where(cond)
	}
	return a, nil
}

// addSums says how the rows of plain statistics are added up, and writes their columns.
func (s *readWriter) addSums(spec *fold.Spec) ([]sqltext.Column, error) {
	c := &addedColumns{readWriter: s}
	spec.Sums = s.foldSums()
	for _, st := range s.read.statistics {
		a, err := c.addition(st)
		if err != nil {
			return nil, err
		}
		spec.Sums.Additions = append(spec.Sums.Additions, a)
	}
	spec.Sums.Columns = c.columns
	cols := make([]sqltext.Column, len(c.sql))
	for i, sql := range c.sql {
		cols[i] = sqltext.Column{SQL: sql, As: sqltext.Statistic(i)}
	}
	return cols, nil
}

// foldSums says how the sums of units are bounded.
func (s *readWriter) foldSums() *fold.Sums {
	norms, sums := s.normColumns(), &fold.Sums{Weights: s.foldWeights()}
	for _, x := range s.summands() {
		sums.Summands = append(sums.Summands, s.foldSummand(x, norms))
	}
	for _, n := range norms {
		sums.Norms = append(sums.Norms, s.foldBound(norm{s: s, of: n}))
	}
	s.describe()
	for _, levels := range s.vectors(norms) {
		sums.Vectors = append(sums.Vectors, s.foldVector(levels))
	}
	return sums
}

// ofUnits writes the statistics of each unit over all of its rows, and says how they are bounded.
func (s *readWriter) ofUnits() (*sqltext.Select, error) {
	from, err := s.source()
	if err != nil {
		return nil, err
	}
	cols, err := s.sums()
	if err != nil {
		return nil, err
	}
	sums := s.foldSums()
	for i, st := range s.read.statistics {
		kind := fold.Whole
		if !st.counts() {
			kind, cols[i].SQL = fold.DecimalNumber, "CAST("+cols[i].SQL+" AS pg_catalog.numeric)"
		}
		sums.Summed = append(sums.Summed, kind)
	}
	s.read.Fold, s.read.Ordered = &fold.Spec{ByUnit: true, Sums: sums}, s.sp.unitOrdered()
	return &sqltext.Select{Columns: cols, From: from, GroupBy: []string{sqltext.Unit}}, nil
}

// foldSummand is the part of a unit in a group. It saturates at public numbers, and at a proved number of rows.
func (s *readWriter) foldSummand(x summand, norms []normColumn) fold.Summand {
	m, rows := x.st.measure, s.set.bounds.rows
	out := fold.Summand{Addition: x.at, Most: m.weighting.most(x.st, rows), Norm: -1}
	if x.st.counts() {
		out.Most = x.st.statisticForm.(normForm).adds(rows)
	} else {
		m.weighting.saturates(&out, x.st, x.vector, rows, s.counting(m))
	}
	if len(m.Norms) == 1 && m.cuts() {
		out.Norm, out.Fraction = slices.IndexFunc(norms, func(n normColumn) bool { return n.m == m }), m.fraction(x.st)
	}
	return out
}

// foldBound is a norm that gives units their levels.
func (s *readWriter) foldBound(n norm) fold.Bound {
	of, m := n.of.m.Norms[n.of.norm], n.of.m
	summand := slices.Index(s.summands(), n.of.of)
	if !m.cuts() {
		return fold.Bound{Summand: summand, Level: of.Grid.Below() + of.Fixed}
	}
	out := fold.Bound{Summand: summand, Kind: fold.Absolute, Limits: of.Grid.Integers(), Signed: n.signed()}
	switch {
	case n.coordinate():
		out.Kind = fold.Largest
	case n.squared():
		out.Kind, out.Limits, out.Counted = fold.Root, of.Grid.Squares(), n.of.of.st.counts()
		out.Coarser = s.coarserNorms(n.of.of)
	}
	return out
}

// coarserNorms lists the further norms that weigh the units of a summand; none if they never exceed its own norm.
func (s *readWriter) coarserNorms(x summand) []fold.Coarser {
	m := x.st.measure
	if m.family == nil || m.laplace || !m.cuts() || s.set.alone() {
		return nil
	}
	var out []fold.Coarser
	for _, c := range m.family.coarser {
		n := fold.Coarser{Square: c.weights.squareRatio}
		if !c.set.alone() {
			for _, k := range c.set.keys {
				n.Keys = append(n.Keys, slices.Index(s.set.keys, k))
			}
		}
		same := slices.IndexFunc(out, func(o fold.Coarser) bool { return o.Keys == nil && n.Keys == nil })
		if same < 0 {
			out = append(out, n)
		} else {
			out[same].Square = min(out[same].Square, n.Square)
		}
	}
	return out
}

// signed reports whether directions have both signs and are added up for coarser sets.
func (n norm) signed() bool {
	sum, ok := n.of.of.st.statisticForm.(valueSum)
	oneSign := !ok || sum.values.low >= 0 || sum.values.high <= 0
	return !oneSign && n.s.coarserNorms(n.of.of) != nil
}

// foldVector returns the vector with these norms, and the summands that are read with their levels.
func (s *readWriter) foldVector(levels []int) fold.Vector {
	out, of := fold.Vector{Norms: levels}, s.read.levels[levels[len(levels)-1]]
	for i, x := range s.read.sums {
		if x.measure == of.measure && !x.bounds && (x.vector == of.vector || x.shared) {
			out.Summands = append(out.Summands, i)
		}
	}
	return out
}

// foldWeights returns the weights by which private groups are selected.
func (s *readWriter) foldWeights() fold.Weights {
	var out fold.Weights
	switch {
	case !s.set.Private():
		return out
	case s.set.alone():
		out.Kind = fold.Single
	default:
		out.Kind = fold.Spread
	}
	if s.sp.b.source.Tagged() {
		out.Nobody = sqltext.Unowned
	}
	return out
}

// Totalled converts a part of the read's sums.
func (r *Read) Totalled(t fold.Total) Row {
	row := Row{Keys: t.Keys, Measure: -1}
	if t.Weight != nil {
		row.Weights = strconv.AppendInt(nil, *t.Weight, 10)
		return row
	}
	v := r.Fold.Sums.Vectors[t.Vector]
	for i, level := range t.Levels {
		of := r.levels[v.Norms[i]]
		row.Measure, row.Vector = of.measure.at, of.vector
		row.Levels = append(row.Levels, level-of.measure.Norms[of.norm].Grid.Below())
	}
	if t.Units != nil {
		row.Units = strconv.AppendInt(nil, *t.Units, 10)
		return row
	}
	for i, n := range v.Summands {
		cell := Cell{At: r.sums[n].place, Sum: decimal(t.Sums[i])}
		if r.Fold.Sums.Summands[n].Norm >= 0 {
			cell.Directions = decimal(t.Directions[i])
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

func decimal(n *big.Int) []byte { return n.Append(nil, 10) }
