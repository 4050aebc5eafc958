package source

import (
	"slices"
	"strings"

	"dpproxy/planner/scalar"
)

// A Cut is a limit on the rows of one unit that holds before anything of them is measured.
type Cut struct {
	// Of names the tables that the rows are of, as far as they are told.
	Of string
	// Rows are how many of a unit there are at most.
	Rows int64
	// Grouped says that counts and sums over groups of the rows are those of so many; otherwise
	// the rows are cut to so many before they are joined.
	Grouped bool
	// Elements says that of the arrays of a column the first Rows elements are taken.
	Elements bool
}

// Cuts returns those of the level and of all levels below it, each once.
func (l *level) Cuts() []Cut {
	var cuts []Cut
	for _, r := range l.relations {
		if n := l.rowsPerUnit[r]; n > 0 {
			cuts = append(cuts, Cut{Of: l.tablesOf(r), Rows: n})
		}
		for _, b := range r.branches() {
			if l.countsRows(r, b) {
				cuts = append(cuts, Cut{Of: strings.Join(b.source.Told(), ", "), Rows: b.groupRows, Grouped: true})
			}
			if e := b.elements; e != nil {
				cuts = append(cuts, Cut{Of: strings.Join(b.source.Told(), ", "), Rows: e.most, Elements: true})
			}
			cuts = append(cuts, b.source.Cuts()...)
		}
	}
	for _, j := range l.semijoinsOf() {
		cuts = append(cuts, j.inner.Cuts()...)
	}
	var each []Cut
	for _, c := range cuts {
		if !slices.Contains(each, c) {
			each = append(each, c)
		}
	}
	return each
}

// tablesOf names the tables of a protected relation.
func (l *level) tablesOf(r *relation) string {
	switch {
	case l.view != "":
		return "those of " + l.view
	case r.rows == nil:
		return l.model.Whole(r.table).Name.String()
	}
	var names []string
	for _, b := range r.rows.branches {
		for _, name := range b.source.Told() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// countsRows reports whether an expression over the groups of a branch, of those that are written,
// depends on how many rows count in a group.
func (l *level) countsRows(r *relation, b *branch) bool {
	if b.groupRows == 0 {
		return false
	}
	for i, c := range r.columns {
		if (b.distinct || l.mentions.seen[c]) && scalar.CountsRows(b.targets[i]) {
			return true
		}
	}
	return b.having != nil && scalar.CountsRows(b.having)
}
