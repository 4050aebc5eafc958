package source

import (
	"slices"

	"dpproxy/planner/scalar"
)

// United lists the joins of all levels to which the equality of units is added, and then the groupings, each once
// and none along a reference that is among the joins.
func (s *Source) United() []United {
	joins, groupings := addedUnits(s.level)
	all := joins
	for _, g := range groupings {
		if !slices.ContainsFunc(all, func(u United) bool { return u.From == g.From && u.To == g.To && u.Columns == g.Columns }) {
			all = append(all, g)
		}
	}
	return all
}

func addedUnits(l *level) (joins, groupings []United) {
	add := func(below *level) {
		more, also := addedUnits(below)
		joins, groupings = append(joins, more...), append(groupings, also...)
	}
	for _, u := range l.united {
		joins = append(joins, u.said)
	}
	for _, r := range l.relations {
		for _, b := range r.branches() {
			if b.united != nil {
				groupings = append(groupings, *b.united)
			}
			add(b.source)
		}
	}
	for _, j := range l.semijoinsOf() {
		add(j.inner)
	}
	return distinct(joins), distinct(groupings)
}

func distinct(list []United) (each []United) {
	for _, u := range list {
		if !slices.Contains(each, u) {
			each = append(each, u)
		}
	}
	return each
}

// renamed are the units of relations that are called otherwise where they are written: those of tables that follow others, or are cut.
func renamed(l *level) map[*scalar.Column]*scalar.Column {
	names := map[*scalar.Column]*scalar.Column{}
	for _, r := range l.relations {
		if !r.protected() {
			continue
		}
		if u := l.unitOf(l.follows.end(r)); u != r.unit {
			names[r.unit] = u
		}
	}
	return names
}
