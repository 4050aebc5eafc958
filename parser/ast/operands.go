package ast

// Operands returns the expressions directly below x, at its query level: those of a
// query in x are not among them.
func Operands(x Expr) []Expr {
	switch x := x.(type) {
	case *Column, *Const, *Param, *ValueFunc, *Exists, *Subquery:
		return nil
	case *Cast:
		return []Expr{x.X}
	case *Op:
		return given(x.Left, x.Right)
	case *Bool:
		return x.Args
	case *In:
		return append([]Expr{x.X}, x.List...)
	case *Between:
		return []Expr{x.X, x.Low, x.High}
	case *Searched:
		return []Expr{x.X}
	case *IsNull:
		return []Expr{x.X}
	case *BoolTest:
		return []Expr{x.X}
	case *Distinct:
		return []Expr{x.Left, x.Right}
	case *Func:
		return x.Args
	case *Case:
		return branches(x)
	case *Array:
		return x.Elems
	case *AnyOf:
		return []Expr{x.Left, x.Array}
	case *InQuery:
		return []Expr{x.X}
	case *Aggregate:
		return append(given(x.Within, x.Filter), x.Args...)
	case *Window:
		return x.operands()
	}
	return nil
}

// given returns the expressions that there are.
func given(list ...Expr) []Expr {
	out := make([]Expr, 0, len(list))
	for _, x := range list {
		if x != nil {
			out = append(out, x)
		}
	}
	return out
}

func branches(x *Case) []Expr {
	out := given(x.X, x.Else)
	for _, w := range x.Whens {
		out = append(out, w.If, w.Then)
	}
	return out
}

// ColumnFree reports whether the value of x is the same for all rows: no column
// occurs in it, no aggregate, and no query but a Subquery.
func ColumnFree(x Expr) bool {
	switch x.(type) {
	case *Column, *InQuery, *Exists, *Aggregate, *Window:
		return false
	case *Const, *Param, *ValueFunc, *Subquery, *Cast, *Op, *Bool, *In, *Between, *IsNull, *BoolTest, *Distinct,
		*Searched, *Func, *Case, *Array, *AnyOf:
	}
	for _, o := range Operands(x) {
		if !ColumnFree(o) {
			return false
		}
	}
	return true
}

// operands are in the order in which SQL has them.
func (x *Window) operands() []Expr {
	all := append(append(given(x.Args...), given(x.Filter)...), x.Partition...)
	for _, s := range x.Order {
		all = append(all, s.X)
	}
	return all
}
