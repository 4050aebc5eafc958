package scalar

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// PlainColumn returns the column that e is, if it is nothing but a column. Its
// Base is the column that it stands for.
func PlainColumn(e Expr) (*Column, bool) {
	if ref, ok := e.(*Ref); ok {
		return ref.Column, true
	}
	return nil, false
}

// Conjuncts returns conditions that must all be true for e to be true: its parts, and of
// an OR the parts of each of its branches.
func Conjuncts(e Expr) []Expr {
	l, ok := e.(*logic)
	if !ok || l.kind == ast.Not {
		return []Expr{e}
	}
	if l.kind == ast.Or {
		return append([]Expr{e}, shared(l.args)...)
	}
	var all []Expr
	for _, arg := range l.args {
		all = append(all, Conjuncts(arg)...)
	}
	return all
}

// shared returns the conditions that every branch of an OR has.
func shared(branches []Expr) []Expr {
	common := Conjuncts(branches[0])
	for _, b := range branches[1:] {
		parts := Conjuncts(b)
		common = slices.DeleteFunc(common, func(c Expr) bool {
			return !slices.ContainsFunc(parts, func(p Expr) bool { return Equal(c, p) })
		})
	}
	return common
}

// Within returns the condition on some columns alone, has of them, that a condition implies where it is true: itself, of an
// AND the parts that are on these columns, of an OR what each branch implies. It is nil if nothing is implied.
func Within(e Expr, has func(*Column) bool) Expr {
	columns := e.Columns()
	if len(columns) > 0 && !slices.ContainsFunc(columns, func(c *Column) bool { return !has(c) }) {
		return e
	}
	l, ok := e.(*logic)
	if !ok || l.kind == ast.Not {
		return nil
	}
	var parts []Expr
	for _, arg := range l.args {
		part := Within(arg, has)
		switch {
		case part != nil:
			parts = append(parts, part)
		case l.kind == ast.Or:
			return nil
		}
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return &logic{l.node, l.kind, parts}
}

// Divides reports whether a number is divided by another than a constant.
func Divides(e Expr) bool {
	if c, ok := e.(*call); ok && c.fn.over.divides && !isConstant(c.args[1]) {
		return true
	}
	return slices.ContainsFunc(operands(e), Divides)
}

// Equated returns the sides of a = b.
func Equated(e Expr) (a, b Expr, ok bool) {
	c, ok := e.(*call)
	if !ok || !c.fn.operator || c.fn.name != "=" {
		return nil, nil, false
	}
	return c.args[0], c.args[1], true
}

// Replaced is an equality with another expression of the same type in the place of one of its sides.
func Replaced(e, side, by Expr) Expr {
	c, ok := e.(*call)
	if !ok {
		return e
	}
	other := *c
	other.args = slices.Clone(c.args)
	for i, a := range c.args {
		if a == side {
			other.args[i] = by
		}
	}
	return &other
}

// Queries returns the sub-selects of an expression.
func Queries(e Expr) (all []*Query) {
	if q, ok := e.(*Query); ok {
		return []*Query{q}
	}
	for _, o := range operands(e) {
		all = append(all, Queries(o)...)
	}
	return all
}

// Asked returns the sub-selects of a condition that says nothing but which of them have rows.
func Asked(e Expr) (all []*Query, ok bool) {
	switch e := e.(type) { //nolint:gochecksumtype // anything else says more
	case *Query:
		return []*Query{e}, true
	case *logic:
		for _, a := range e.args {
			list, ok := Asked(a)
			if !ok {
				return nil, false
			}
			all = append(all, list...)
		}
		return all, true
	}
	return nil, false
}

// AllOf is the condition that all of some conditions hold.
func AllOf(list ...Expr) Expr {
	if len(list) == 1 {
		return list[0]
	}
	return &logic{node{pgtype.Of(pgtype.Bool), list[0].Pos(), false}, ast.And, list}
}

// Opposite is the opposite of a condition on a row.
func Opposite(e Expr) Expr {
	return &logic{node{pgtype.Of(pgtype.Bool), e.Pos(), false}, ast.Not, []Expr{e}}
}

// SameType reports whether two columns have one type.
func SameType(a, b *Column) bool { return a.Type.Same(b.Type) }

// Equality returns the columns of a condition a = b that compares them as they are, by
// an equality that means the same value: of one type, or of two integer types, or
// of text and varchar in one deterministic collation.
func Equality(e Expr) (a, b *Column, ok bool) {
	x, y, ok := Equated(e)
	if !ok {
		return nil, nil, false
	}
	a, okA := PlainColumn(x)
	b, okB := PlainColumn(y)
	return a, b, okA && okB && sameEquality(a.Type, b.Type)
}

func sameEquality(a, b pgtype.Type) bool {
	switch {
	case a.Family() == pgtype.NoFamily || !a.Deterministic || !b.Deterministic || a.Collation != b.Collation:
		return false
	case a.Family() == pgtype.IntFamily:
		return b.Family() == pgtype.IntFamily
	case a.OID == pgtype.Text || a.OID == pgtype.Varchar:
		return b.OID == pgtype.Text || b.OID == pgtype.Varchar
	}
	return a.Same(b)
}

// Fixed returns the column of a condition column = constant that has one value, in one
// spelling, wherever it is true.
func Fixed(e Expr) (*Column, bool) {
	x, y, ok := Equated(e)
	if !ok {
		return nil, false
	}
	if isConstant(x) {
		x, y = y, x
	}
	col, okColumn := PlainColumn(x)
	return col, okColumn && isConstant(y) && OneSpelling(x) && sameEquality(col.Type, asColumn(y.Type(), col.Type))
}

// asColumn gives the type of a constant the collation that it is compared in.
func asColumn(t, col pgtype.Type) pgtype.Type {
	t.Collation, t.Deterministic = col.Collation, col.Deterministic
	return t
}

// Equal reports whether two expressions are the same, of the same columns and constants.
func Equal(a, b Expr) bool { return identity.same(a, b) }

// NeverNull reports whether e is not NULL wherever all conditions are true.
func NeverNull(conditions []Expr, e Expr) bool {
	if ref, ok := e.(*Ref); ok && ref.Column.NotNull {
		return true
	}
	return slices.ContainsFunc(conditions, func(c Expr) bool { return excludesNull(c, e) })
}

// NeverNullColumn is NeverNull of a column, also of one that is NULL only in rows that outer joins add: a condition on another
// column of its relation can exclude them.
func NeverNullColumn(conditions []Expr, c *Column) bool {
	for !NeverNull(conditions, &Ref{Column: c}) {
		if c.Outer && !matched(conditions, c) {
			return false
		}
		if c.Matched[c] {
			return true
		}
		if c = c.below(); c == nil {
			return false
		}
	}
	return true
}

// below returns the column that a column of a derived table is, nil if it is computed, or of a table.
func (c *Column) below() *Column {
	if len(c.Of) == 1 {
		if ref, plain := c.Of[0].(*Ref); plain {
			return ref.Column
		}
	}
	return nil
}

// matched reports whether the relation of a column has a row wherever all conditions are true.
func matched(conditions []Expr, c *Column) bool {
	return slices.ContainsFunc(conditions, func(cond Expr) bool {
		return slices.ContainsFunc(cond.Columns(), func(o *Column) bool {
			for x := o; x != nil; x = x.below() {
				if _, beside := c.Matched[x]; beside {
					return excludesNull(cond, &Ref{Column: o})
				}
			}
			return false
		})
	})
}

// excludesNull reports whether the condition is never true where x is NULL.
func excludesNull(cond, x Expr) bool {
	switch c := cond.(type) { //nolint:gochecksumtype // of the others, strictness decides
	case *call:
		if c.fn.over.excludesNull != nil && c.fn.over.excludesNull(c, x) {
			return true
		}
	case *logic:
		switch c.kind {
		case ast.And:
			return slices.ContainsFunc(c.args, func(a Expr) bool { return excludesNull(a, x) })
		case ast.Or:
			return !slices.ContainsFunc(c.args, func(a Expr) bool { return !excludesNull(a, x) })
		case ast.Not:
			return neverFalse(c.args[0], x)
		}
	}
	return strict(cond, x)
}

// neverFalse reports whether the condition is not false where x is NULL.
func neverFalse(cond, x Expr) bool {
	if c, ok := cond.(*logic); ok {
		switch c.kind {
		case ast.Or: // false if all are
			return slices.ContainsFunc(c.args, func(a Expr) bool { return neverFalse(a, x) })
		case ast.And: // false if one is
			return !slices.ContainsFunc(c.args, func(a Expr) bool { return !neverFalse(a, x) })
		case ast.Not:
			return excludesNull(c.args[0], x)
		}
	}
	return strict(cond, x)
}

// strict reports whether e is NULL wherever x is.
func strict(e, x Expr) bool {
	if Equal(e, x) {
		return true
	}
	some := func(list ...Expr) bool {
		return slices.ContainsFunc(list, func(o Expr) bool { return strict(o, x) })
	}
	switch e := e.(type) {
	case *call:
		return some(e.args[:e.fn.strict]...)
	case *cast:
		return some(e.x)
	case *choice:
		return e.kind == nullIf && some(e.results...)
	case *bounded:
		return some(e.x)
	case *logic:
		return e.kind == ast.Not && some(e.args...)
	case *Ref, *Query, *term, *constant, *aggregate:
	}
	return false
}

// Computed reports whether an expression is arithmetic or a function: its values, as they
// are written, lie within its Bounds, since its operands are brought into theirs. A
// column, and a choice among values, such as COALESCE, can hold anything.
func Computed(e Expr) bool {
	c, ok := e.(*call)
	return ok && c.typ.Family() != pgtype.BoolFamily
}
