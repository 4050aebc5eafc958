package scalar

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// This file resolves conditions that compare one value with several: IN, BETWEEN, and CASE with an operand. Postgres chooses an operator
// for each comparison by the types of its two sides. A single operator for all could compare a number as a float that Postgres compares as
// an integer.

// apart reports whether operands compare differently in groups of their own and all together. It is false if the operands of a group cannot
// be compared.
func apart(all []Expr, groups ...[]Expr) bool {
	whole, ok := together(all)
	differ := !ok
	for _, group := range groups {
		own, ok := together(group)
		if !ok {
			return false
		}
		for _, o := range group {
			differ = differ || !comparesAlike(o, whole(o), own(o))
		}
	}
	return differ
}

// comparesAlike reports whether an operand has the same value in comparisons as one type and as another. A literal is read as the type, and
// can have a different value in each.
func comparesAlike(x Expr, a, b pgtype.Type) bool {
	exact := func(t pgtype.Type) bool { return t.Whole() || t.Decimal() }
	switch {
	case a.Same(b):
		return true
	case a.Family() == pgtype.TextFamily && b.Family() == pgtype.TextFamily:
		return a.OID != pgtype.Bpchar && b.OID != pgtype.Bpchar
	case unknown(x) && !bare(x):
		return false
	}
	return a.Family() == b.Family() || exact(a) && exact(b)
}

// listTest resolves IN.
func (r *resolution) listTest(e *ast.In) (Expr, error) {
	ops, err := r.resolveAll(append([]ast.Expr{e.X}, e.List...)...)
	if err != nil {
		return nil, err
	}
	groups, err := r.alternatives(ops, e.Values)
	if err != nil {
		return nil, err
	}
	if !apart(ops, groups...) {
		groups = [][]Expr{ops}
	}
	parts := make([]Expr, len(groups))
	for i, group := range groups {
		if parts[i], err = r.among(group, e.Not, e.At); err != nil {
			return nil, err
		}
	}
	kind := ast.Or
	if e.Not {
		kind = ast.And
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return r.combined(kind, parts, e.At)
}

// alternatives splits the value of IN and its list as Postgres does (transformAExprIn in src/backend/parser/parse_expr.c): several
// constants form an array if they have a common type with the value, and everything else is compared separately. The constants of VALUES
// have a common type without the value. alternatives casts the constants in ops to that type.
func (b *builder) alternatives(ops []Expr, values bool) ([][]Expr, error) {
	typed := withoutColumns(ops[1:])
	several := len(typed) > 1
	if !values {
		typed = append([]Expr{ops[0]}, typed...)
	}
	var groups [][]Expr
	t, array := common(typed)
	if array = array && several && !t.Array; array {
		if err := b.literals(ops[1:], t); err != nil {
			return nil, err
		}
		groups = append(groups, append([]Expr{ops[0]}, withoutColumns(ops[1:])...))
	}
	for _, o := range ops[1:] {
		if !array || !o.free() {
			groups = append(groups, []Expr{ops[0], o})
		}
	}
	return groups, nil
}

// literals casts constants to a type, except sub-selects, which have a type, and constants that compare alike without a cast.
func (b *builder) literals(ops []Expr, t pgtype.Type) (err error) {
	if t.OID == pgtype.Varchar { // varchar is compared as text
		t = pgtype.Of(pgtype.Text)
	}
	for i, o := range ops {
		if !o.free() || bare(o) || comparesAlike(o, o.Type(), t) {
			continue
		}
		if ops[i], err = b.coerce(o, t); err != nil {
			return err
		}
	}
	return nil
}

// among resolves an IN whose comparisons are alike.
func (b *builder) among(ops []Expr, not bool, at int) (Expr, error) {
	bare := slices.ContainsFunc(ops, bare) // a sub-select has its own type, which an array would hide
	ops, err := b.unify(ops, at)
	if err != nil {
		return nil, err
	}
	if !bare {
		if x, ok, err := b.longList(ops, not, at); ok || err != nil {
			return x, err
		}
	}
	return b.test(&function{name: negated(not, "IN"), syntax: listSQL, over: inList, strict: 1}, at, ops...)
}

// inTwo resolves a BETWEEN by two comparisons, which is its definition in Postgres.
func (b *builder) inTwo(e *ast.Between, ops []Expr) (Expr, error) {
	x, err := b.within(ops[0], ops[1], ops[2], e.At)
	if err == nil && e.Symmetric {
		var other Expr
		if other, err = b.within(ops[0], ops[2], ops[1], e.At); err == nil {
			x, err = b.combined(ast.Or, []Expr{x, other}, e.At)
		}
	}
	if err == nil && e.Not {
		return b.combined(ast.Not, []Expr{x}, e.At)
	}
	return x, err
}

func (b *builder) within(x, low, high Expr, at int) (Expr, error) {
	above, err := b.compare(">=", []Expr{x, low}, at)
	if err != nil {
		return nil, err
	}
	below, err := b.compare("<=", []Expr{x, high}, at)
	if err != nil {
		return nil, err
	}
	return b.combined(ast.And, []Expr{above, below}, at)
}

// whens resolves the operand of CASE and the values that it is compared with. If their comparisons differ in type they become conditions,
// and simple is false.
func (b *builder) whens(ops []Expr, at int) (list []Expr, simple bool, err error) {
	var pairs [][]Expr
	for _, o := range ops[1:] {
		pairs = append(pairs, []Expr{ops[0], o})
	}
	if !apart(ops, pairs...) {
		list, err = b.unify(ops, at)
		return list, true, err
	}
	for _, pair := range pairs {
		c, err := b.compare("=", pair, at)
		if err != nil {
			return nil, false, err
		}
		list = append(list, c)
	}
	return list, false, nil
}

// longList resolves a long list of constants as an array; ok is false for other lists.
func (b *builder) longList(args []Expr, not bool, at int) (x Expr, ok bool, err error) {
	list := args[1:]
	if len(list) <= shortList || args[0].free() || !allFree(list) {
		return nil, false, nil
	}
	if len(list) > longestList {
		return nil, false, pgerr.New(pgerr.ProgramLimitExceeded,
			"IN over protected rows has a list of %d values, at most %d are allowed", len(list), longestList).At(at).
			WithHint("Use fewer values, or a range.")
	}
	t, ok := common(list)
	if !ok || t.Array {
		return nil, false, nil
	}
	array, err := b.arrayOf(list, t, at)
	if err != nil {
		return nil, false, err
	}
	t = t.Unmodified()
	t.Array = true
	op := "="
	if not {
		op = "<>"
	}
	fn := elements(op, not)
	fn.strict = 1 // the array is not empty
	x, err = b.test(fn, at, args[0], mirrorCast(array, t, at, nil))
	return x, true, err
}
