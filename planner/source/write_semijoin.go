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
	switch {
	case j.units:
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
	own.Query = l.WriteQuery
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
