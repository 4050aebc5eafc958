package source

import (
	"math"
	"slices"

	"dpproxy/core"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// boundJoins decides which relations are cut before they are joined. One that has many
// rows of a unit can be read whole; every further one whose row does not follow
// from those before could multiply the unit's rows.
func boundJoins(t *terms, p *proof) (*bounded, error) {
	b := &bounded{proof: p, rowsPerUnit: map[*relation]int64{}, provenRows: map[*relation]int64{}, units: map[*relation]*scalar.Column{}}
	open := p.manyRows()
	if len(open) == 0 {
		b.judgeRows(t)
		return b, nil
	}
	done := []*relation{p.widest(open)}
	for _, r := range open {
		if r.followsFrom(p.perUnit(nil, done...)) {
			continue
		}
		if !p.addsRows(r, done) {
			if err := b.boundBeforeJoin(r); err != nil {
				return nil, err
			}
		}
		done = append(done, r)
	}
	b.judgeRows(t)
	return b, nil
}

// manyRows returns the protected relations that can have many rows of a unit, the nullable
// ones last.
func (p *proof) manyRows() []*relation {
	if !p.Protected() {
		return nil
	}
	var open, nullable []*relation
	k, kept := p.perUnit(nil), region(p.root)
	for _, r := range p.relations {
		switch {
		case !r.protected() || ofReference(r) || r.followsFrom(k):
		case !slices.Contains(kept, r):
			nullable = append(nullable, r)
		default:
			open = append(open, r)
		}
	}
	return append(open, nullable...)
}

// addsRows reports whether each row of a nullable relation matches one row of those before
// it at most: the outer join then has no more rows than both together.
func (p *proof) addsRows(r *relation, before []*relation) bool {
	if slices.Contains(region(p.root), r) {
		return false
	}
	k := p.typ.Where(core.Facts{Valued: r.apart}).PerUnit(r.apart)
	return !slices.ContainsFunc(before, func(b *relation) bool { return !b.followsFrom(k) })
}

// widest returns the relation from whose rows most others follow: of several the one of which a cut would leave the most rows, if
// no outer join fills it with NULL.
func (p *proof) widest(open []*relation) *relation {
	best, most, rows, kept := open[0], -1, int64(0), region(p.root)
	for _, r := range open {
		k := p.perUnit(nil, r)
		n := 0
		for _, other := range open {
			if other.followsFrom(k) {
				n++
			}
		}
		if taken := p.rowsTaken(r, p.model.JoinRows()); n > most || n == most && taken > rows && slices.Contains(kept, r) {
			best, most, rows = r, n, taken
		}
	}
	return best
}

// boundBeforeJoin bounds the rows of each unit in the relation.
func (b *bounded) boundBeforeJoin(r *relation) error {
	if b.inside { // a condition is written without the keyed order
		return notHere(r.at, "Join the relations in a sub-select in FROM.",
			"the rows of %q could multiply those of a sub-select in a condition", r.name)
	}
	if n := r.rowsPerUnit(b.publicSizes()); n < math.MaxInt64 {
		b.provenRows[r] = n
		return nil
	}
	b.rowsPerUnit[r] = b.rowsTaken(r, b.model.JoinRows())
	if r.rows == nil && (len(r.hops) > 0 || r.tagged) && b.follows[r] == nil {
		unit := *r.unit
		unit.SQL, unit.Reach = r.alias+"."+r.unitAlias(), scalar.Whole
		b.units[r] = &unit
	}
	return nil
}

// stating are the relations whose numbers in the policy count: those that can have many rows of a unit,
// and all where none can. The number of a table that has one row of each is no limit of others.
func (p *proof) stating() []*relation {
	if many := p.manyRows(); len(many) > 0 {
		return many
	}
	return slices.DeleteFunc(slices.Clone(p.relations), ofReference)
}

// MaxRows returns the largest max_rows of those that are stated, 0 where one of them has none: its limit is
// chosen.
func (p *proof) MaxRows() int64 {
	most := int64(0)
	for _, r := range p.stating() {
		n := maxRows(r)
		if n == 0 && r.protected() {
			return 0
		}
		most = max(most, n)
	}
	return most
}

// maxRows returns the largest max_rows that is declared for the rows of a relation, of a UNION ALL
// the sum, unless it has the rows of a join; 0 if there is none.
func maxRows(r *relation) int64 {
	if r.rows == nil {
		return r.table.MaxRows
	}
	total := int64(0)
	for _, b := range r.rows.branches {
		n := b.source.MaxRows()
		if b.one {
			n = 1
		}
		if n == 0 {
			return 0
		}
		if total += n; r.rows.full {
			total = max(total-n, n)
		}
	}
	return total
}

// Units is about how many privacy units there are, as everybody may know; 0 is unsaid.
func (p *proof) Units() int64 { return p.model.Units() }

// AutoRows returns the largest number that ends limits which are chosen, of those that are stated; 0
// where there is none.
func (p *proof) AutoRows() int64 {
	return p.mostStated(func(t *policy.Table) int64 { return t.AutoRows }, (*proof).AutoRows)
}

// MaxPartitions returns the largest max_partitions of those that are stated; 0 where there is none.
func (p *proof) MaxPartitions() int64 {
	return p.mostStated(func(t *policy.Table) int64 { return t.MaxPartitions }, (*proof).MaxPartitions)
}

// mostStated returns the largest of the numbers that the tables state.
func (p *proof) mostStated(number func(*policy.Table) int64, below func(*proof) int64) int64 {
	most := int64(0)
	for _, r := range p.stating() {
		if r.table != nil {
			most = max(most, number(r.table))
		}
		for _, b := range r.branches() {
			most = max(most, below(b.source.proof))
		}
	}
	return most
}
