package planner

import (
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A boolOf is BOOL_AND, EVERY or BOOL_OR. It counts the rows that decide against the result: rows for which the argument is false, or, for
// BOOL_OR, true. No private answer distinguishes one such row from none.
type boolOf struct {
	overRow // the filter keeps the rows against the result
	or      bool
}

func bools(or bool) function {
	return func(c *call) (form, error) {
		if c.Star || len(c.Args) != 1 || c.Within != nil {
			return nil, c.wrongArguments()
		}
		x, err := c.resolver.Boolean(c.Args[0])
		if err != nil {
			return nil, err
		}
		c.shown, c.counts = []scalar.Expr{x}, "rows against "
		against := c.Args[0]
		if !or {
			against = &ast.Bool{Kind: ast.Not, Args: []ast.Expr{against}, At: against.Pos()}
		}
		if c.Filter != nil {
			against = &ast.Bool{Kind: ast.And, Args: []ast.Expr{c.Filter, against}, At: against.Pos()}
		}
		filter, err := c.resolver.Boolean(against)
		if err != nil {
			return nil, err
		}
		return boolOf{overRow{filter: filter, at: c.At}, or}, c.onNullRows(x)
	}
}

func (boolOf) resultType() (pgtype.Type, bool) { return pgtype.Of(pgtype.Bool), false }

func (boolOf) reports() reports { return noReports }

func (f boolOf) specialize(c *collector) (estimator, error) {
	at, err := c.add(rowCount{}, f.filter, f.at)
	return verdict{counted{at}, f.or}, err
}

// A verdict is the estimator of a boolOf. Its number and error are those of the count of rows against it.
type verdict struct {
	counted
	or bool
}

// text is decided by the rows against it only if their interval is above zero. If no row counts, none is against it.
func (v verdict) text(r observation) *string {
	against := v.number(r) > v.radius(r)
	s := "t"
	if against != v.or {
		s = "f"
	}
	return &s
}
