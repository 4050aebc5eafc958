package scalar

import (
	"slices"

	"dpproxy/parser/ast"
)

// Conditions that compare one value with several others: IN, BETWEEN, and CASE with an operand.
// Postgres takes an operator for each comparison by the types of its two sides. One written for
// all of them would compare as floats what is compared as whole numbers beside another.

// severally compares one value with several.
type severally struct {
	*Resolver
	at int
}

// apart reports whether groups of operands, each compared by itself, compare as other values than
// all of them together do. It is false where the operands of a group do not compare.
func apart(all []operand, groups ...[]operand) bool {
	whole, ok := together(all)
	differ := !ok
	for _, group := range groups {
		own, ok := together(group)
		if !ok {
			return false
		}
		for _, o := range group {
			differ = differ || !o.comparesAlike(whole(o), own(o))
		}
	}
	return differ
}

// comparesAlike reports whether an operand is the same value in comparisons as one type and as
// another. A literal is read as the type, and may be another value as each.
func (o operand) comparesAlike(a, b Type) bool {
	exact := func(t Type) bool { return t.whole() || t.decimal() }
	switch {
	case a.same(b):
		return true
	case a.Family() == TextFamily && b.Family() == TextFamily:
		return a.OID != oidBpchar && b.OID != oidBpchar
	case o.unknown() && !o.bare:
		return false
	}
	return a.Family() == b.Family() || exact(a) && exact(b)
}

// in resolves IN.
func (r severally) in(e *ast.In) (operand, error) {
	ops, err := r.all(append([]ast.Expr{e.X}, e.List...)...)
	if err != nil {
		return operand{}, err
	}
	groups, err := r.alternatives(ops, e.Values)
	if err != nil {
		return operand{}, err
	}
	if !apart(ops, groups...) {
		groups = [][]operand{ops}
	}
	parts := make([]operand, len(groups))
	for i, group := range groups {
		if parts[i], err = r.among(group, e.Not); err != nil {
			return operand{}, err
		}
	}
	kind := ast.Or
	if e.Not {
		kind = ast.And
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return r.combined(kind, parts, r.at)
}

// alternatives splits the value of IN and its list as Postgres does: several constants are one
// array, if they have a type in common with the value, and all else is compared by itself
// (transformAExprIn in src/backend/parser/parse_expr.c). The constants of VALUES have a type in
// common without it. In ops, too, it gives constants that type.
func (r severally) alternatives(ops []operand, values bool) ([][]operand, error) {
	typed := keep(ops[1:], operand.free)
	several := len(typed) > 1
	if !values {
		typed = append([]operand{ops[0]}, typed...)
	}
	var groups [][]operand
	t, array := common(typed)
	if array = array && several && !t.Array; array {
		if err := r.literals(ops[1:], t); err != nil {
			return nil, err
		}
		groups = append(groups, append([]operand{ops[0]}, keep(ops[1:], operand.free)...))
	}
	for _, o := range ops[1:] {
		if !array || !o.free() {
			groups = append(groups, []operand{ops[0], o})
		}
	}
	return groups, nil
}

// literals gives constants a type, but for those that compare alike without, and sub-selects, which
// have one.
func (r severally) literals(ops []operand, t Type) (err error) {
	if t.OID == oidVarchar { // compared as text
		t = typ(oidText)
	}
	for i, o := range ops {
		if !o.free() || o.bare || o.comparesAlike(o.typ, t) {
			continue
		}
		if ops[i], err = r.coerce(o, t); err != nil {
			return err
		}
	}
	return nil
}

// among resolves an IN whose comparisons are alike.
func (r severally) among(ops []operand, not bool) (operand, error) {
	bare := slices.ContainsFunc(ops, operand.isBare) // has its own type, which an array would hide
	ops, err := r.unify(ops, r.at)
	if err != nil {
		return operand{}, err
	}
	if !bare {
		if x, ok, err := r.longList(ops, not, r.at); ok || err != nil {
			return x, err
		}
	}
	if allFree(ops) {
		return condition(inSQL(texts(ops), not), r.at), nil
	}
	list, err := r.exprs(ops)
	if err != nil {
		return operand{}, err
	}
	return over(&among{boolean(r.at), list[0], list[1:], not}), nil
}

// between resolves BETWEEN.
func (r severally) between(e *ast.Between) (operand, error) {
	ops, err := r.all(e.X, e.Low, e.High)
	if err != nil {
		return operand{}, err
	}
	if apart(ops, ops[:2], []operand{ops[0], ops[2]}) {
		return r.inTwo(e, ops)
	}
	if ops, err = r.unify(ops, r.at); err != nil {
		return operand{}, err
	}
	if allFree(ops) {
		return condition(betweenSQL(texts(ops), e.Not, e.Symmetric), r.at), nil
	}
	list, err := r.exprs(ops)
	if err != nil {
		return operand{}, err
	}
	return over(&between{boolean(r.at), list[0], list[1], list[2], e.Not, e.Symmetric}), nil
}

// inTwo resolves a BETWEEN as Postgres defines it, by two comparisons.
func (r severally) inTwo(e *ast.Between, ops []operand) (operand, error) {
	x, err := r.within(ops[0], ops[1], ops[2])
	if err == nil && e.Symmetric {
		var other operand
		if other, err = r.within(ops[0], ops[2], ops[1]); err == nil {
			x, err = r.combined(ast.Or, []operand{x, other}, r.at)
		}
	}
	if err == nil && e.Not {
		return r.combined(ast.Not, []operand{x}, r.at)
	}
	return x, err
}

func (r severally) within(x, low, high operand) (operand, error) {
	above, err := r.compare(">=", []operand{x, low}, r.at)
	if err != nil {
		return operand{}, err
	}
	below, err := r.compare("<=", []operand{x, high}, r.at)
	if err != nil {
		return operand{}, err
	}
	return r.combined(ast.And, []operand{above, below}, r.at)
}

// whens resolves the operand of CASE and what it is compared with. Where these comparisons are
// unlike, they become conditions, and the operand is none any more.
func (r severally) whens(ops []operand) (list []operand, simple bool, err error) {
	var pairs [][]operand
	for _, o := range ops[1:] {
		pairs = append(pairs, []operand{ops[0], o})
	}
	if !apart(ops, pairs...) {
		list, err = r.unify(ops, r.at)
		return list, true, err
	}
	for _, pair := range pairs {
		c, err := r.compare("=", pair, r.at)
		if err != nil {
			return nil, false, err
		}
		list = append(list, c)
	}
	return list, false, nil
}
