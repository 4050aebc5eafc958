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

// A statistic is one exact aggregate that is read: an integer for each partition, or, for a histogram, for each of its nodes. Equal
// statistics are read and drawn once.
type statistic struct {
	statisticForm
	filter scalar.Expr // nil if none
	place  int         // the index of its first integer among the integers of a partition
	first  int         // the index of its first integer among the released integers of a partition
	// shares of the budget, in millionths.
	shares int64
	// If each unit has one row, sensitivity is the sensitivity of each level, and levels has one mechanism for each level; only a histogram
	// has several levels.
	sensitivity dp.Sensitivity
	levels      []mechanisms.Mechanism
	// along is the number of groups whose running totals are measured; 0 if groups are measured by themselves.
	along int
	// measure bounds what a unit adds in all other cases; it is nil if each unit has one row. A row that adds 1 to the norm of the measure
	// adds at most each to the statistic.
	measure *Measure
	each    int64
	noises  onceOf[noiseOf, contribution.Noise]
	// chosenBy has the choices if each unit has one row; choosers has them by limit otherwise.
	chosenBy []Chooser
	budget   share
	choosers onceOf[int, []Chooser]
}

// A statisticForm is a kind of statistic with its arguments. It writes the statistic as SQL, and bounds the change by a unit. A form that
// needs a read of its own is a [valueForm].
type statisticForm interface {
	// String names the statistic without its filter.
	String() string
	// terms are the arguments of the statistic.
	terms() []term
	// ofOneRow computes, from integer limits alone, how much a unit with one row changes the statistic.
	ofOneRow(c unitBounds) (dp.Sensitivity, error)
	// counts says that the statistic is never negative.
	counts() bool
	// additive says that the statistic of a group is the sum of the statistics of its parts.
	additive() bool
	// shape returns the number of integers at each level.
	shape() []int
	// ofRows writes the statistic over the rows of a partition, without the filter.
	ofRows(r rowColumns) (string, error)
}

// A normForm is a statistic for which a norm of a unit's contributions can be bounded.
type normForm interface {
	statisticForm
	// adds returns the largest absolute value that a unit with a number of rows adds to a group.
	adds(rows int64) *big.Int
}

// rowColumns are the columns of the rows from which a statistic is computed: arguments, clamped integers, and bounds of the rows of a unit.
type rowColumns interface {
	column(arg scalar.Expr) string
	integer(t term) (string, error)
	// late says that integer returns the clamped value itself, which is rounded to the lattice after it is summed.
	late(t term) bool
	contributed() unitBounds
}

// A lateForm is a sum that can be rounded to the lattice after the rows are summed.
type lateForm interface {
	statisticForm
	summed() term
	// scaled converts the sum of count values to steps of the lattice, in the type of a sum of integers.
	scaled(sum, count string) string
}

// countRows is the number of rows, as a column n.
var countRows = sqltext.Column{SQL: "pg_catalog.count(*)", As: sqltext.Count}

// A valueForm is a statistic with a read of its own. Its rows are added up by package fold, or, if each unit has one row, grouped by a
// column b as well.
type valueForm interface {
	statisticForm
	// value writes b for a row that counts.
	value(r rowColumns) (string, error)
	// perValue says that rows with the same b are counted together, in a column n.
	perValue() bool
	// total writes the integers of all units, from a relation with b and n, grouped by its keys, and returns the columns keys.
	total(by, keys []string, from sqltext.Item) *sqltext.Select
	// ofGroups writes the columns of a group of rows, each of another unit.
	ofGroups() []sqltext.Column
	// places returns the integers of a row of the read, counted from the first integer of the statistic; it returns false if the SQL cannot
	// have returned the row.
	places(row [][]byte) ([]Cell, bool)
	// foldValue writes the value of a row, from an item with the rows, and says how package fold reads it.
	foldValue(s *readWriter, from sqltext.Item, spec *fold.Spec) (sql string, _ sqltext.Item, err error)
	// folded returns the integer of the statistic that a sum of package fold is.
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

// nodes returns the number of integers of the statistic.
func (s *statistic) nodes() int {
	n := 0
	for _, level := range s.shape() {
		n += level
	}
	return n
}

// own returns the form of the statistic if it needs a read of its own, or nil.
func (s *statistic) own() valueForm {
	v, _ := s.statisticForm.(valueForm)
	return v
}

// A single is the common part of statistics of one integer.
type single struct{}

func (single) shape() []int { return []int{1} }

// noiseOf is a level of the tree of a statistic, and levels of the limits of its measure.
type noiseOf struct {
	tree     int
	levels   [contribution.MaxNorms]int
	choosing bool
}

// noiseAt returns the noise of a level of the tree of a statistic.
func (s *statistic) noiseAt(tree int, clips []Clip) contribution.Noise {
	if s.measure == nil {
		n := contribution.Noise{Of: s.levels[tree]}
		if s.along > 0 {
			n.Bits = mechanisms.TotalsBits
		}
		return n
	}
	if s.levels != nil { // designed for the only limit
		return contribution.Noise{Of: s.levels[tree], Bits: s.measure.lattice(s)}
	}
	levels, of := clips[s.measure.at].Levels, noiseOf{tree: tree, choosing: s.choosing() != nil}
	copy(of.levels[:], levels)
	return s.noises.get(of, func() contribution.Noise {
		return contribution.Noise{Of: must(s.measure.mechanism(s, tree, levels)), Bits: s.measure.lattice(s)}
	})
}
