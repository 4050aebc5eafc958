package source

import (
	"slices"

	"dpproxy/planner/scalar"
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
	from, where, err := l.Write(w, nil)
	return "EXISTS (SELECT 1 FROM " + from + " WHERE " + where + l.fence() + ")", err
}

// inSQL writes IN with the values that it has: NULL where no row is equal and the
// comparison with some is NULL.
func (l *level) inSQL(w *scalar.Writer) (string, error) {
	equal, err := l.existsSQL(w)
	if err != nil {
		return "", err
	}
	from, where, err := l.writeLevel(w, nil) // without the comparison
	if err != nil {
		return "", err
	}
	match, err := l.writer(w).Expr(l.match)
	return "(CASE WHEN " + equal + " THEN TRUE WHEN EXISTS (SELECT 1 FROM " + from + " WHERE " + where +
		" AND (" + match + ") IS NULL" + l.fence() + ") THEN NULL ELSE FALSE END)", err
}
