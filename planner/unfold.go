package planner

import (
	"slices"

	"dpproxy/planner/scalar"
)

// maxUnfolded bounds the text of an expression over columns that derived tables compute from one another, each of which can double it.
const maxUnfolded = 1 << 15

// longestName is as long as any name of a column on the mirror, so that a text that fits with it fits with the real names.
const longestName = "v99999.x"

// An unfolding writes expressions for the mirror with Postgres's own semantics. Columns that derived tables compute are written as the
// expressions that define them.
type unfolding struct {
	constants scalar.Inlined
	// leaf writes a column that is not computed.
	leaf func(*scalar.Column) string
	// leaves are the columns that leaf has written, each base column once.
	leaves []*scalar.Column
	texts  map[*scalar.Column]string
	failed bool
}

// write returns ok false for expressions that only the protected database can evaluate, that divide, or that get too long.
func (u *unfolding) write(e scalar.Expr) (sql string, ok bool) {
	sql, ok = scalar.Native(e, u.column, u.constants)
	if !ok || len(sql) > maxUnfolded || scalar.Divides(e) {
		u.failed = true
	}
	if u.failed {
		return "NULL", false
	}
	return sql, true
}

func (u *unfolding) column(c *scalar.Column) string {
	x := computation(c)
	if x == nil {
		if !contains(u.leaves, c) {
			u.leaves = append(u.leaves, c)
		}
		return u.leaf(c)
	}
	sql, known := u.texts[c]
	if !known {
		sql, _ = u.write(x)
		sql = "(" + sql + ")"
		if u.texts == nil {
			u.texts = map[*scalar.Column]string{}
		}
		u.texts[c] = sql
	}
	return sql
}

// computation returns the expression that computes a column of a derived table; nil if it is a plain column, one of several branches, or
// NULL in rows that a join adds.
func computation(c *scalar.Column) scalar.Expr {
	for {
		if c.Outer || len(c.Of) != 1 {
			return nil
		}
		ref, plain := c.Of[0].(*scalar.Ref)
		if !plain {
			return c.Of[0]
		}
		c = ref.Column
	}
}

// contains reports whether c has the same base column as one of the columns.
func contains(cols []*scalar.Column, c *scalar.Column) bool {
	return slices.ContainsFunc(cols, func(o *scalar.Column) bool { return o.Base() == c.Base() })
}
