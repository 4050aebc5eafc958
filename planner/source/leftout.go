package source

import (
	"slices"
	"strings"

	"dpproxy/planner/policy"
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
	// Documents says that documents of more than Rows bytes as stored have no fields.
	Documents bool
	// Nobody says when rows are left out since they belong to no unit; "" of limits on those of one.
	Nobody string
}

// Cuts returns those of the level and of all levels below it, each once, those of rows without a unit first.
func (l *level) Cuts() []Cut {
	var cuts []Cut
	for _, r := range l.relations {
		if !l.inside {
			cuts = append(cuts, l.nobody(r)...)
		}
		if n := l.rowsPerUnit[r]; n > 0 {
			cuts = append(cuts, Cut{Of: l.tablesOf(r), Rows: n})
		}
		if l.readsFields(r) {
			cuts = append(cuts, Cut{Of: l.tablesOf(r), Rows: scalar.StoredDocument, Documents: true})
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
		for _, r := range j.inner.relations {
			if j.not { // one that is NULL decides about all rows
				cuts = append(cuts, j.inner.nobody(r)...)
			}
		}
	}
	var each []Cut
	for _, c := range cuts {
		if !slices.Contains(each, c) {
			each = append(each, c)
		}
	}
	of := func(nobody bool) []Cut {
		return slices.DeleteFunc(slices.Clone(each), func(c Cut) bool { return (c.Nobody != "") != nobody })
	}
	return slices.Concat(of(true), of(false))
}

// readsFields reports whether fields of the documents of a table are mentioned.
func (l *level) readsFields(r *relation) bool {
	return r.rows == nil && slices.ContainsFunc(l.mentions.columns, func(c *scalar.Column) bool { return c.Path != nil && l.home[c] == r })
}

// nobody reports rows of a table that are left out since their way ends before a unit, if the conditions of the level would
// admit them. On the nullable side of an outer join, and in a sub-select of a condition, rows match by their unit: nothing is left
// out by it.
func (l *level) nobody(r *relation) []Cut {
	if r.rows != nil || !r.protected() || !slices.Contains(region(l.root), r) {
		return nil
	}
	conds, way := l.Conjuncts(), append([]*relation{r}, l.follows.hops(r)...)
	var said []string
	for _, e := range policy.Ends(r.table) {
		i := slices.IndexFunc(way, func(of *relation) bool { return of.table == e.At })
		if i < 0 || l.follows[r] != nil { // the statement joins it itself
			continue
		}
		null := func(name string) bool { return !scalar.NeverNull(conds, &scalar.Ref{Column: way[i].column(name)}) }
		if e.To == nil && !slices.ContainsFunc(e.Columns, null) {
			continue
		}
		said = append(said, e.Said(r.table))
	}
	switch {
	case said == nil:
		return nil
	case l.view != "":
		return []Cut{{Of: l.tablesOf(r), Nobody: scalar.Ellipsis}}
	}
	return []Cut{{Of: l.tablesOf(r), Nobody: strings.Join(said, ", or ")}}
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
