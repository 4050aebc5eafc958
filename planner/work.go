package planner

import (
	"math"
	"math/bits"
	"slices"
	"strconv"

	"dpproxy/catalog"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// Limits bound the work of reading one block, from what is known before: the size
// of public tables and the caps of the policy.
type Limits struct {
	// PublicFanout bounds the rows of a public relation that is joined otherwise than by
	// a key of its own.
	PublicFanout int64
	// Work bounds how many rows each row that is read can become.
	Work int64
	// PublicRows are the rows of the public tables on the mirror.
	PublicRows map[catalog.Name]int64
}

// boundJoins decides which relations are cut before they are joined. One that has many
// rows of a unit can be read whole; every further one whose row does not follow
// from those before could multiply the unit's rows.
func (s *source) boundJoins() error {
	if !s.protected() {
		return nil
	}
	open := s.manyRows()
	if len(open) == 0 {
		return nil
	}
	done := []*relation{s.widest(open)}
	for _, r := range open {
		if s.perUnitKnown(nil, done...).rows[r] {
			continue
		}
		if !s.addsRows(r, done) {
			if err := s.cut(r); err != nil {
				return err
			}
		}
		done = append(done, r)
	}
	return nil
}

// manyRows returns the protected relations that can have many rows of a unit, the nullable
// ones last.
func (s *source) manyRows() []*relation {
	var open, nullable []*relation
	k := s.perUnitKnown(nil)
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
func (s *source) addsRows(r *relation, before []*relation) bool {
	if !r.nullable {
		return false
	}
	k := s.facts.matched().closure(s.identity(), r)
	return !slices.ContainsFunc(before, func(b *relation) bool { return !k.rows[b] })
}

// widest returns the first relation from whose rows most others follow.
func (s *source) widest(open []*relation) *relation {
	best, most := open[0], -1
	for _, r := range open {
		k := s.perUnitKnown(nil, r)
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

// cut bounds the rows of each unit in the relation.
func (s *source) cut(r *relation) error {
	if s.inside {
		return notHere(r.at, "Join the relations in a sub-select in FROM.", "the rows of %q could multiply those of a sub-select in a condition", r.name)
	}
	if r.cut = r.maxRows(); r.cut == 0 {
		return s.unbounded(r, r.at)
	}
	if len(r.hops) > 0 && r.follows == nil {
		r.unit.SQL, r.unit.Reach = r.alias+"."+r.unitAlias(), scalar.Whole
	}
	return nil
}

// work refuses a source whose joins could take too long, and returns what factor does. What it decides depends on
// the statement, the policy and public sizes alone.
func (s *source) work(limits Limits) (rows int64, err error) { return s.factor(limits) }

// factor bounds how many rows one row that is read can become.
func (s *source) factor(limits Limits) (int64, error) {
	for _, j := range s.semijoins {
		if _, err := j.inner.factor(limits); err != nil {
			return 0, err
		}
	}
	total := int64(1)
	var joined []*relation
	base := s.protected() // otherwise the first public relation is what is read
	for _, r := range s.protectedFirst() {
		n, err := s.rowsOf(r, limits)
		if err != nil {
			return 0, err
		}
		known := s.perUnitKnown(nil, joined...).rows[r]
		joined = append(joined, r)
		switch {
		case !base:
			base = true
			continue
		case r.protected():
		case known:
			n = 1
		case n > limits.PublicFanout:
			return 0, pgerr.New(pgerr.ProgramLimitExceeded, "each row could be joined with all %srows of public relation %q", count(n), r.name).At(r.at).
				WithHint("Join it by equality on its key; otherwise it may have at most %d rows (max_public_fanout).", limits.PublicFanout)
		}
		if total = saturating(total, n); total > limits.Work {
			return 0, pgerr.New(pgerr.ProgramLimitExceeded, "the join with %q could make %d rows of each, at most %d are allowed", r.name, total, limits.Work).At(r.at).
				WithHint("Join fewer relations, or aggregate them in sub-selects first.")
		}
	}
	return total, nil
}

func (s *source) protectedFirst() []*relation {
	var first, then []*relation
	for _, r := range s.relations {
		if r.protected() {
			first = append(first, r)
		} else {
			then = append(then, r)
		}
	}
	return slices.Concat(first, then)
}

// rowsOf bounds the rows of a public relation, and by how much a protected one
// multiplies the rows of a unit.
func (s *source) rowsOf(r *relation, limits Limits) (int64, error) {
	most := int64(1)
	for _, b := range r.branches() {
		factor, err := b.source.factor(limits)
		if err != nil {
			return 0, err
		}
		most = max(most, factor)
	}
	switch {
	case r.cut > 0:
		return r.cut, nil
	case !r.protected():
		return r.publicRows(limits), nil
	}
	return most, nil
}

// publicRows bounds the rows of a level without protected relations.
func (s *source) publicRows(limits Limits) int64 {
	total := int64(1)
	var joined []*relation
	for _, r := range s.relations {
		if !s.facts.closure(nil, joined...).rows[r] {
			total = saturating(total, r.publicRows(limits))
		}
		joined = append(joined, r)
	}
	return total
}

// publicRows bounds the rows of a public relation.
func (r *relation) publicRows(limits Limits) int64 {
	if r.rows != nil {
		return r.rows.branches[0].source.publicRows(limits)
	}
	return sizeOf(r.table, limits)
}

// sizeOf returns the rows of a public table; one whose size is not known may have any.
func sizeOf(t *policy.Table, limits Limits) int64 {
	if n, ok := limits.PublicRows[t.Name]; ok {
		return max(n, 1)
	}
	return math.MaxInt64
}

// count writes a number of rows, if it is known.
func count(n int64) string {
	if n == math.MaxInt64 {
		return ""
	}
	return strconv.FormatInt(n, 10) + " "
}

// saturating multiplies positive numbers.
func saturating(a, b int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}
