package planner

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/fold"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// A Read is a statement on the protected database. Each of its rows has the keys of the grouping set (the number of the value of a public
// key; the canonical text, or NULL, of a private key), then, for a histogram, level and node, then integers.
type Read struct {
	Statement
	// Lists, if not nil, selects the values of the lists of Fold, one column each, before the rows are read.
	Lists *Statement
	// Ordered says that an index has the rows unit by unit, so that they are aggregated as they come, without a hash table: the statement
	// expects enable_hashagg = off.
	Ordered bool
	// Fold, if not nil, says how package fold adds up the rows, which DATA returns as it has them. It is nil if DATA adds them up.
	Fold *fold.Spec
	// Joins says how the relations of the statement are to be joined.
	Joins sqltext.Joins

	keys       int // the number of key columns
	listed     int // bytes of its lists of public values
	statistics []*statistic
	units      bool // it has the weights for partition selection
	levels     []levelColumn
	sums       []sumColumn
}

// A Statement is SQL for DATA with its parameters.
type Statement struct {
	SQL    string
	Params []Param
}

// statements returns the statements that are executed for the read.
func (r *Read) statements() []*Statement {
	if r.Lists == nil {
		return []*Statement{&r.Statement}
	}
	return []*Statement{r.Lists, &r.Statement}
}

// reader writes the statements of a grouping set. With keys, a statement returns the rows r, which package fold adds up; without keys it
// returns the statistics of each unit.
type reader struct {
	parameters
	sp  *specializer
	set *aggregation
	w   *scalar.Writer
	// level is FROM and WHERE of the rows.
	level *sqltext.Select
	// args and filters are the distinct expressions over rows that statistics need.
	args, filters []scalar.Expr
	// integers are the terms of the columns l of the rows, and products the terms that are computed from these columns.
	integers []term
	products []product
	// stored says how package fold reads those integers that are columns as they are stored.
	stored     []fold.Number
	statistics []*statistic
	where      []scalar.Expr // conditions beyond those of the block
	listed     int           // as in a [Read]
	// arrays are the lists of values that package fold numbers.
	arrays []string
}

// read writes the statements of a grouping set.
func (sp *specializer) read(a *aggregation) (reads []*Read, err error) {
	err = sp.eachRead(a, func(read *Read) error {
		r := &reader{sp: sp, set: a}
		r.w = &scalar.Writer{Env: sp.env, Fold: r.fold, Query: sp.b.source.WriteQuery}
		sql, err := r.write(read)
		if err != nil {
			return err
		}
		read.SQL, read.Params = r.finish(sql)
		if lists := r.listing(); lists != "" {
			read.Lists = &Statement{}
			read.Lists.SQL, read.Lists.Params = r.finish(lists)
		}
		reads = append(reads, read)
		return nil
	})
	return reads, err
}

// eachRead visits the reads of a grouping set, which are not written yet.
func (sp *specializer) eachRead(a *aggregation, visit func(read *Read) error) error {
	var plain []*statistic
	var own [][]*statistic
	for _, s := range a.read() {
		switch {
		case s.measure != nil && s.measure.Shared(): // it is the sum of its parts
		case s.own() != nil:
			own = append(own, []*statistic{s})
		default:
			plain = append(plain, s)
		}
	}
	if len(plain) > 0 || a.Private() {
		own = append([][]*statistic{plain}, own...)
	}
	for i, statistics := range own {
		read := &Read{keys: len(a.keys), statistics: statistics, units: i == 0 && a.Private()}
		if err := visit(read); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) write(read *Read) (string, error) {
	q, err := r.query(read)
	if err != nil {
		return "", err
	}
	if n := max(q.Widest(), read.width()); n > sqltext.MaxColumns {
		return "", pgerr.New(pgerr.ProgramLimitExceeded, "the statement would read %d columns, at most %d can be read",
			n, sqltext.MaxColumns).At(r.set.at).
			WithHint("Ask for fewer aggregates in one statement. An average is read as several columns.")
	}
	even, joins := sqltext.Even(q)
	if unread := sqltext.Unread(even, joins); unread != "" {
		return "", pgerr.New(pgerr.NotAllowed, "how long this statement takes could tell whether a row meets a condition").At(r.set.at).
			WithDetail("Read only if other rows ask for it: %s.", unread).
			WithHint("Join what its sub-selects read in FROM, by equalities of columns.")
	}
	read.Joins, read.listed = joins, r.listed
	return even.SQL(), nil
}

// query returns what a read means.
func (r *reader) query(read *Read) (_ *sqltext.Select, err error) {
	if r.level, err = r.sp.b.source.WriteWhere(r.w, r, r.where); err != nil {
		return nil, err
	}
	if err := r.dropOthers(); err != nil {
		return nil, err
	}
	r.integers, r.statistics = summedTerms(read.statistics), read.statistics
	r.factorise()
	for _, st := range read.statistics {
		r.filters = including(r.filters, st.filter)
		for _, t := range st.terms() {
			if !r.summed(t) {
				r.args = including(r.args, t.arg)
			}
		}
	}
	s := &readWriter{reader: r, read: read}
	if len(read.statistics) == 1 {
		s.own = read.statistics[0].own()
	}
	return s.statement()
}

// folds reports whether DATA returns rows as it has them, for package fold to add up by unit and group.
func (r *reader) folds() bool { return len(r.set.keys) > 0 && !r.set.bounds.unique }

// summed reports whether the rows have the integers of a term, or the integers from which they are computed.
func (r *reader) summed(t term) bool {
	return slices.ContainsFunc(r.integers, t.sameInteger) ||
		slices.ContainsFunc(r.products, func(p product) bool { return p.sameInteger(t) })
}

// dropOthers leaves out, in a block of several grouping sets, the rows with a value outside the domain of a key that this set lacks: then
// totals are over the same rows as their groups. If a key of the block is private, totals are over all rows.
func (r *reader) dropOthers() error {
	if len(r.sp.b.sets) < 2 || r.set.Private() {
		return nil
	}
	for i, k := range r.sp.b.keys {
		if slices.Contains(r.set.keys, i) {
			continue
		}
		lists, public, err := r.sp.lists([]int{i})
		if err != nil {
			return err
		}
		if !public {
			continue
		}
		x, t, err := r.w.Key(k.expr)
		if err != nil {
			return err
		}
		l := lists[0]
		cond := fmt.Sprintf("%s = ANY (%s)", x, r.array(l, 0, t))
		if l.null[0] {
			cond += " OR " + x + " IS NULL"
		}
		r.level.Where = append(r.level.Where, "("+cond+")")
	}
	return nil
}

// including adds an expression to a list unless it is nil or already in it.
func including(list []scalar.Expr, e scalar.Expr) []scalar.Expr {
	if e == nil || indexOf(list, e) >= 0 {
		return list
	}
	return append(list, e)
}

func indexOf(list []scalar.Expr, e scalar.Expr) int {
	return slices.IndexFunc(list, func(have scalar.Expr) bool { return scalar.Equal(have, e) })
}

// rows selects, for every row that meets the conditions, the unit, the keys and the columns that statistics need.
func (r *reader) rows() (*sqltext.Select, error) {
	q := *r.level
	var err error
	if q.Columns, err = r.rowColumns(); err != nil {
		return nil, err
	}
	// The fence keeps Postgres from computing an integer for each statistic that uses it.
	q.Fence = slices.ContainsFunc(r.integers, func(t term) bool { return r.set.uses(t) > 1 && !r.folds() || r.isFactor(t) })
	return &q, nil
}

// rowColumns returns the unit, the keys and the columns that statistics need.
func (r *reader) rowColumns() ([]sqltext.Column, error) {
	var cols []sqltext.Column
	if !r.set.bounds.unique {
		cols = append(cols, sqltext.Column{SQL: r.sp.b.source.Unit().Read(), As: sqltext.Unit})
	}
	for n, i := range r.set.keys {
		x, _, err := r.w.Key(r.sp.b.keys[i].expr)
		if err != nil {
			return nil, err
		}
		cols = append(cols, sqltext.Column{SQL: x, As: sqltext.Key(n)})
	}
	for i, e := range r.args {
		x, _, err := r.w.Value(e)
		if err != nil {
			return nil, err
		}
		cols = append(cols, sqltext.Column{SQL: x, As: sqltext.Argument(i)})
	}
	integers, err := r.integerColumns()
	if err != nil {
		return nil, err
	}
	cols = append(cols, integers...)
	for i, e := range r.filters {
		x, err := r.w.Condition(e)
		if err != nil {
			return nil, err
		}
		cols = append(cols, sqltext.Column{SQL: x, As: sqltext.Filter(i)})
	}
	if len(cols) == 0 {
		cols = []sqltext.Column{{SQL: "1", As: sqltext.One}}
	}
	return cols, nil
}

// keys lists the names of the key columns.
func (r *reader) keys() []string {
	out := make([]string, len(r.set.keys))
	for i := range out {
		out[i] = sqltext.Key(i)
	}
	return out
}

// numbered joins an item with the values of public keys and returns the numbers of its keys among them; private keys stay as they are. A
// key outside the domain has no number: the conditions leave out its row.
func (r *reader) numbered(alias string, from sqltext.Item) (cols []string, _ sqltext.Item, where []string, err error) {
	for n, i := range r.set.keys {
		k := sqltext.Of(alias, sqltext.Key(n))
		if r.set.Private() {
			cols = append(cols, k)
			continue
		}
		_, t, err := r.w.Key(r.sp.b.keys[i].expr)
		if err != nil {
			return nil, nil, nil, err
		}
		var number, cond string
		number, from, cond = r.numberedKey(n, k, from, t)
		cols, where = append(cols, number), append(where, cond)
	}
	return cols, from, where, nil
}

// numberedKey joins an item with the values of a public key, and returns the number of the key and the condition that it has one.
func (r *reader) numberedKey(n int, k string, from sqltext.Item, t pgtype.Type) (number string, _ sqltext.Item, cond string) {
	l, at := r.listWith(r.set.keys[n])
	d := sqltext.List(n)
	from = &sqltext.Listed{
		Item: from, On: sqltext.Of(d, sqltext.Element) + " = " + k,
		List: &sqltext.Table{SQL: "pg_catalog.unnest(" + r.array(l, at, t) + ") WITH ORDINALITY", As: d + "(x, o)"},
	}
	number = "CAST(" + sqltext.Of(d, sqltext.Order) + " AS pg_catalog.int4)"
	if l.null[at] {
		number = "CASE WHEN " + k + " IS NULL THEN 0 ELSE " + number + " END"
	}
	return number, from, number + " IS NOT NULL"
}

// array writes the values of a key of a list, without NULL, as an array of the type of the key.
func (r *reader) array(l *list, at int, t pgtype.Type) string {
	array := t.SQL() + "[]"
	r.listed += l.size(at)
	return "CAST(" + r.add(Param{Kind: TextParam, Text: l.arrays[at], Type: array}) + " AS " + array + ")"
}

// listing selects the values of all arrays side by side.
func (r *reader) listing() string {
	if len(r.arrays) == 0 {
		return ""
	}
	var columns, lists []string
	for i, array := range r.arrays {
		columns, lists = append(columns, sqltext.Key(i)), append(lists, "pg_catalog.unnest("+array+")")
	}
	names := strings.Join(columns, ", ")
	return "SELECT " + names + " FROM ROWS FROM (" + strings.Join(lists, ", ") + ") AS " + sqltext.List(0) + "(" + names + ")"
}

// listWith returns the list that contains a key, and the place of the key in it.
func (r *reader) listWith(key int) (*list, int) {
	for _, l := range r.set.lists {
		if at := slices.Index(l.keys, key); at >= 0 {
			return l, at
		}
	}
	return nil, 0
}

// shown writes the key columns as a read returns them.
func (r *reader) shown() ([]string, error) {
	keys := r.keys()
	if !r.set.Private() {
		return keys, nil
	}
	for n, i := range r.set.keys {
		_, t, err := r.w.Key(r.sp.b.keys[i].expr)
		if err != nil {
			return nil, err
		}
		if keys[n], err = scalar.KeyText(t, keys[n]); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func (r *reader) contributed() unitBounds { return r.set.bounds }

// column returns the name of the column of the rows that has an argument.
func (r *reader) column(arg scalar.Expr) string { return sqltext.Argument(indexOf(r.args, arg)) }
