package scalar

import (
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// NewBounded resolves an expression over columns. It must be an operator or a function, so that its values, as they are written, lie within
// bounds that follow from the bounds of its columns; a choice, such as COALESCE, can have any value. The Bounds of the result are nil.
func NewBounded(name, text string, e ast.Expr, column func(*ast.Column) (*Column, error)) (*Bounded, error) {
	r := &Resolver{Constants: &Constants{}, Column: column}
	x, err := r.Expr(e)
	if err != nil {
		return nil, err
	}
	switch t := x.Type(); {
	case len(x.Columns()) == 0:
		return nil, pgerr.New(pgerr.NotAllowed, "the expression names no column").WithHint("Write an expression over columns of the table.")
	case !Computed(x):
		return nil, pgerr.New(pgerr.NotAllowed, "the expression is no operator or function of columns").
			WithHint("A column has bounds of its own; of a choice among values, bound what is computed in it.")
	case t.OID == pgtype.Interval && !elapsed(x):
		return nil, pgerr.New(pgerr.NotAllowed, "the expression is an interval that is no difference of two timestamps").
			WithHint("Months and years have no one length: bound the difference, or a number of seconds.")
	case !t.Number() && !t.Dated() && t.OID != pgtype.Interval:
		return nil, pgerr.New(pgerr.NotAllowed, "the expression is of type %s, which cannot have bounds", t).
			WithHint("Bound a number, a date, a timestamp or a difference of two timestamps.")
	}
	return &Bounded{Name: name, Text: text, x: x, folds: r.Constants.Folds()}, nil
}

// Is reports whether two expressions over columns of a table are the same.
func (d *Bounded) Is(o *Bounded) bool {
	return sameness{
		columns: func(a, b *Column) bool { return a.Name == b.Name },
		folds:   d.alike(o.folds),
		pattern: true,
	}.same(d.x, o.x)
}

// alike compares constants of the expression with others, by their SQL.
func (d *Bounded) alike(others []Fold) func(i, j int) bool {
	return func(i, j int) bool { return d.folds[i].SQL == others[j].SQL && d.folds[i].Type == others[j].Type }
}

// bound adds the bounds that the policy declares for an expression.
func bound(c *Constants, x Expr) Expr {
	if !Computed(x) {
		return x
	}
	row := rowOf(x)
	if row == nil {
		return x
	}
	for _, d := range row.Bounded {
		is := sameness{
			columns: func(p, of *Column) bool { return of.Base().Row == row && of.Base().Name == p.Name },
			folds:   d.alike(c.folds),
			pattern: true,
		}
		if is.same(d.x, x) {
			return &bounded{node{typ: x.Type(), at: x.Pos()}, x, d}
		}
	}
	return x
}

// rowOf returns the Row of the first column in an expression that has one, or nil.
func rowOf(e Expr) *Row {
	if ref, ok := e.(*Ref); ok {
		return ref.Column.Base().Row
	}
	for _, o := range operands(e) {
		if row := rowOf(o); row != nil {
			return row
		}
	}
	return nil
}
