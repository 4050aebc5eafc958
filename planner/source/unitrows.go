package source

import (
	"cmp"
	"math"

	"dpproxy/core"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// RowsPerUnit bounds the rows of one unit by what is public: keys, the numbers that relations are cut
// to, and how many rows public relations have on the mirror. It is not known where a unit can have
// any number. Sizes of public relations are no proof: DATA can have more than was copied.
func (b *bounded) RowsPerUnit(limits policy.Limits) (n int64, known bool) {
	if b.most > 0 {
		return b.most, true
	}
	return b.RowsPerGroup(nil, limits)
}

// judgeRows has package core bound the rows of a unit, of relations that are cut.
func (b *bounded) judgeRows(t *terms) {
	b.read = b.term
	if len(b.rowsPerUnit) > 0 {
		b.read = (&levelTerm{t, b.rowsPerUnit, map[*joined]*core.Join{}}).of(b.resolved)
	}
	typ, _ := t.judge.Check(b.read) // it differs in this bound alone
	b.most = typ.Rows
}

// RowsPerGroup bounds the rows of one unit with the same values of the keys, likewise.
func (b *bounded) RowsPerGroup(keys []scalar.Expr, limits policy.Limits) (n int64, known bool) {
	if !b.Protected() {
		return 0, false
	}
	return b.product(keys, func(r *relation, k core.Set) int64 { return b.rowsToJoin(r, k, limits) })
}

// Multiplicity bounds how many rows, with the same values of the keys, public relations make of each
// row of a unit, likewise.
func (b *bounded) Multiplicity(keys []scalar.Expr, limits policy.Limits) (n int64, known bool) {
	return b.product(keys, func(r *relation, k core.Set) int64 {
		if r.protected() {
			return r.multiplicity(limits)
		}
		return b.rowsToJoin(r, k, limits)
	})
}

// product multiplies what relations add whose rows do not follow from the unit, the keys and the
// relations before them.
func (b *bounded) product(keys []scalar.Expr, adds func(*relation, core.Set) int64) (n int64, known bool) {
	n = 1
	var joined []*relation
	for _, r := range b.protectedFirst() {
		if k := b.perUnit(identifiable(keys), joined...); !ofReference(r) && !r.followsFrom(k) {
			n = saturating(n, adds(r, k))
		}
		joined = append(joined, r)
	}
	return n, n < math.MaxInt64
}

// rowsToJoin bounds the rows of a relation that agree in a closure.
func (b *bounded) rowsToJoin(r *relation, k core.Set, limits policy.Limits) int64 {
	switch {
	case !r.protected():
		return min(publicRows(r, limits), b.publicMatches(r, k))
	case b.rowsPerUnit[r] > 0:
		return b.rowsPerUnit[r]
	}
	return r.rowsPerUnit(limits)
}

// publicMatches bounds the rows of a public table that have the values of their columns in the
// closure.
func (b *bounded) publicMatches(r *relation, k core.Set) int64 {
	most := int64(math.MaxInt64)
	if r.rows != nil {
		return most
	}
	for i, c := range r.table.Columns {
		if n, known := b.model.PublicRepeats(r.table.Name, c.Name); known && k.Has(col(r.columns[i])) {
			most = min(most, max(n, 1))
		}
	}
	return most
}

// rowsPerUnit bounds the rows of a unit in a protected relation as it is read.
func (r *relation) rowsPerUnit(limits policy.Limits) int64 {
	if r.rows == nil {
		return math.MaxInt64
	}
	total := int64(0)
	for _, b := range r.rows.branches {
		n, known := b.rowsPerUnit(limits)
		if !known || total > math.MaxInt64-n {
			return math.MaxInt64
		}
		total += n
	}
	return total
}

func (b *branch) rowsPerUnit(limits policy.Limits) (n int64, known bool) {
	switch {
	case b.one:
		return 1, true
	case b.most > 0:
		return b.most, true
	case b.elements != nil:
		return 0, false
	}
	return b.source.RowsPerUnit(limits)
}

// multiplicity bounds how many rows public relations make of a row below a protected relation.
func (r *relation) multiplicity(limits policy.Limits) int64 {
	most := int64(1)
	for _, b := range r.branches() {
		if b.one {
			continue
		}
		n, _ := b.source.Multiplicity(nil, limits)
		most = max(most, n)
	}
	return most
}

// rowsTaken is how many rows of a unit count of a relation: as many as the policy states for its
// table, or otherwise. Of a UNION ALL it is the sum.
func (p *proof) rowsTaken(r *relation, otherwise int64) int64 {
	if r.rows == nil {
		return cmp.Or(r.table.MaxRows, otherwise)
	}
	total := int64(0)
	for _, b := range r.rows.branches {
		n, known := b.rowsPerUnit(p.publicSizes())
		if !known {
			n = b.source.mostRowsTaken(otherwise)
		}
		total += n
	}
	return total
}

// mostRowsTaken is that of the relation which has the most.
func (p *proof) mostRowsTaken(otherwise int64) int64 {
	most := int64(0)
	for _, r := range p.manyRows() {
		most = max(most, p.rowsTaken(r, otherwise))
	}
	return cmp.Or(most, otherwise)
}

// publicSizes are the limits that are known with the policy.
func (r *resolved) publicSizes() policy.Limits {
	return policy.Limits{PublicRows: r.model.PublicRows()}
}
