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
		b.read = (&levelTerm{t, b.resolved, b.rowsPerUnit, map[*joined]*core.Join{}}).of()
	}
	typ, _ := t.judge.Check(b.read) // it differs in this bound alone
	b.most = typ.Rows
}

// RowsPerGroup bounds the rows of one unit with the same values of the keys, likewise.
func (b *bounded) RowsPerGroup(keys []scalar.Expr, limits policy.Limits) (n int64, known bool) {
	if !b.Protected() {
		return 0, false
	}
	return b.product(keys, limits, func(r *relation) int64 { return b.rowsToJoin(r, limits) })
}

// Multiplicity bounds how many rows, with the same values of the keys, public relations make of each
// row of a unit, likewise.
func (b *bounded) Multiplicity(keys []scalar.Expr, limits policy.Limits) (n int64, known bool) {
	return b.product(keys, limits, func(r *relation) int64 { return r.multiplicity(limits) })
}

// product multiplies what relations add whose rows do not follow from the unit, the keys and the
// relations before them; adds says that of a protected one.
func (b *bounded) product(keys []scalar.Expr, limits policy.Limits, adds func(*relation) int64) (n int64, known bool) {
	rows := b.newProduct(limits)
	for r, t := range b.inTurn(identifiable(keys), limits) {
		switch {
		case !r.protected():
			rows.times(r, t.meeting)
		case !ofReference(r) && !r.followsFrom(t.k):
			rows.times(r, adds(r))
		}
	}
	n = rows.total()
	return n, n < math.MaxInt64
}

// rowsToJoin bounds the rows of a unit in a protected relation.
func (b *bounded) rowsToJoin(r *relation, limits policy.Limits) int64 {
	if b.rowsPerUnit[r] > 0 {
		return b.rowsPerUnit[r]
	}
	return r.rowsPerUnit(limits)
}

// publicMatches bounds the rows of a public table that have the values of their columns in the closure, or, of a table that lives on, of
// the one that it names.
func (b *bounded) publicMatches(r *relation, k core.Set, limits policy.Limits) (most int64, by string) {
	most = math.MaxInt64
	switch {
	case r.rows != nil:
		return most, ""
	case r.listed:
		if n, known := r.repeats(k, limits); known {
			most = max(n, 1)
		}
		return most, ""
	}
	for i, c := range r.table.Columns {
		if n, known := b.model.PublicRepeats(r.table.Name, c.Name); known && k.Has(col(r.columns[i])) && max(n, 1) < most {
			most, by = max(n, 1), c.Name
		}
	}
	return most, by
}

// repeats is how many rows of a relation of constants have the same values of columns in the closure, of which equal ones are identical.
func (r *relation) repeats(k core.Set, limits policy.Limits) (most int64, known bool) {
	var lists []scalar.Expr
	for _, c := range r.columns {
		if k.Has(col(c)) && c.OneSpelling() {
			lists = append(lists, c.List)
		}
	}
	if len(lists) == 0 || limits.Values == nil {
		return 0, false
	}
	return limits.Values.Repeats(lists)
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
