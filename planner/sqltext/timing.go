package sqltext

import (
	"slices"
	"strings"
)

// The time of a statement may follow how many rows meet a condition, as one row of a table is work
// for one row. It must not hang on a single one: one attribute of one person is a condition. Postgres
// leaves out work that turns out needless, a whole table's at once: of an inner join it does not read
// one side if no row of the other is left. So the joins of a query over protected rows are
//
//   - chained, where a relation has conditions of its own, or is a query (chain.go): outer joins that
//     begin with a relation of one row, so that no join has no row on the left;
//   - read whole elsewhere: conditions come after the joins. An outer join has its own, which leave out rows of its right side: where
//     another one follows these, Postgres is to join in the order in which they are written, as it does a chain.
//
// In both forms conditions after the joins stand in a CASE that Postgres cannot split, and which
// mentions a column of each relation, so that it cannot come before. Conditions of the query around it
// are kept out as well. Rows of some units are found by an outer join with
// the units, which reads all rows also where there is no such unit.
//
// Sub-selects of conditions are sides of these joins, but for look-ups ([Look]). [Unread] proves all that of the statement
// as it runs. docs/decisions/0016-joins-begin-with-one-row.md has measurements, and says which differences are
// left.

// Joins says how Postgres is to join the relations of a statement, for its time to be even.
type Joins struct {
	// Ordered says that they are joined in the order in which they are written.
	Ordered bool
	// Scanned says that no index finds the rows of some: they are not to be looked up, or computed, for each row.
	Scanned bool
}

// Even returns a statement that has the same rows as q and is read as above. One without
// protected rows stays as it is.
func Even(q *Select) (*Select, Joins) {
	s := &judgement{}
	s.query(q)
	p := &pass{chains: s.gains && !s.loose, looks: true}
	even, protected := p.query(q)
	if p.looked && p.joins.Scanned { // there are no look-ups in a statement without nested loops
		p = &pass{chains: p.chains}
		even, protected = p.query(q)
	}
	if !protected {
		return q, Joins{}
	}
	return even, p.joins
}

// A pass writes one statement.
type pass struct {
	chains bool // all joins of protected rows are chained; otherwise they are read whole
	looks  bool // chains may have rows looked up
	looked bool // one has
	joins  Joins
}

// A region is where conditions hold on the rows of joins: a query, or the inner side of an outer
// join.
type region struct {
	*pass
	// residual are conditions on rows of the joins that are meant.
	residual []string
	// notNull are columns that are not NULL in these rows; touch are others of their tables.
	notNull, touch []string
	// several says that there are more than two relations, leaves that an inner join of them may leave out rows.
	several, leaves bool
}

// A read tells a join about an item.
type read struct {
	protected bool
	// unfiltered says that it has all rows of a table, whatever conditions there are. The residual of a full join leaves out some.
	unfiltered bool
}

func (p *pass) query(q *Select) (_ *Select, protected bool) {
	even := *q
	even.With = slices.Clone(q.With)
	for i, w := range even.With {
		below, of := p.query(w.Query)
		even.With[i].Query, protected = below, protected || of
	}
	of := p.from(&even)
	protected = protected || of
	if even.Having != "" && of && joins(q.From) { // one on keys alone would be moved to the rows
		even.Having = afterGroups + even.Having + " ELSE FALSE END"
	}
	even.UnionAll = slices.Clone(q.UnionAll)
	for i, u := range even.UnionAll {
		below, of := p.query(u)
		even.UnionAll[i], protected = below, protected || of
	}
	return &even, protected
}

// from writes the items of a query, and the conditions on their rows.
func (p *pass) from(q *Select) (protected bool) {
	r := &region{pass: p}
	c := newChain(q.From)
	if p.chains && c.joins() && c.protected() {
		q.From, q.Where = r.chain(c, q.Where)
		return true
	}
	r.several, r.leaves = len(c.leaves)+len(c.outer) > 2, c.leavesOut()
	from, of := r.item(q.From)
	q.From, q.Where = from, r.where(q.Where)
	return of.protected
}

// fence has the query's joins computed by themselves, in each of the queries that are united.
func (q *Select) fence() {
	q.Fence = q.Fence || joins(q.From)
	for _, u := range q.UnionAll {
		u.fence()
	}
}

// joins reports whether an item is a join.
func joins(it Item) bool {
	if l, ok := it.(*Listed); ok {
		it = l.Item
	}
	_, ok := it.(*Join)
	return ok
}

func (r *region) item(it Item) (Item, read) {
	switch it := it.(type) {
	case *Table:
		return it, read{it.Protected, true}
	case *Query:
		even, protected := r.query(it.Select)
		even.fence()
		return &Query{Select: even, As: it.As}, read{protected: protected}
	case *Join:
		return r.join(it)
	case *Listed:
		even, of := r.item(it.Item)
		return &Listed{even, it.List, it.On}, of
	}
	return it, read{}
}

// join reads both sides of a join of protected rows whole, if an equality links them.
func (r *region) join(j *Join) (Item, read) {
	left, of := r.item(j.Left)
	below := r
	if j.Kind == Left {
		below = &region{pass: r.pass, several: true, leaves: true}
	}
	right, other := below.item(j.Right)
	even := &Join{Kind: j.Kind, Left: left, Right: right, On: j.On, Links: j.Links}
	linked := len(j.Links) > 0 && (of.protected || other.protected && j.Kind == Inner)
	switch {
	case j.Kind == Left && linked:
		r.joins.Scanned = r.joins.Scanned || of.protected && other.protected && j.shares()
		r.linkOuter(even, j, of, below)
	case j.Kind == Left:
		r.touch = slices.Concat(r.touch, below.notNull, below.touch)
		even.On = below.where(j.On)
	case linked:
		r.joins.Scanned = r.joins.Scanned || of.protected && other.protected && j.shares()
		r.linkInner(even, j, of.unfiltered && other.unfiltered)
	case r.several && j.Kind == Inner && (of.protected || other.protected):
		// Which rows it leaves would say whether others are read: all come first.
		own := public(j)
		even.On = own
		r.residual = append(r.residual, without(j.On, own)...)
	default: // to find the rows of a join without an equality, Postgres has to know the others
		even.On = append(slices.Clip(j.On), j.Beyond...)
		if len(j.Links) == 0 {
			even.On = append(even.On, without(public(j), even.On)...)
		}
	}
	unfiltered := of.unfiltered && (even.Kind == Left || even.Kind == Inner && other.unfiltered && !r.leaves)
	return even, read{of.protected || other.protected, unfiltered}
}

// public lists the conditions on rows of public relations of a join: those alone say which rows each row is joined with
// where no equality does.
func public(j *Join) (conds []string) {
	for _, l := range newChain(j).leaves {
		if !l.protected {
			conds = append(conds, l.own...)
		}
	}
	return conds
}

// linkInner joins by the links alone. Of a full join rows without a match have NULL in one of the columns; an inner one has none.
func (r *region) linkInner(even, j *Join, unfiltered bool) {
	links, rest := j.conditions()
	even.On, r.residual = links, append(r.residual, rest...)
	var ends []string
	for _, l := range j.Links {
		ends = append(ends, l.Left.Present, l.Right.Present)
	}
	if !unfiltered || slices.ContainsFunc(j.Links, Link.null) {
		even.Kind = full
		r.notNull = append(r.notNull, ends...)
		return
	}
	r.touch = append(r.touch, ends...)
}

// linkOuter joins by the links first. below are the conditions on its right side. Where the left
// side has no protected row of its own, public rows alone say whether it is empty.
func (r *region) linkOuter(even, j *Join, left read, below *region) {
	links, rest := j.conditions()
	even.On = slices.Concat(links, below.where(rest))
	r.joins.Ordered = r.joins.Ordered || j.follows()
	if left.unfiltered || j.LeftUnit == "" {
		_, query := j.Right.(*Query)
		r.joins.Scanned = r.joins.Scanned || query // it is computed once
		r.touch = append(r.touch, j.Links[0].Left.Present, j.Links[0].Right.Present)
		return
	}
	even.Kind = full
	r.notNull = append(r.notNull, j.LeftUnit)
}

// shares reports whether an index might find rows of a side by a column that rows of many units share ([finds]).
func (j *Join) shares() bool {
	return slices.ContainsFunc(j.Links, func(l Link) bool { return l.Left.Indexed && l.Left.Many || l.Right.Indexed && l.Right.Many })
}

// conditions tells the links from other conditions of the join.
func (j *Join) conditions() (links, rest []string) {
	for _, l := range j.Links {
		links = append(links, l.SQL)
	}
	return links, without(j.On, links)
}

// follows reports whether an outer join links rows that conditions of one on its left leave out: of A, B and C, Postgres may join B, of
// which none may be left, with C first.
func (j *Join) follows() bool {
	left := thinned(j.Left)
	return slices.ContainsFunc(j.Links, func(k Link) bool { return slices.Contains(left, k.Left.Of) || slices.Contains(left, k.Right.Of) })
}

// thinned names the relations on the right of outer joins that have conditions there, or are no tables.
func thinned(it Item) []string {
	j, ok := it.(*Join)
	if !ok {
		return nil
	}
	list := append(thinned(j.Left), thinned(j.Right)...)
	_, table := j.Right.(*Table)
	if _, rest := j.conditions(); j.Kind == Left && (len(rest) > 0 || !table) {
		list = append(list, names(j.Right)...)
	}
	return list
}

// without returns the conditions that are none of others.
func without(conds, others []string) (rest []string) {
	for _, c := range conds {
		if !slices.Contains(others, c) {
			rest = append(rest, c)
		}
	}
	return rest
}

// where returns conditions on rows of the joins that are meant: after the joins, of which they
// mention every table. There are none where all rows are meant.
func (r *region) where(conds []string) []string {
	if len(r.residual) > 0 {
		conds = append(slices.Clip(r.residual), conds...)
	}
	if len(r.notNull) == 0 && (len(r.touch) == 0 || len(conds) == 0) {
		return conds
	}
	var absent []string
	if list := sorted(r.notNull); len(list) > 0 {
		absent = append(absent, numNulls+strings.Join(list, ", ")+") OPERATOR(pg_catalog.>) 0")
	}
	if list := without(sorted(r.touch), r.notNull); len(list) > 0 {
		absent = append(absent, numNulls+strings.Join(list, ", ")+") OPERATOR(pg_catalog.<) 0")
	}
	met := always
	if len(conds) > 0 {
		met = strings.Join(conds, and)
	}
	return []string{afterJoins + strings.TrimPrefix(strings.Join(absent, " OR "), numNulls) + " THEN FALSE ELSE " + met + " END"}
}

// Conditions that Postgres cannot split, on rows of joins and on groups of these, begin with these words.
const (
	numNulls    = "pg_catalog.num_nulls("
	afterJoins  = "CASE WHEN " + numNulls
	afterGroups = "CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.>) 0 THEN "
)

// sorted returns different columns in an order.
func sorted(columns []string) []string { return slices.Compact(slices.Sorted(slices.Values(columns))) }
