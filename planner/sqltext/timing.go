package sqltext

import (
	"slices"
	"strings"
)

// The time of a statement must not tell whether any row meets a condition: one attribute of one
// person is a condition. Postgres leaves out work that turns out needless, and by how much
// depends on whether any row is left: of an inner join it does not read one side if no row of
// the other is left; a sub-select that it reads into a hash table is read for the first row
// that asks. So
//
//   - conditions on rows of a join of protected rows come after it, in a CASE that Postgres
//     cannot split, and which mentions a column of each table, so that it cannot come before;
//   - where a side of the join is a query with conditions of its own, or may have NULL in the column that it is joined
//     by, the join is a full join, which reads both sides, and rows that the meaning does not have are left out after it;
//   - a query in FROM with a join has a fence, so that conditions of the query around it, and on its groups, do not come
//     before the join either;
//   - rows of some units are found by an outer join with the units, which reads all rows also
//     where there is no such unit.
//
// Joins inside a sub-select of a condition stay as they are. docs/decisions/0012-joins-are-read-whole.md
// has measurements, and says which differences are left.

// Even returns a statement that has the same rows as q and is read as above. One without
// protected rows stays as it is.
func Even(q *Select) *Select {
	even, protected := evenQuery(q)
	if !protected {
		return q
	}
	return even
}

// A region is where conditions hold on the rows of joins: a query, or the inner side of an outer
// join.
type region struct {
	// residual are conditions on rows of the joins that are meant.
	residual []string
	// notNull are columns that are not NULL in these rows; touch are others of their tables.
	notNull, touch []string
}

// A read tells a join about an item.
type read struct {
	protected bool
	// unfiltered says that its rows are those of tables, whatever conditions there are.
	unfiltered bool
}

func evenQuery(q *Select) (_ *Select, protected bool) {
	even := *q
	even.With = slices.Clone(q.With)
	for i, w := range even.With {
		below, p := evenQuery(w.Query)
		even.With[i].Query, protected = below, protected || p
	}
	r := &region{}
	from, of := r.item(q.From)
	even.From, protected = from, protected || of.protected
	even.Where = r.where(q.Where)
	even.UnionAll = slices.Clone(q.UnionAll)
	for i, u := range even.UnionAll {
		below, p := evenQuery(u)
		even.UnionAll[i], protected = below, protected || p
	}
	return &even, protected
}

// fence has the query's joins computed by themselves, in each of the queries that are united.
func (q *Select) fence() {
	if _, joins := q.From.(*Join); joins {
		q.Fence = true
	}
	for _, u := range q.UnionAll {
		u.fence()
	}
}

func (r *region) item(it Item) (Item, read) {
	switch it := it.(type) {
	case *Table:
		return it, read{it.Protected, true}
	case *Query:
		even, protected := evenQuery(it.Select)
		if protected {
			even.fence()
		}
		return &Query{even, it.As}, read{protected: protected}
	case *Join:
		return r.join(it)
	case *Among:
		return r.among(it)
	}
	return it, read{}
}

// join reads both sides of a join of protected rows whole, if an equality links them.
func (r *region) join(j *Join) (Item, read) {
	left, of := r.item(j.Left)
	below := r
	if j.Kind == Left {
		below = &region{}
	}
	right, other := below.item(j.Right)
	even := &Join{Kind: j.Kind, Left: left, Right: right, On: j.On}
	linked := len(j.Links) > 0 && (of.protected || other.protected && j.Kind == Inner)
	switch {
	case j.Kind == Left && linked:
		r.linkOuter(even, j, of, below)
	case j.Kind == Left:
		even.On = below.where(j.On)
	case linked:
		r.linkInner(even, j, of.unfiltered && other.unfiltered)
	default: // to find the rows of a join without an equality, Postgres has to know the others
		even.On = append(slices.Clip(j.On), j.Beyond...)
	}
	return even, read{of.protected || other.protected, of.unfiltered && (j.Kind == Left || other.unfiltered)}
}

// linkInner joins by the links alone. Rows without a match have NULL in one of the columns.
func (r *region) linkInner(even, j *Join, unfiltered bool) {
	links, rest := j.conditions()
	even.On, r.residual = links, append(r.residual, rest...)
	for _, l := range j.Links {
		r.notNull = append(r.notNull, l.Left, l.Right)
	}
	if !unfiltered || slices.ContainsFunc(j.Links, func(l Link) bool { return l.Null }) {
		even.Kind = full
	}
}

// linkOuter joins by the links first. below are the conditions on its right side. Where the left
// side has no protected row of its own, public rows alone say whether it is empty.
func (r *region) linkOuter(even, j *Join, left read, below *region) {
	links, rest := j.conditions()
	even.On = slices.Concat(links, below.where(rest))
	if left.unfiltered || j.LeftUnit == "" {
		r.touch = append(r.touch, j.Links[0].Left, j.Links[0].Right)
		return
	}
	even.Kind = full
	r.notNull = append(r.notNull, j.LeftUnit)
}

// conditions tells the links from other conditions of the join.
func (j *Join) conditions() (links, rest []string) {
	for _, l := range j.Links {
		links = append(links, l.SQL)
	}
	for _, c := range j.On {
		if !slices.Contains(links, c) {
			rest = append(rest, c)
		}
	}
	return links, rest
}

// where returns conditions on rows of the joins that are meant: after the joins, of which they
// mention every table.
func (r *region) where(conds []string) []string {
	if len(r.residual) > 0 {
		conds = append(slices.Clip(r.residual), conds...)
	}
	if len(r.notNull) == 0 && len(r.touch) == 0 {
		return conds
	}
	var absent []string
	for _, c := range r.notNull {
		absent = append(absent, "pg_catalog.num_nulls("+c+") OPERATOR(pg_catalog.>) 0")
	}
	for _, c := range r.touch {
		absent = append(absent, "pg_catalog.num_nulls("+c+") OPERATOR(pg_catalog.<) 0")
	}
	slices.Sort(absent)
	met := always
	if len(conds) > 0 {
		met = strings.Join(conds, and)
	}
	return []string{"CASE WHEN " + strings.Join(slices.Compact(absent), " OR ") + " THEN FALSE ELSE " + met + " END"}
}

// among finds rows of some units by an outer join with these. The fence keeps Postgres from ordering the rows first.
func (r *region) among(a *Among) (Item, read) {
	from, of := r.item(a.Item)
	unit := Of(a.Units, Unit)
	return &Query{As: a.As, Select: &Select{
		Columns: Columns(a.As, "*"),
		From:    &Join{Kind: Left, Left: from, Right: &Table{SQL: a.Units}, On: []string{unit + " = " + Of(a.As, Unit)}},
		Where:   []string{"CASE WHEN " + unit + " IS NULL THEN false ELSE true END"},
		Fence:   true,
	}}, read{protected: of.protected}
}
