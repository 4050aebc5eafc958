package source

import (
	"slices"

	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// WriteQuery writes a sub-select in a condition on the rows of the level.
func (l *level) WriteQuery(w *scalar.Writer, q *scalar.Query) (string, error) {
	all := l.semijoinsOf()
	j := all[slices.IndexFunc(all, func(j *semijoin) bool { return j.query == q })]
	asked := l.asked(j)
	switch {
	case asked && j.not:
		return "(NOT " + l.asking(j) + ")", nil
	case asked:
		return l.asking(j), nil
	case j.not:
		sql, err := j.inner.existsSQL(w)
		return "(NOT " + sql + ")", err
	case j.inner.unmatched:
		return j.inner.inSQL(w)
	}
	return j.inner.existsSQL(w)
}

// writer writes expressions over the rows of the level.
func (l *level) writer(w *scalar.Writer) *scalar.Writer {
	own := *w
	own.Query, own.Own = l.WriteQuery, l
	return &own
}

// existsSQL writes that there is a row.
func (l *level) existsSQL(w *scalar.Writer) (string, error) {
	q, err := l.Write(w, nil)
	if err != nil {
		return "", err
	}
	return l.exists(q), nil
}

// exists writes that a query of the level has a row. Where an index finds its rows it stays by
// itself: they are looked up, and not read whole for the first row that asks.
func (l *level) exists(q *sqltext.Select) string {
	q.Columns, q.Fence = []sqltext.Column{{SQL: "1"}}, l.lookedUp()
	return "EXISTS (" + q.SQL() + ")"
}

// inSQL writes IN with the values that it has: NULL where no row is equal and the
// comparison with some is NULL.
func (l *level) inSQL(w *scalar.Writer) (string, error) {
	equal, err := l.existsSQL(w)
	if err != nil {
		return "", err
	}
	q, err := l.writeLevel(w, nil)
	if err != nil {
		return "", err
	}
	match, err := l.writer(w).Expr(l.match)
	q.Also = []string{"(" + match + ") IS NULL"}
	return "(CASE WHEN " + equal + " THEN TRUE WHEN " + l.exists(q) + " THEN NULL ELSE FALSE END)", err
}

// A sub-select whose rows no index finds is joined: the row that first asks for it would have
// Postgres read it whole, and one that it makes a semi join of is left out where no row asks. So is one for
// which all rows of a table ask: to look its rows up for each takes longer than to read it.

// asked reports whether a sub-select is joined: it reads one protected table, its equalities with the level
// around are of columns that are written as they are, and no condition of a join has a sub-select.
func (l *level) asked(j *semijoin) bool {
	in := j.inner
	r, table := in.root.(*relation)
	if l.inside || !table || r.rows != nil || !r.protected() {
		return false
	}
	plain := func(t pair) bool { return t.a.Read() == t.a.SQL && t.b.Read() == t.b.SQL }
	queried := slices.ContainsFunc(joinConditions(l.root), func(c condition) bool { return c.query })
	return !queried && len(in.follows.hops(r)) == 0 && len(in.semijoinsOf()) == 0 && in.tiesMatch() &&
		(!in.lookedUp() || !l.found()) &&
		!slices.ContainsFunc(in.ties, func(t pair) bool { return !plain(t) })
}

// found reports whether an index may find rows of the level by conditions on one of its relations.
func (l *level) found() bool {
	return slices.ContainsFunc(slices.Concat(l.where, joinConditions(l.root)), func(c condition) bool {
		var homes []*relation
		indexed := false
		for _, col := range c.x.Columns() {
			home := l.home[col]
			homes = append(homes, home)
			indexed = indexed || home == nil || home.rows != nil || home.table.Begins(col.Name)
		}
		return indexed && !c.query && len(slices.Compact(homes)) == 1
	})
}

// tiesMatch reports whether the equalities with the level around are all that a row of the sub-select is found by.
func (r *resolved) tiesMatch() bool {
	if r.match == nil || r.unmatched {
		return !r.unmatched && len(r.ties) > 0
	}
	a, b, ok := scalar.Equality(r.match)
	return ok && slices.ContainsFunc(r.ties, func(t pair) bool { return t == pair{a, b} || t == pair{b, a} })
}

// joinConditions are those of all joins of a node.
func joinConditions(n node) []condition {
	j, ok := n.(*joined)
	if !ok {
		return nil
	}
	return slices.Concat(joinConditions(j.left), joinConditions(j.right), j.on)
}

// askedName names the relation of a sub-select that is joined.
func (l *level) askedName(j *semijoin) string {
	return sqltext.SubSelect(slices.Index(l.semijoinsOf(), j))
}

// asking writes that the sub-select has a row.
func (l *level) asking(j *semijoin) string {
	return "(" + sqltext.Of(l.askedName(j), sqltext.Key(0)) + " IS NOT NULL)"
}

// joinAsked joins the sub-selects that are asked with the items of the level.
func (p *sourceWriter) joinAsked(from sqltext.Item) (sqltext.Item, error) {
	l := p.level
	for _, j := range l.semijoinsOf() {
		if !l.asked(j) {
			continue
		}
		values, err := j.inner.askedValues(p.w)
		if err != nil {
			return nil, err
		}
		name := l.askedName(j)
		to := &sqltext.Join{
			Kind: sqltext.Left, Left: from, Right: &sqltext.Query{Select: values, As: name}, LeftUnit: p.presence(l.root),
		}
		for i, t := range j.inner.ties {
			key := sqltext.Of(name, sqltext.Key(i))
			equal := key + " OPERATOR(pg_catalog.=) " + t.b.SQL
			to.On = append(to.On, equal)
			to.Links = append(to.Links, sqltext.Link{SQL: equal, Left: p.endOf(t.b), Right: sqltext.End{Of: name, Present: key}})
		}
		from = to
	}
	return from, nil
}

// endOf tells of a column of the level in a link.
func (p *sourceWriter) endOf(c *scalar.Column) sqltext.End {
	return end(&joined{left: p.level.root, right: p.level.root}, c, nil)
}

// askedValues writes the different values by which rows of the sub-select are found.
func (l *level) askedValues(w *scalar.Writer) (*sqltext.Select, error) {
	p := &sourceWriter{level: l, w: l.writer(w)}
	from, err := p.node(l.root, nil)
	if err != nil {
		return nil, err
	}
	var own []condition
	for _, c := range l.where {
		if !slices.ContainsFunc(c.x.Columns(), l.isOuter) {
			own = append(own, c)
		}
	}
	where, err := p.conditions(own)
	q := &sqltext.Select{Distinct: true, From: from, Where: append([]string{}, where...)}
	if r := l.relations[0]; !p.followed(r) && !r.unit.NotNull {
		q.Where = append(q.Where, r.unit.Read()+" IS NOT NULL")
	}
	for i, t := range l.ties {
		q.Columns = append(q.Columns, sqltext.Column{SQL: t.a.SQL, As: sqltext.Key(i)})
	}
	return q, err
}
