package planner

import (
	"math/big"
	"reflect"
	"slices"

	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/fold"
	"dpproxy/mechanisms"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// A statistic is one exact aggregate that is read: an integer for each partition or, of a
// histogram, one for each of its nodes. A value is computed from one to
// three statistics; equal statistics are read and drawn once.
type statistic struct {
	statisticForm
	filter scalar.Expr // nil if none
	place  int         // of its first integer among those of a partition
	first  int         // of the first among the released integers of a partition
	// shares of the budget, in millionths: how much it weighs beside other statistics.
	shares int64
	// sensitivity and levels, of which a histogram has one for each of its own and all others one,
	// are those of a grouping set where a unit has one row.
	sensitivity dp.Sensitivity
	levels      []mechanisms.Mechanism
	// measure bounds what a unit adds in all other sets; nil where it has one row. A row adds at
	// most each to the statistic for one that it adds to the norm of the measure.
	measure *Measure
	each    int64
	noises  onceOf[noiseOf, contribution.Noise]
	// chosenBy are the choices of a set where a unit has one row, for the budget, choosers those of others by limit.
	chosenBy []Chooser
	budget   share
	choosers onceOf[int, []Chooser]
}

// A statisticForm is a kind of statistic with its arguments: how it is written in SQL, and how
// far one unit can change it. A form that is not read beside others is a [valueForm].
type statisticForm interface {
	// String names the statistic for people, but for its filter.
	String() string
	// terms are the arguments that it is computed from.
	terms() []term
	// ofOneRow computes, from integer limits alone, how much a unit with one row changes it.
	ofOneRow(c unitBounds) (dp.Sensitivity, error)
	// counts says that it is never negative.
	counts() bool
	// additive says that the statistic of a group is the sum of its parts'.
	additive() bool
	// shape is how many integers it has at each level.
	shape() []int
	// ofRows writes it over the rows of one partition, without the filter.
	ofRows(r rowColumns) (string, error)
}

// A normForm is a statistic whose values of one unit can have a norm that is bounded.
type normForm interface {
	statisticForm
	// adds is the most that a unit with so many rows adds to a group, in size.
	adds(rows int64) *big.Int
}

// rowColumns are the columns of the rows that a statistic is computed of: arguments as the source
// has them, clamped integers, and how much a unit may have.
type rowColumns interface {
	column(arg scalar.Expr) string
	integer(t term) (string, error)
	// late says that integer is the value itself, clamped, to be brought onto the lattice when it is summed.
	late(t term) bool
	contributed() unitBounds
}

// A lateForm is a sum that can be brought onto the lattice behind the rows.
type lateForm interface {
	statisticForm
	summed() term
	// scaled brings the sum of so many values onto the lattice, in the type that a sum of integers has.
	scaled(sum, count string) string
}

// countRows is the number of rows, as a column n.
var countRows = sqltext.Column{SQL: "pg_catalog.count(*)", As: sqltext.Count}

// A valueForm is a statistic that is read by a statement of its own: rows as they are, which package fold adds up, or, where a unit
// has one row, grouped by a column b as well.
type valueForm interface {
	statisticForm
	// value writes b of a row that counts.
	value(r rowColumns) (string, error)
	// perValue says that the rows of a unit with the same b are added up: they have a column n.
	perValue() bool
	// total writes the integers of all units from a relation with b and n, grouped by its keys,
	// which are returned in another form.
	total(by, keys []string, from sqltext.Item) *sqltext.Select
	// ofGroups writes the columns of a group of rows of which each is another unit's.
	ofGroups() []sqltext.Column
	// places returns the integers of a row of the read, counted from the first of the
	// statistic; false for a row that its SQL cannot have returned.
	places(row [][]byte) ([]Cell, bool)
	// foldValue writes the value of a row where units have several, from an item with the rows, and says how it is read.
	foldValue(s *readWriter, from sqltext.Item, spec *fold.Spec) (sql string, _ sqltext.Item, err error)
	// folded returns the integer that a sum of these values is, counted from the first of the statistic.
	folded(sum fold.Sum) Cell
}

// String names a statistic.
func (s *statistic) String() string {
	if s.filter != nil {
		return s.statisticForm.String() + " where a filter holds"
	}
	return s.statisticForm.String()
}

// equal reports whether two statistics read the same, with the same weights of units.
func (s *statistic) equal(o *statistic) bool {
	return s.measure.sameWeights(o.measure) && reflect.TypeOf(s.statisticForm) == reflect.TypeOf(o.statisticForm) &&
		sameExpr(s.filter, o.filter) && slices.EqualFunc(s.terms(), o.terms(), term.equal)
}

// nodes returns how many integers the statistic is.
func (s *statistic) nodes() int {
	n := 0
	for _, level := range s.shape() {
		n += level
	}
	return n
}

// own returns the statistic as one that is read by a statement of its own, or nil.
func (s *statistic) own() valueForm {
	v, _ := s.statisticForm.(valueForm)
	return v
}

// A single is the common part of statistics of one integer.
type single struct{}

func (single) shape() []int { return []int{1} }

// noiseOf is a level of the tree of a statistic, and the limits of its measure.
type noiseOf struct {
	tree     int
	levels   [contribution.MaxNorms]int
	choosing bool
}

// noiseAt returns the noise of a level of the tree of a statistic.
func (s *statistic) noiseAt(tree int, clips []Clip) contribution.Noise {
	if s.measure == nil {
		return contribution.Noise{Of: s.levels[tree]}
	}
	if s.levels != nil { // designed for one limit
		return contribution.Noise{Of: s.levels[tree], Bits: s.measure.lattice(s)}
	}
	levels, of := clips[s.measure.at].Levels, noiseOf{tree: tree, choosing: s.choosing() != nil}
	copy(of.levels[:], levels)
	return s.noises.get(of, func() contribution.Noise {
		return contribution.Noise{Of: must(s.measure.mechanism(s, tree, levels)), Bits: s.measure.lattice(s)}
	})
}
