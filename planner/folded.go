package planner

import (
	"fmt"
	"math/big"
	"strconv"

	"dpproxy/estimate"
	"dpproxy/fold"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// folded writes the rows that count, each with its unit, its keys and its value, and says how they are added up.
func (s *stages) folded() (*sqltext.Select, error) {
	rows, err := s.rows()
	if err != nil {
		return nil, err
	}
	spec := &fold.Spec{Unit: columnOf(s.w.Physical(s.sp.b.source.Unit())), ByUnit: s.sp.unitOrdered()}
	if s.set.Private() && !s.set.alone() {
		spec.Groups = int(s.set.bounds.groups)
	}
	numbers, from, where, err := s.numbered(sqltext.Rows, &sqltext.Query{Select: rows, As: sqltext.Rows})
	if err != nil {
		return nil, err
	}
	cols := sqltext.Columns(sqltext.Rows, sqltext.Unit)
	for n := range numbers {
		key, written, err := s.foldKey(n, numbers[n])
		if err != nil {
			return nil, err
		}
		spec.Keys, cols = append(spec.Keys, key), append(cols, written...)
	}
	q := &sqltext.Select{Columns: cols, From: from, Where: where}
	if s.own == nil {
		cols, err = s.addSums(spec)
		q.Columns = append(q.Columns, cols...)
	} else {
		err = s.addValue(q, spec)
	}
	if err != nil {
		return nil, err
	}
	if spec.Unit.Kind == 0 || spec.Sums == nil && spec.Buckets == nil && spec.Value.Kind == 0 {
		return nil, fmt.Errorf("planner: values of %s cannot be told apart", s.read.statistics)
	}
	if s.read.Fold = spec; spec.ByUnit {
		q.OrderBy = []string{sqltext.Unit}
	}
	return q, nil
}

// addValue writes the value of a row that counts, and says how it is read.
func (s *stages) addValue(q *sqltext.Select, spec *fold.Spec) error {
	st := s.read.statistics[0]
	spec.Norm = s.foldNorm(st.measure)
	value, from, err := s.own.foldValue(s, q.From, spec)
	q.Columns, q.From = append(q.Columns, sqltext.Column{SQL: value, As: sqltext.Value}), from
	q.Where = append(q.Where, value+" IS NOT NULL")
	if st.filter != nil {
		q.Where = append(q.Where, sqltext.Of(sqltext.Rows, s.filter(st)))
	}
	return err
}

// foldNorm is the norm by which the units of a measure are bounded.
func (s *stages) foldNorm(m *Measure) fold.Norm {
	if s.folds() && !m.laplace {
		return fold.Norm{Squared: true, Limits: m.Norms[0].Grid.Squares()}
	}
	return fold.Norm{Limits: m.Norms[0].Grid.Integers()}
}

// foldKey writes the columns of a key: a public one is the number of its value, a private one itself, or bytes and the text that shows it.
func (s *stages) foldKey(n int, sql string) (fold.Key, []sqltext.Column, error) {
	cols := []sqltext.Column{{SQL: sql, As: sqltext.Key(n)}}
	if !s.set.Private() {
		return fold.Key{Column: fold.Column{Kind: fold.Plain}, Shown: fold.Decimal}, cols, nil
	}
	_, t, err := s.w.Key(s.sp.b.keys[s.set.keys[n]].expr)
	if err != nil {
		return fold.Key{}, nil, err
	}
	key := fold.Key{Column: columnOf(t)}
	switch t.Family() { //nolint:exhaustive // the others are written by the database
	case pgtype.IntFamily:
		key.Shown = fold.Decimal
	case pgtype.TextFamily, pgtype.EnumFamily:
		key.Shown = fold.Same
	case pgtype.BoolFamily:
		key.Shown = fold.Word
	case pgtype.UUIDFamily:
		key.Shown = fold.Hex
	}
	text, err := scalar.KeyText(t, sql)
	if key.Shown == 0 {
		key = fold.Key{Column: fold.Column{Kind: fold.Written}, Shown: fold.Behind}
		cols = []sqltext.Column{{SQL: scalar.Canonical(t, sql), As: sqltext.Key(n)}, {SQL: text, As: sqltext.Text(n)}}
	}
	return key, cols, err
}

// foldValue implements valueForm.
func (f differentCount) foldValue(s *stages, from sqltext.Item, spec *fold.Spec) (string, sqltext.Item, error) {
	_, t, err := s.w.Value(f.arg)
	if err != nil {
		return "", nil, err
	}
	spec.Value = columnOf(t)
	return sqltext.Of(sqltext.Rows, s.column(f.arg)), from, nil
}

func (differentCount) folded(sum fold.Sum) Cell {
	return Cell{Sum: strconv.AppendInt(nil, sum.Rows, 10), Directions: []byte("0")} // beyond a limit nothing is counted
}

// foldValue implements valueForm: a value as it is where package fold can bring it onto the lattice.
func (f histogram) foldValue(s *stages, from sqltext.Item, spec *fold.Spec) (string, sqltext.Item, error) {
	_, t, err := s.w.Value(f.arg)
	if err != nil {
		return "", nil, err
	}
	x, number := sqltext.Of(sqltext.Rows, s.column(f.arg)), f.stepsOf(t)
	if number.Kind == 0 {
		number.Kind = fold.Whole
		var integer string
		integer, err = s.integer(f.term)
		x = "CASE WHEN " + x + " IS NOT NULL THEN " + integer + " END"
	}
	spec.Buckets = f.foldBuckets(number, s.read.statistics[0])
	return x, from, err
}

// stepsOf says how values of a physical type are brought onto the lattice; its kind is 0 where DATA has to do it.
func (t term) stepsOf(of pgtype.Type) fold.Number {
	l := &t.values
	n := fold.Number{Low: l.low, High: l.high}
	decimal := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(l.digits)), nil).Cmp(l.scale) == 0
	switch of.Family() { //nolint:exhaustive // the others have no lattice
	case pgtype.IntFamily:
		if decimal && l.digits == 0 {
			n.Kind = fold.Whole
		}
	case pgtype.NumericFamily:
		if decimal {
			n.Kind, n.Decimals = fold.DecimalNumber, l.digits
		}
	case pgtype.FloatFamily:
		if bits := l.scale.BitLen() - 1; l.scale.TrailingZeroBits() == uint(bits) {
			n.Kind, n.Bits = fold.FloatNumber, uint(bits)
		}
	case pgtype.DateFamily, pgtype.InstantFamily:
		if n.Kind = fold.Moments; of.OID == pgtype.Date {
			n.Kind = fold.Days
		}
	}
	return n
}

// foldBuckets says which buckets there are.
func (f histogram) foldBuckets(number fold.Number, st *statistic) *fold.Buckets {
	b := &fold.Buckets{Number: number, Grid: gridOf(f.tree, number.Low), Fraction: st.measure.fraction(st)}
	for level := range f.tree.Levels() {
		b.Divisors = append(b.Divisors, f.tree.Divisor(level))
	}
	return b
}

func gridOf(tree estimate.Shape, low int64) fold.Grid {
	of := tree.Doubling()
	if of == nil {
		return fold.Grid{Low: low, Width: tree.Width()}
	}
	return fold.Grid{Low: of.Pivot, Cuts: of.Cuts, Below: of.Below, Each: of.Buckets, First: of.First}
}

func (histogram) folded(sum fold.Sum) Cell {
	return Cell{At: sum.Node, Sum: strconv.AppendInt(nil, sum.Rows, 10), Directions: strconv.AppendInt(nil, sum.Directions, 10)}
}

// foldValue implements valueForm: the number of a value among those of the list, which others have none of.
func (f modes) foldValue(s *stages, from sqltext.Item, spec *fold.Spec) (string, sqltext.Item, error) {
	_, t, err := s.w.Value(f.arg)
	if err != nil {
		return "", nil, err
	}
	number, from := f.numberedValue(s.reader, sqltext.Rows, s.column(f.arg), from, t)
	spec.Buckets = f.foldBuckets(fold.Number{Kind: fold.Whole, High: int64(f.tree.Buckets() - 1)}, s.read.statistics[0])
	return number, from, nil
}

// ByUnit returns the statement of the same rows in the order of units, for a read that is folded.
func (r *Read) ByUnit() string {
	if r.Fold.ByUnit {
		return r.SQL
	}
	return r.SQL + " ORDER BY " + sqltext.Unit
}

// Folded returns a sum of the read's rows.
func (r *Read) Folded(sum fold.Sum) Row {
	row, s := r.ofLevel(sum.Level), r.statistics[0]
	cell := s.own().folded(sum)
	cell.At += s.place
	row.Keys, row.Cells = sum.Keys, []Cell{cell}
	return row
}

// FoldedUnits returns a number of units, of one level.
func (r *Read) FoldedUnits(level int, n int64) Row {
	row := r.ofLevel(level)
	row.Units = strconv.AppendInt(nil, n, 10)
	return row
}

// ofLevel is a row of units of a level, which is counted from the least one.
func (r *Read) ofLevel(level int) Row {
	m := r.statistics[0].measure
	return Row{Measure: m.at, Levels: []int{level - m.Norms[0].Grid.Below()}}
}
