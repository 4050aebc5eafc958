package source

import (
	"cmp"
	"math"

	"dpproxy/planner/policy"
)

// RowsPerUnit bounds the rows of one unit by what is public: keys, the sizes of public relations
// and the numbers that relations are cut to. It is not known where a unit can have any number.
func (b *bounded) RowsPerUnit(limits policy.Limits) (n int64, known bool) {
	if !b.Protected() {
		return 0, false
	}
	n = 1
	var joined []*relation
	for _, r := range b.protectedFirst() {
		if !b.perUnitClosure(nil, joined...).rows[r] {
			n = saturating(n, b.rowsToJoin(r, limits))
		}
		joined = append(joined, r)
	}
	return n, n < math.MaxInt64
}

// rowsToJoin bounds the rows of a relation that one row of a unit is joined with.
func (b *bounded) rowsToJoin(r *relation, limits policy.Limits) int64 {
	switch {
	case !r.protected():
		return publicRows(r, limits)
	case b.rowsPerUnit[r] > 0:
		return b.rowsPerUnit[r]
	}
	return r.rowsPerUnit(limits)
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
	if b.leavesOneRow(b.source.perUnitClosure(nil)) {
		return 1, true
	}
	return b.source.RowsPerUnit(limits)
}

// joinRows is how many rows of a unit a join takes of a relation: as many as the policy states for
// its table, or for joins. Of a UNION ALL it is the sum.
func (p *proof) joinRows(r *relation) int64 {
	if r.rows == nil {
		return cmp.Or(r.table.MaxRows, p.model.JoinRows())
	}
	total := int64(0)
	for _, b := range r.rows.branches {
		n, known := b.rowsPerUnit(p.publicSizes())
		if !known {
			n = b.source.mostJoinRows()
		}
		total += n
	}
	return total
}

// mostJoinRows is that of the relation which has the most.
func (p *proof) mostJoinRows() int64 {
	most := int64(0)
	for _, r := range p.manyRows() {
		most = max(most, p.joinRows(r))
	}
	return cmp.Or(most, p.model.JoinRows())
}

// publicSizes are the limits that are known with the policy.
func (r *resolved) publicSizes() policy.Limits {
	return policy.Limits{PublicRows: r.model.PublicRows()}
}
