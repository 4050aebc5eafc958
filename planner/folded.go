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

// folded writes the rows that count, each with its unit, its keys and its value, and says how package fold adds them up.
func (s *readWriter) folded() (*sqltext.Select, error) {
	rows, err := s.rows()
	if err != nil {
		return nil, err
	}
	spec := &fold.Spec{Unit: columnOf(s.w.Physical(s.sp.b.source.Unit())), ByUnit: s.sp.unitOrdered()}
	if s.set.Private() && !s.set.alone() {
		spec.Groups = int(s.set.bounds.groups)
	}
	q := &sqltext.Select{Columns: sqltext.Columns(sqltext.Rows, sqltext.Unit), From: &sqltext.Query{Select: rows, As: sqltext.Rows}}
	for n := range s.set.keys {
		if err := s.addKey(n, q, spec); err != nil {
			return nil, err
		}
	}
	if s.own == nil {
		var cols []sqltext.Column
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
func (s *readWriter) addValue(q *sqltext.Select, spec *fold.Spec) error {
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

// foldNorm returns the norm that bounds the units of a measure.
func (s *readWriter) foldNorm(m *Measure) fold.Norm {
	if s.folds() && !m.laplace {
		return fold.Norm{Squared: true, Limits: m.Norms[0].Grid.Squares()}
	}
	return fold.Norm{Limits: m.Norms[0].Grid.Integers()}
}

// addKey writes a key of a row, and says how it is read.
func (s *readWriter) addKey(n int, q *sqltext.Select, spec *fold.Spec) error {
	var cols []sqltext.Column
	var key fold.Key
	_, t, err := s.w.Key(s.sp.b.keys[s.set.keys[n]].expr)
	if err != nil {
		return err
	}
	of := sqltext.Of(sqltext.Rows, sqltext.Key(n))
	if s.set.Private() {
		key, cols, err = privateKey(n, of, t)
	} else {
		key, cols = s.publicKey(n, of, t, q, spec)
	}
	spec.Keys, q.Columns = append(spec.Keys, key), append(q.Columns, cols...)
	return err
}

// publicKey writes a public key as it is, and package fold looks up its number in the list; or it writes the number, if only the database
// knows which values are equal.
func (s *readWriter) publicKey(n int, of string, t pgtype.Type, q *sqltext.Select, spec *fold.Spec) (fold.Key, []sqltext.Column) {
	l, at := s.listWith(s.set.keys[n])
	if c := columnOf(t); c.Kind != 0 {
		spec.Lists = append(spec.Lists, fold.List{Column: c, Null: l.null[at]})
		s.arrays = append(s.arrays, s.array(l, at, t))
		return fold.Key{Column: c, Shown: fold.Numbered, List: len(spec.Lists) - 1}, []sqltext.Column{{SQL: of, As: sqltext.Key(n)}}
	}
	number, from, where := s.numberedKey(n, of, q.From, t)
	q.From, q.Where = from, append(q.Where, where)
	return fold.Key{Column: fold.Column{Kind: fold.Plain}, Shown: fold.Decimal}, []sqltext.Column{{SQL: number, As: sqltext.Key(n)}}
}

// privateKey writes a private key itself, or its canonical bytes and the text that is shown.
func privateKey(n int, of string, t pgtype.Type) (key fold.Key, cols []sqltext.Column, err error) {
	cols, key = []sqltext.Column{{SQL: of, As: sqltext.Key(n)}}, fold.Key{Column: columnOf(t)}
	switch t.Family() { //nolint:exhaustive // the database writes the others as text
	case pgtype.IntFamily:
		key.Shown = fold.Decimal
	case pgtype.TextFamily, pgtype.EnumFamily:
		key.Shown = fold.Same
	case pgtype.BoolFamily:
		key.Shown = fold.Word
	case pgtype.UUIDFamily:
		key.Shown = fold.Hex
	}
	text, err := scalar.KeyText(t, of)
	if key.Shown == 0 {
		key = fold.Key{Column: fold.Column{Kind: fold.Written}, Shown: fold.Behind}
		cols = []sqltext.Column{{SQL: scalar.Canonical(t, of), As: sqltext.Key(n)}, {SQL: text, As: sqltext.Text(n)}}
	}
	return key, cols, err
}

// foldValue implements valueForm.
func (f differentCount) foldValue(s *readWriter, from sqltext.Item, spec *fold.Spec) (string, sqltext.Item, error) {
	_, t, err := s.w.Value(f.arg)
	if err != nil {
		return "", nil, err
	}
	spec.Value = columnOf(t)
	return sqltext.Of(sqltext.Rows, s.column(f.arg)), from, nil
}

func (differentCount) folded(sum fold.Sum) Cell {
	return Cell{Sum: strconv.AppendInt(nil, sum.Rows, 10), Directions: []byte("0")} // values beyond a limit are not counted
}

// foldValue implements valueForm. It writes the value as it is if package fold can round it to the lattice.
func (f histogram) foldValue(s *readWriter, from sqltext.Item, spec *fold.Spec) (string, sqltext.Item, error) {
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

// stepsOf says how values of a physical type are rounded to the lattice; its Kind is 0 if DATA has to do it.
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

// foldBuckets describes the buckets of the tree.
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

// foldValue implements valueForm. It writes the value or its number in the list; values that are not in the list do not count.
func (f modes) foldValue(s *readWriter, from sqltext.Item, spec *fold.Spec) (string, sqltext.Item, error) {
	_, t, err := s.w.Value(f.arg)
	if err != nil {
		return "", nil, err
	}
	number, value := fold.Number{Kind: fold.Whole, High: int64(f.tree.Buckets() - 1)}, sqltext.Of(sqltext.Rows, s.column(f.arg))
	if c := columnOf(t); c.Kind != 0 {
		number.Kind = fold.Position
		spec.Lists, s.arrays = append(spec.Lists, fold.List{Column: c}), append(s.arrays, s.array(f.list, 0, t))
	} else {
		value, from = f.numberedValue(s.reader, sqltext.Rows, s.column(f.arg), from, t)
	}
	spec.Buckets = f.foldBuckets(number, s.read.statistics[0])
	return value, from, nil
}

// ByUnit returns the statement with its rows in the order of units, for a read that is folded.
func (r *Read) ByUnit() string {
	if r.Fold.ByUnit {
		return r.SQL
	}
	return r.SQL + " ORDER BY " + sqltext.Unit
}

// Folded converts a sum of the read's rows.
func (r *Read) Folded(sum fold.Sum) Row {
	row, s := r.ofLevel(sum.Level), r.statistics[0]
	cell := s.own().folded(sum)
	cell.At += s.place
	row.Keys, row.Cells = sum.Keys, []Cell{cell}
	return row
}

// FoldedUnits converts a number of units of a level.
func (r *Read) FoldedUnits(level int, n int64) Row {
	row := r.ofLevel(level)
	row.Units = strconv.AppendInt(nil, n, 10)
	return row
}

// ofLevel returns a row for a level of package fold, which begins below the grid's own first level.
func (r *Read) ofLevel(level int) Row {
	m := r.statistics[0].measure
	return Row{Measure: m.at, Levels: []int{level - m.Norms[0].Grid.Below()}}
}
