package source

import (
	"slices"

	"dpproxy/planner/scalar"
)

// boundJoins decides which relations are cut before they are joined. One that has many
// rows of a unit can be read whole; every further one whose row does not follow
// from those before could multiply the unit's rows.
func (s *Source) boundJoins() error {
	if !s.Protected() {
		return nil
	}
	open := s.manyRows()
	if len(open) == 0 {
		return nil
	}
	done := []*relation{s.widest(open)}
	for _, r := range open {
		if s.perUnitClosure(nil, done...).rows[r] {
			continue
		}
		if !s.addsRows(r, done) {
			if err := s.boundBeforeJoin(r); err != nil {
				return err
			}
		}
		done = append(done, r)
	}
	return nil
}

// manyRows returns the protected relations that can have many rows of a unit, the nullable
// ones last.
func (s *Source) manyRows() []*relation {
	var open, nullable []*relation
	k := s.perUnitClosure(nil)
	for _, r := range s.relations {
		switch {
		case !r.protected() || k.rows[r]:
		case r.nullable:
			nullable = append(nullable, r)
		default:
			open = append(open, r)
		}
	}
	return append(open, nullable...)
}

// addsRows reports whether each row of a nullable relation matches one row of those before
// it at most: the outer join then has no more rows than both together.
func (s *Source) addsRows(r *relation, before []*relation) bool {
	if !r.nullable {
		return false
	}
	k := s.deps.matched().closureOf(s.identity(), r)
	return !slices.ContainsFunc(before, func(b *relation) bool { return !k.rows[b] })
}

// widest returns the first relation from whose rows most others follow.
func (s *Source) widest(open []*relation) *relation {
	best, most := open[0], -1
	for _, r := range open {
		k := s.perUnitClosure(nil, r)
		n := 0
		for _, other := range open {
			if k.rows[other] {
				n++
			}
		}
		if n > most {
			best, most = r, n
		}
	}
	return best
}

// boundBeforeJoin bounds the rows of each unit in the relation.
func (s *Source) boundBeforeJoin(r *relation) error {
	if s.inside {
		return notHere(r.at, "Join the relations in a sub-select in FROM.", "the rows of %q could multiply those of a sub-select in a condition", r.name)
	}
	if r.rowsPerUnit = r.maxRows(); r.rowsPerUnit == 0 {
		return s.unbounded(r, r.at)
	}
	if len(r.hops) > 0 && r.follows == nil {
		r.unit.SQL, r.unit.Reach = r.alias+"."+r.unitAlias(), scalar.Whole
	}
	return nil
}
