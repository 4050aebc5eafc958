package scalar

import "slices"

// Publics are public relations whose rows are values of columns together.
type Publics interface {
	// PartOf returns what a column shares with all others whose values vary together with its own; nil if it shows no public values.
	PartOf(c *Column) any
	// Rows selects the different values of such columns, as c1, c2, ..., and says how many there are at most.
	Rows(columns []*Column) (sql string, most int64, ok bool)
	// Found writes a sub-select in a condition that public rows alone decide, for rows whose columns the writer renames.
	Found(w *Writer, q *Query) (sql string, ok bool)
}

// public adds a column that shows values of public relations.
func (l *combination) public(c *Column) bool {
	if l.Public == nil || l.depth > 0 {
		return false
	}
	part := l.Public.PartOf(c)
	if part == nil {
		return false
	}
	i := slices.IndexFunc(l.sources, func(s *source) bool { return s.part == part })
	if i < 0 {
		i, l.sources = len(l.sources), append(l.sources, &source{part: part})
	}
	if s := l.sources[i]; !slices.Contains(s.rows, c) {
		s.rows = append(s.rows, c)
	}
	return true
}

// asked writes the sub-selects in conditions that public rows alone decide, if each value of their columns is listed.
func (l *combination) asked(w *Writer) (conds []string) {
	for _, e := range l.where {
		q, asks := e.(*Query)
		if !asks || l.Public == nil || slices.ContainsFunc(q.Uses, func(c *Column) bool { return !l.whole(w, c) }) {
			continue
		}
		if sql, ok := l.Public.Found(w, q); ok {
			conds = append(conds, sql)
		}
	}
	return conds
}

// whole reports whether each value of a column is listed, and has the writer take it from there.
func (l *combination) whole(w *Writer, c *Column) bool {
	s := l.source(&Ref{Column: c})
	return s != nil && (s.part != nil || s.whole) && l.rename(w, &Ref{Column: c})
}
