package scalar

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// PlainColumn returns e as a column, if it is nothing but a column.
func PlainColumn(e Expr) (*Column, bool) {
	if ref, ok := e.(*Ref); ok {
		return ref.Column, true
	}
	return nil, false
}

// Conjuncts returns conditions that must all be true for e to be true: the parts of an AND, and, for an OR, also the parts that all of its
// branches share.
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

// shared returns the conditions that every branch of an OR implies.
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

// Within returns the strongest condition over columns for which has is true that it finds implied by e: e itself, the parts of an AND over
// these columns, or, for an OR, what every branch implies. It is nil if it finds none.
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

// Equated returns the sides of a = b.
func Equated(e Expr) (a, b Expr, ok bool) {
	c, ok := e.(*call)
	if !ok || !c.fn.operator || c.fn.name != "=" {
		return nil, nil, false
	}
	return c.args[0], c.args[1], true
}

// Replaced returns an equality in which another expression of the same type replaces one side.
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

// Asked returns the sub-selects of a condition that depends only on which of them have rows.
func Asked(e Expr) (all []*Query, ok bool) {
	switch e := e.(type) { //nolint:gochecksumtype // all other conditions depend on more
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

// AllOf returns the conjunction of conditions.
func AllOf(list ...Expr) Expr {
	if len(list) == 1 {
		return list[0]
	}
	return &logic{node{pgtype.Of(pgtype.Bool), list[0].Pos(), false}, ast.And, list}
}

// Opposite returns the negation of a condition on a row.
func Opposite(e Expr) Expr {
	return &logic{node{pgtype.Of(pgtype.Bool), e.Pos(), false}, ast.Not, []Expr{e}}
}

// SameType reports whether two columns have the same type.
func SameType(a, b *Column) bool { return a.Type.Same(b.Type) }

// Equality returns the columns of a condition a = b that compares them without a cast, by an equality that means the same value: between
// columns of the same type, between two integer types, or between text and varchar with the same deterministic collation.
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

// Separates reports whether an equality of a column, which may be cast, tells apart all of its values that differ: one float8 can be equal
// to several large bigint.
func Separates(e Expr) bool {
	x, y, ok := Equated(e)
	if !ok || len(x.Columns()) != 1 {
		return false
	}
	c := x.Columns()[0].Type
	return eachApart(c, x.Type()) && eachApart(c, y.Type())
}

// eachApart reports whether values that differ still do when they are compared with those of another type.
func eachApart(t, with pgtype.Type) bool {
	from, to := t.Family(), with.Family()
	switch {
	case from == pgtype.NoFamily || to == pgtype.NoFamily:
		return false
	case !t.Deterministic || !with.Deterministic:
		return from == to && t.Collation == with.Collation
	case to == pgtype.FloatFamily:
		return from == to || t.OID == pgtype.Int2 || t.OID == pgtype.Int4
	case to == pgtype.InstantFamily:
		return from == to
	}
	return true
}

// A Determined is a column that has one value in all rows that are identical in the columns of an expression.
type Determined struct {
	Column *Column
	By     Expr
}

// Determines returns the columns that an equality gives the value of its other side. Equal values of such a column are identical, and it is
// compared as it is, or as a wider type that tells all of its values apart. The other side is computed of columns of its row.
func Determines(e Expr) (list []Determined) {
	x, y, ok := Equated(e)
	if !ok {
		return nil
	}
	for _, of := range []Determined{{widened(x), y}, {widened(y), x}} {
		if of.Column != nil && of.Column.OneSpelling() && len(of.By.Columns()) > 0 && ofRow(of.By) {
			list = append(list, of)
		}
	}
	return list
}

// Hashes reports whether a hash table finds equal values of the sides of an equality: they are compared in one type, or in types that have
// one hash. A date and a timestamp have none.
func Hashes(e Expr) bool {
	x, y, ok := Equated(e)
	return ok && sameEquality(x.Type(), asColumn(y.Type(), x.Type()))
}

// widened returns the column that an operand of an equality is, perhaps cast to a wider type; nil for any other.
func widened(e Expr) *Column {
	if c, ok := e.(*cast); ok && widens(c.x.Type(), c.typ) {
		e = c.x
	}
	c, _ := PlainColumn(e)
	return c
}

// widens reports whether a cast in a comparison, as it is written, tells all values of a type apart, whatever their bounds.
func widens(from, to pgtype.Type) bool {
	switch {
	case to.Mod >= 0 || to.Array:
	case to.OID == pgtype.Numeric:
		return from.Whole()
	case to.OID == pgtype.Float8:
		return from.OID == pgtype.Int2 || from.OID == pgtype.Int4
	case to.OID == pgtype.Text:
		return from.OID == pgtype.Varchar && to.Collation == from.Collation
	}
	return false
}

// ofRow reports whether nothing but values of its row decide the value of an expression.
func ofRow(e Expr) bool {
	switch e.(type) { //nolint:gochecksumtype // the others are computed of their operands
	case *Query, *aggregate:
		return false
	}
	return !slices.ContainsFunc(operands(e), func(o Expr) bool { return !ofRow(o) })
}

// Fixed returns the column of a condition column = constant which, if it is true, gives the column one value in one spelling.
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

// asColumn gives the type of a constant the collation of the column with which it is compared.
func asColumn(t, col pgtype.Type) pgtype.Type {
	t.Collation, t.Deterministic = col.Collation, col.Deterministic
	return t
}

// Equal reports whether two expressions are the same, with the same columns and constants.
func Equal(a, b Expr) bool { return identity.same(a, b) }

// NeverNull reports whether e is not NULL if all conditions are true.
func NeverNull(conditions []Expr, e Expr) bool {
	if ref, ok := e.(*Ref); ok && ref.Column.NotNull {
		return true
	}
	return slices.ContainsFunc(conditions, func(c Expr) bool { return excludesNull(c, e) })
}

// NeverNullColumn is NeverNull for a column. It also recognises that a condition on another column of the same relation excludes the rows
// that an outer join adds.
func NeverNullColumn(conditions []Expr, c *Column) bool {
	for !NeverNull(conditions, &Ref{Column: c}) {
		if c.Outer && !matched(conditions, c) {
			return false
		}
		if c.Matched[c] {
			return true
		}
		if c = c.Below(); c == nil {
			return false
		}
	}
	return true
}

// Below returns the column that defines a column of a derived table; nil if it is computed, or belongs to a table.
func (c *Column) Below() *Column {
	if len(c.Of) == 1 {
		if ref, plain := c.Of[0].(*Ref); plain {
			return ref.Column
		}
	}
	return nil
}

// matched reports whether the relation of a column has a matching row if all conditions are true.
func matched(conditions []Expr, c *Column) bool {
	return slices.ContainsFunc(conditions, func(cond Expr) bool {
		return slices.ContainsFunc(cond.Columns(), func(o *Column) bool {
			for x := o; x != nil; x = x.Below() {
				if _, beside := c.Matched[x]; beside {
					return excludesNull(cond, &Ref{Column: o})
				}
			}
			return false
		})
	})
}

// excludesNull reports whether the condition is never true if x is NULL.
func excludesNull(cond, x Expr) bool {
	switch c := cond.(type) { //nolint:gochecksumtype // strictness decides for the others
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

// neverFalse reports whether the condition is never false if x is NULL.
func neverFalse(cond, x Expr) bool {
	if c, ok := cond.(*logic); ok {
		switch c.kind {
		case ast.Or: // false if all are false
			return slices.ContainsFunc(c.args, func(a Expr) bool { return neverFalse(a, x) })
		case ast.And: // false if one is false
			return !slices.ContainsFunc(c.args, func(a Expr) bool { return !neverFalse(a, x) })
		case ast.Not:
			return excludesNull(c.args[0], x)
		}
	}
	return strict(cond, x)
}

// strict reports whether e is NULL if x is NULL.
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

// Computed reports whether an expression is arithmetic or a function. Then its values, as they are written, lie within its Bounds, since
// its operands are moved into theirs. A column, or a choice such as COALESCE, can have any value.
func Computed(e Expr) bool {
	c, ok := e.(*call)
	return ok && c.typ.Family() != pgtype.BoolFamily
}
