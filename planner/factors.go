package planner

import (
	"slices"

	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// A product is a term whose integers are computed from the integers of columns, its factors, and not with numerics in each row: for example
// (price · (100 − discount)) from price and discount in hundredths.
type product struct {
	term
	factors    []term
	operations int
	// apart are the factors if package fold multiplies them, from columns as they are stored.
	apart []scalar.Factor
}

// factorise computes the integers of terms from the integers of columns if that saves operations. It counts one operation each for clamping
// a column, for arithmetic with a numeric, and for rounding a numeric to a lattice; operations on int8 cost little in comparison and count
// as none.
func (r *reader) factorise() {
	var products []product
	var factors []term
	saved := 0
	for _, t := range r.integers {
		p, ok := r.product(t)
		if !ok {
			continue
		}
		products = append(products, p)
		saved += p.operations + 1
		for _, f := range p.factors {
			if !slices.ContainsFunc(factors, f.equal) {
				factors = append(factors, f)
			}
		}
	}
	if saved <= r.taken(factors) {
		return
	}
	for i, p := range products {
		if !r.folds() || !r.within(p.term) || slices.ContainsFunc(r.statistics, p.neededSoon) {
			products[i].apart = nil
		}
	}
	r.products = products
	r.integers = slices.DeleteFunc(r.integers, func(t term) bool {
		return slices.ContainsFunc(products, func(p product) bool { return p.sameInteger(t) })
	})
	for _, f := range factors {
		if !slices.ContainsFunc(r.integers, f.equal) {
			r.integers = append(r.integers, f)
		}
	}
}

// product finds the factors of a term, and the number of operations on numerics that computing the term directly takes. A term that can be
// NULL has to be within its bounds without clamping, since LEAST ignores NULL.
func (r *reader) product(t term) (product, bool) {
	p := product{term: t}
	if !r.within(t) && r.sp.nullable(t.arg) {
		return p, false
	}
	used, all := 0, true
	_, of, ok := scalar.Steps(r.w, t.arg, t.values.digits, func(ref *scalar.Ref) string {
		used++
		f, known := r.factor(ref)
		all = all && known
		if known && !slices.ContainsFunc(p.factors, f.equal) {
			p.factors = append(p.factors, f)
		}
		return ""
	})
	p.operations = used + scalar.Operations(t.arg)
	p.apart, _ = of.Factors()
	return p, ok && all && len(p.factors) > 0
}

// factor returns the integers of a column within its declared bounds.
func (r *reader) factor(ref *scalar.Ref) (term, bool) {
	digits, ok := scalar.OwnSteps(r.sp.env, ref)
	if !ok || digits > maxDigits {
		return term{}, false
	}
	l, err := latticeOf(ref, digits, true, r.sp.env.Bounds(ref))
	return term{arg: ref, values: l, wide: true}, err == nil && l.digits == digits
}

// taken is the number of operations that the factors need on top of the terms that the read computes anyway.
func (r *reader) taken(factors []term) int {
	n := 0
	for _, f := range factors {
		at := slices.IndexFunc(r.integers, f.equal)
		switch {
		case at < 0:
			n += 2
		case r.late(r.integers[at]):
			n++
		}
	}
	return n
}

// isFactor reports whether DATA computes products from the integers of a term.
func (r *reader) isFactor(t term) bool {
	return slices.ContainsFunc(r.products, func(p product) bool { return p.apart == nil && slices.ContainsFunc(p.factors, t.equal) })
}

// multiplied writes the integer of a product, within its limits.
func (r *reader) multiplied(p product) string {
	sql, _, _ := scalar.Steps(r.w, p.arg, p.values.digits, func(ref *scalar.Ref) string {
		f, _ := r.factor(ref)
		at := slices.IndexFunc(r.integers, f.equal)
		if r.integers[at].whole() == int8Type {
			return sqltext.Integer(at)
		}
		return "CAST(" + sqltext.Integer(at) + " AS " + int8Type + ")"
	})
	if !r.within(p.term) {
		sql = "LEAST(GREATEST(" + sql + ", " + int8Literal(p.values.low) + "), " + int8Literal(p.values.high) + ")"
	}
	if p.whole() != int8Type {
		return "CAST(" + sql + " AS " + p.whole() + ")"
	}
	return sql
}
