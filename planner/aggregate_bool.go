package planner

import (
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A boolOf is BOOL_AND, EVERY or BOOL_OR, by a count of the rows that speak against it: those
// where the argument is false, or true for BOOL_OR. No answer that is private can tell one
// such row from none.
type boolOf struct {
	overRow // the filter keeps the rows against it
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

// A verdict is the estimator of a boolOf. Its number and error are of the rows against it.
type verdict struct {
	counted
	or bool
}

// text goes against it only where the interval of the rows against it is above zero. Over no
// rows, which are not counted, nothing is against it.
func (v verdict) text(r observation) *string {
	against := v.number(r) > v.radius(r)
	s := "t"
	if against != v.or {
		s = "f"
	}
	return &s
}
