package sqltext

import (
	"slices"
	"strings"
)

// The time of a statement may depend on how many rows meet a condition, since one row of a table is work for one row. Otherwise it must not
// depend on a single row: a condition can be one attribute of one person. Postgres skips work that is not needed, even a whole table: it
// does not read one side of an inner join if the other side has no row left. So the joins of a query over protected rows are
//
//   - chained, if a relation has conditions of its own, or is a query (chain.go): outer joins begin with a relation of one row, so that the
//     left side of a join always has a row;
//   - read whole otherwise: conditions come after the joins. An outer join keeps its own conditions, which leave out rows of its right
//     side. If another outer join follows these rows, Postgres must join in the order in which the joins are written, as in a chain.
//
// In both forms, conditions after the joins are in a CASE that Postgres cannot split. The CASE mentions a column of each relation, so that
// it cannot come before the joins. Conditions of the query around are kept out as well. Rows of some units are found by an outer join with
// the units, which reads all rows even if there is no such unit.
//
// Sub-selects of conditions are sides of these joins, except for look-ups ([Look]). [Unread] proves all this of the statement as it runs.
// docs/decisions/0016-joins-begin-with-one-row.md has measurements, and says which differences remain.

// Joins says how Postgres must join the relations of a statement, so that its time is even.
type Joins struct {
	// Ordered says that the joins run in the order in which they are written.
	Ordered bool
	// Scanned says that no index finds the rows of some relation: Postgres must not look rows up, or compute them, for each row.
	Scanned bool
}

// Even returns a statement that has the same rows as q and is read as described above. A statement without protected rows is returned as it
// is.
func Even(q *Select) (*Select, Joins) {
	s := &judgement{}
	s.query(q)
	p := &pass{chains: s.gains && !s.loose, looks: true}
	even, protected := p.query(q)
	if p.looked && p.joins.Scanned { // in a statement without nested loops there are no look-ups
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
	looked bool // a chain has
	joins  Joins
}

// A region is a query, or the inner side of an outer join: its conditions hold on the rows of its joins.
type region struct {
	*pass
	// residual are conditions on the rows of the joins that the statement means.
	residual []string
	// notNull are columns that are NULL in none of these rows; touch are other columns of their tables.
	notNull, touch []string
	// several says that there are more than two relations, and leaves that an inner join of them may leave out rows.
	several, leaves bool
}

// A read is what a join must know about an item.
type read struct {
	protected bool
	// unfiltered says that the item has all rows of a table, whatever conditions there are. It is false for a full join, whose residual
	// leaves rows out.
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
	if even.Having != "" && of && joins(q.From) { // Postgres would apply a condition on keys alone to the rows
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

// fence makes Postgres compute the joins separately, in the query and in each query united with it.
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
		// The rows that its conditions leave would decide whether other relations are read, so the conditions come last.
		own := public(j)
		even.On = own
		r.residual = append(r.residual, without(j.On, own)...)
	default: // without an equality, Postgres needs the other conditions to find the rows of the join
		even.On = append(slices.Clip(j.On), j.Beyond...)
		if len(j.Links) == 0 {
			even.On = append(even.On, without(public(j), even.On)...)
		}
	}
	unfiltered := of.unfiltered && (even.Kind == Left || even.Kind == Inner && other.unfiltered && !r.leaves)
	return even, read{of.protected || other.protected, unfiltered}
}

// public lists the conditions on rows of the join's public relations. If no equality does, these conditions alone say which rows each row
// is joined with.
func public(j *Join) (conds []string) {
	for _, l := range newChain(j).leaves {
		if !l.protected {
			conds = append(conds, l.own...)
		}
	}
	return conds
}

// linkInner joins by the links alone. In a full join, rows without a match have NULL in one of the columns; an inner join has no such rows.
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

// linkOuter joins by the links first. below has the conditions on the right side. If the left side has no protected row of its own, public
// rows alone decide whether it is empty.
func (r *region) linkOuter(even, j *Join, left read, below *region) {
	outer(even, j, below)
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

// outer writes the conditions of an outer join: links first. below has the conditions on the right side. If that is a join, Postgres must
// learn nothing of its rows from a link: from t.id = u.id it would conclude that u.id is not NULL, so that a full join need not read both
// of its sides, and from t.id = 5 that u.id is 5, so that a side may have no row.
func outer(to, j *Join, below *region) {
	_, rest := j.conditions()
	to.On, to.Links = nil, slices.Clone(j.Links)
	for i, l := range j.Links {
		if joins(j.Right) {
			to.Links[i].SQL = opaque(l.SQL)
		}
		to.On = append(to.On, to.Links[i].SQL)
	}
	to.On = append(to.On, below.where(rest)...)
}

// equals is the operator of links.
const equals = " OPERATOR(pg_catalog.=) "

// opaque writes an equality of which Postgres concludes nothing: GREATEST of one value is that value, but no function that Postgres knows
// to be NULL only with it. Other conditions stay as they are.
func opaque(equality string) string {
	left, right, ok := strings.Cut(equality, equals)
	if !ok || !strings.HasPrefix(left, "(") || !strings.HasSuffix(right, ")") || strings.Contains(right, equals) {
		return equality
	}
	return obscured + left[1:] + ")" + equals + "GREATEST(" + right[:len(right)-1] + "))"
}

// obscured begins such equalities.
const obscured = "(GREATEST("

// shares reports whether an index might find rows of a side by a column that rows of many units share ([finds]).
func (j *Join) shares() bool {
	return slices.ContainsFunc(j.Links, func(l Link) bool { return l.Left.Indexed && l.Left.Many || l.Right.Indexed && l.Right.Many })
}

// conditions separates the links of the join from its other conditions.
func (j *Join) conditions() (links, rest []string) {
	for _, l := range j.Links {
		links = append(links, l.SQL)
	}
	return links, without(j.On, links)
}

// follows reports whether an outer join links rows that conditions of an outer join on its left leave out. Of A, B and C, Postgres may join
// B with C first, and B may have no row left.
func (j *Join) follows() bool {
	left := thinned(j.Left)
	return slices.ContainsFunc(j.Links, func(k Link) bool { return slices.Contains(left, k.Left.Of) || slices.Contains(left, k.Right.Of) })
}

// thinned names the relations on the right of outer joins that have conditions there, or are not tables.
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

// without returns the conditions that others lacks.
func without(conds, others []string) (rest []string) {
	for _, c := range conds {
		if !slices.Contains(others, c) {
			rest = append(rest, c)
		}
	}
	return rest
}

// where returns the conditions that leave the rows which the statement means. They come after the joins, since they mention every table. If
// the statement means all rows, there are none.
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

// Conditions on rows of joins, or on groups of these rows, begin with these words if Postgres must not split them.
const (
	numNulls    = "pg_catalog.num_nulls("
	afterJoins  = "CASE WHEN " + numNulls
	afterGroups = "CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.>) 0 THEN "
	apart       = "CASE WHEN " + numNulls // of [Parted]
)

// Parted are expressions of PARTITION BY or DISTINCT ON that tell units apart. Whatever conditions say of the unit, Postgres does not see
// that the second one is a constant. If all expressions were constants, Postgres 16 and later would stop at the first rows.
func Parted(unit string) []string {
	return []string{unit, apart + unit + ") OPERATOR(pg_catalog.<) 0 THEN NULL ELSE " + unit + " END"}
}

// sorted returns the different columns in an order.
func sorted(columns []string) []string { return slices.Compact(slices.Sorted(slices.Values(columns))) }
