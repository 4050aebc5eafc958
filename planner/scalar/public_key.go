package scalar

import (
	"math/big"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// DeclaredSQL writes the condition that a value of the type of a column of a table is one that the policy declares for the column. It is
// empty if the policy declares none.
func DeclaredSQL(c *Column, value string) string {
	t := c.Type
	text := func(text string) string { return castSQL(ast.Quote(text), t) }
	switch {
	case t.Array || t.SQL() == "":
	case c.Values != nil:
		list := make([]string, len(c.Values))
		for i, v := range c.Values {
			list[i] = text(v)
		}
		return "(" + value + " IN (" + strings.Join(list, ", ") + "))"
	case c.Bounds != nil:
		low, high := declaredEnds(c)
		if l, ok := lineOf(t, Interval{Low: low, High: high}, digitsOf(t)); ok {
			return between(value, text(l.text(l.low)), text(l.text(l.high)))
		}
	}
	return ""
}

// KeyAs writes the value of a public key as one of a type to which it is identical where they are equal. A whole number that the type
// lacks is NULL.
func KeyAs(k *PublicKey, t pgtype.Type) string { return readAs(k.SQL, k.Type, t) }

func readAs(sql string, from, to pgtype.Type) string {
	switch {
	case from.OID == to.OID:
		return sql
	case to.Whole() && pgtype.Bits(from.OID) > pgtype.Bits(to.OID):
		return "CASE WHEN " + OfType(sql, to) + " THEN " + castSQL(sql, to) + " END"
	}
	return castSQL(sql, to)
}

// ReadAs reads a column as the type of one to which it is identical. A whole number that the type lacks is NULL.
func ReadAs(c *Column, t pgtype.Type) string { return readAs(c.Read(), c.Type, t) }

// OfType writes the condition that a whole number is one of a narrower type.
func OfType(value string, t pgtype.Type) string {
	half := power2(pgtype.Bits(t.OID) - 1)
	last := new(big.Rat).Sub(half, rat(1))
	return between(value, "("+new(big.Rat).Neg(half).Num().String()+")", last.Num().String())
}

func between(value, low, high string) string {
	return "(" + value + " OPERATOR(pg_catalog.>=) " + low + " AND " + value + " OPERATOR(pg_catalog.<=) " + high + ")"
}
