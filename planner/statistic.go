package planner

import (
	"reflect"
	"slices"
	"strings"

	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// A statistic is one exact aggregate that is read: an integer for each partition or, of a
// histogram, one for each of its nodes. A value is computed from one to
// three statistics; equal statistics are read and drawn once.
type statistic struct {
	statisticForm
	filter      scalar.Expr // nil if none
	sensitivity dp.Sensitivity
	first       int                    // place among the integers of a partition
	levels      []mechanisms.Mechanism // one, or of a histogram one for each level
}

// A statisticForm is a kind of statistic with its arguments: how it is written in SQL, and how
// far one unit can change it. A form that is not read beside others is a [valueForm].
type statisticForm interface {
	// String names the statistic for people, but for its filter.
	String() string
	// terms are the arguments that it is computed from.
	terms() []term
	// sensitivityFor computes its sensitivity from integer limits alone (S15).
	sensitivityFor(c contribution) (dp.Sensitivity, error)
	// counts says that it is never negative.
	counts() bool
	// additive says that the statistic of a group is the sum of its parts'.
	additive() bool
	// choosesRows says that it matters which rows of a unit are kept, where a unit has too many.
	choosesRows(c contribution, filtered bool) bool
	// shape is how many integers it has at each level.
	shape() []int
	// ofRows writes it over the rows of one partition, without the filter.
	ofRows(r rowColumns) (string, error)
}

// rowColumns are the columns of the rows that a statistic is computed of: arguments as the source
// has them, clamped integers, and how much the unit of a row may contribute.
type rowColumns interface {
	column(arg scalar.Expr) string
	integer(t term) (string, error)
	contributed() contribution
}

// countRows is the number of rows, as a column n.
var countRows = sqltext.Column{SQL: "pg_catalog.count(*)", As: sqltext.Count}

// A valueForm is a statistic that is read by a statement of its own, with a column b that its
// rows are grouped by as well.
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
}

// String names a statistic.
func (s *statistic) String() string {
	if s.filter != nil {
		return s.statisticForm.String() + " where a filter holds"
	}
	return s.statisticForm.String()
}

// equal reports whether two statistics read the same.
func (s *statistic) equal(o *statistic) bool {
	return reflect.TypeOf(s.statisticForm) == reflect.TypeOf(o.statisticForm) && sameExpr(s.filter, o.filter) &&
		slices.EqualFunc(s.terms(), o.terms(), term.equal)
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

// noise writes the mechanism of a measure, of a histogram those of its levels.
func (s *statistic) noise() string {
	var out []string
	for _, mech := range s.levels {
		out = append(out, mech.String())
	}
	return strings.Join(slices.Compact(out), ", ")
}

// A Cell is one integer of a read row: which of the integers of its grouping set it is, or Units.
type Cell struct {
	At   int
	Text []byte
}
