package scalar

import "slices"

// Bases returns the columns from which an expression is computed, below derived tables.
func Bases(e Expr) (all []*Column) {
	eachBelow(e, func(x Expr) {
		if ref, plain := x.(*Ref); plain && ref.Column.computed() == nil && !slices.Contains(all, ref.Column.Base()) {
			all = append(all, ref.Column.Base())
		}
	})
	return all
}

// OfOneRow reports whether an expression is computed from the columns of one row, and constants, alone.
func OfOneRow(e Expr) bool {
	plain := true
	eachBelow(e, func(x Expr) {
		switch x.(type) { //nolint:gochecksumtype // the others are computed from the columns
		case *Query, *aggregate, *term:
			plain = false
		}
	})
	return plain
}

// eachBelow visits an expression, its operands, and the expressions that compute its columns, each column once.
func eachBelow(e Expr, visit func(Expr)) {
	seen := map[*Column]bool{}
	var each func(Expr)
	each = func(e Expr) {
		visit(e)
		if ref, ok := e.(*Ref); ok && !seen[ref.Column] {
			seen[ref.Column] = true
			for _, x := range ref.Column.Of {
				each(x)
			}
		}
		for _, o := range operands(e) {
			each(o)
		}
	}
	each(e)
}
