package scalar

import (
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// This file tests array columns. An array is read if it has at most [MostElements] elements, and is NULL otherwise. NULL elements, empty
// arrays and several dimensions behave as in Postgres.

// arrayOperators compare two arrays of the same type.
var arrayOperators = []string{"@>", "<@", "&&"}

var (
	// overlap is @>, <@ or && between a column and a constant.
	overlap = &rule{
		bounds: maybeNull,
		cost: func(c *costing, e *call) int64 {
			most := int64(0)
			for _, a := range e.args {
				if array, constant := a.(*constant); constant {
					most = c.env.elements(array)
				}
			}
			return product(most, eachElement)
		},
		write: func(w *Writer, c *call) (fragment, error) {
			parts := make([]string, len(c.args))
			for i, a := range c.args {
				f, err := w.write(a, asIs)
				if err != nil {
					return fragment{}, err
				}
				parts[i] = f.sql
			}
			return fragment{sql: c.fn.sql(parts...), typ: c.typ}, nil
		},
	}
	// elementCount is the number of elements; array_length counts them in one dimension.
	elementCount = &rule{
		bounds: func(_ *Env, c *call) Interval {
			i := span(int64(len(c.args)-1), MostElements) // a dimension has at least one element
			i.Null = true
			return i
		},
		cost: func(*costing, *call) int64 { return 0 },
		write: func(w *Writer, c *call) (fragment, error) {
			array, err := w.write(c.args[0], asIs)
			if err != nil {
				return fragment{}, err
			}
			parts := []string{array.sql}
			if len(c.args) > 1 {
				dimension, err := w.write(c.args[1], asIs)
				if err != nil {
					return fragment{}, err
				}
				parts = append(parts, dimension.sql)
			}
			return fragment{sql: castSQL(c.fn.sql(parts...), pgtype.Of(pgtype.Int8)), typ: pgtype.Of(pgtype.Int8)}, nil
		},
	}
)

// ArrayElement returns a column for the elements of an array, with its SQL; it returns false if the expression is not an array column. As
// in Postgres, the result of unnest has no modifier.
func ArrayElement(array Expr, name, sql string) (*Column, bool) {
	ref, ok := array.(*Ref)
	if !ok || !ref.Column.Type.Array {
		return nil, false
	}
	c := &Column{Name: name, Type: ref.Column.Type.Element().Below(), Untold: ref.Column.Untold, SQL: sql}
	c.Type.Undeclared = c.Type.Mod >= 0
	if c.Reach = ReachOf(c.Type, false); Long(c.Type) {
		c.Reach = Piece
	}
	return c, true
}

// eachElement is the cost of comparing a value with all elements of an array of short values.
const eachElement = MostElements / 8

// elementsCost is the cost of comparing a value with the elements of a column. If texts are compared for order, the value is copied for
// each comparison.
func elementsCost(c *costing, e *call) int64 {
	n := int64(eachElement)
	if x := e.args[0]; forOrder(e) && x.Type().Family() == pgtype.TextFamily {
		n = added(n, product(added(c.octets(x), 1), MostElements))
	}
	return n
}

// arrayOf returns the expression as an array column, or refuses it.
func arrayOf(x Expr) (*Ref, error) {
	ref, ok := x.(*Ref)
	if HasFields(x.Type()) {
		return nil, pgerr.New(pgerr.NotAllowed, "a value of type %s is not allowed on protected data here", x.Type()).At(x.Pos()).
			WithHint(askForFields)
	}
	if !ok || !ref.Column.Type.Array {
		return nil, pgerr.New(pgerr.NotAllowed, "an array of type %s is not allowed on protected data here", x.Type()).At(x.Pos()).
			WithHint("It must be a column of arrays, of whole numbers, numerics, texts, booleans, dates, points in time or uuids.")
	}
	return ref, nil
}
