package introspect

import (
	"slices"

	"dpproxy/catalog"
)

// before returns the extent of a relation when it was confirmed, if it is the one that was.
func (r *reader) before(t *catalog.Table) (was extent, limited bool) {
	known := r.known[t.Name]
	if known == nil || known.OID != t.OID {
		return extent{}, false
	}
	return extentOf(known.Fingerprint)
}

// leaveOut takes the keys and CHECK constraints away that a relation did not have when it was confirmed, and all that is about columns
// that it did not have. A foreign key of such a column stays: rows may be about somebody more.
func (r *reader) leaveOut() {
	for _, t := range r.byOID {
		if _, limited := r.before(t); !limited {
			continue
		}
		known := r.known[t.Name]
		other := func(column string) bool { _, ok := t.Column(column); return !ok }
		about := func(columns []string) bool { return slices.ContainsFunc(columns, other) }
		t.Keys = slices.DeleteFunc(t.Keys, func(k catalog.Key) bool {
			was := func(w catalog.Key) bool { return slices.Equal(w.Columns, k.Columns) }
			return about(k.Columns) || !slices.ContainsFunc(known.Keys, was)
		})
		t.Checks = slices.DeleteFunc(t.Checks, func(c catalog.Check) bool {
			return about(c.Columns) || !slices.ContainsFunc(known.Checks, func(w catalog.Check) bool { return w.Expr == c.Expr })
		})
		for i := range t.Columns {
			c := &t.Columns[i]
			was, _ := known.Column(c.Name)
			c.Checks = slices.DeleteFunc(c.Checks, func(x string) bool { return was == nil || !slices.Contains(was.Checks, x) })
		}
		t.Constraints = slices.DeleteFunc(t.Constraints, func(d catalog.Definition) bool { return about(d.Columns) })
		t.Indexes = slices.DeleteFunc(t.Indexes, func(d catalog.Definition) bool { return about(d.Columns) })
		t.Sorted = slices.DeleteFunc(t.Sorted, func(i catalog.Index) bool { return about(i.Columns) })
	}
}
