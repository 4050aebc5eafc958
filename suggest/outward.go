package suggest

import (
	"slices"

	"dpproxy/catalog"
)

// outward returns the tables to which the unit's table refers, directly or not.
func (u *unit) outward() map[catalog.Name]bool {
	if u.out != nil {
		return u.out
	}
	u.out = map[catalog.Name]bool{}
	if len(u.held) == 0 {
		return u.out
	}
	owned := func(r *relation) bool {
		return slices.ContainsFunc(u.persons(r), func(p person) bool { return p.kind == exact || p.kind == owning })
	}
	for open := []*relation{u.rels[u.table]}; len(open) > 0; open = open[1:] {
		for _, fk := range open[0].foreign {
			to := u.rels[fk.References]
			if to == nil || to.Name == u.table || u.out[to.Name] || len(u.held[to.Name]) > 0 {
				continue
			}
			u.out[to.Name] = true
			if !owned(to) {
				open = append(open, to)
			}
		}
	}
	return u.out
}

// supers returns the tables to which the unit's own column refers: parties, of which a person is a kind.
func (u *unit) supers() map[catalog.Name]string {
	if u.above == nil {
		u.above = map[catalog.Name]string{}
		if len(u.held) > 0 {
			u.super(u.rels[u.table], u.column.Name, u.above)
		}
	}
	return u.above
}

func (u *unit) super(r *relation, column string, all map[catalog.Name]string) {
	for _, fk := range r.foreign {
		to := u.rels[fk.References]
		if to == nil || to == r || !slices.Equal(fk.Columns, []string{column}) || all[to.Name] != "" {
			continue
		}
		all[to.Name] = fk.Target[0]
		u.super(to, fk.Target[0], all)
	}
}
