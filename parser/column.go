package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
)

// A value says how the values of an expression follow from released aggregates: of none, if nothing is set.
type value struct {
	// of are the aggregates whose released values they are, each in rows of its own.
	of []*pg.Node
	// plus is how far rounding moves them: infinity if that is not known.
	plus float64
	// chosen says that released values decide which rows are shown.
	chosen bool
	// further says that they are computed of released values in any other way, whose errors say nothing of theirs.
	further bool
}

// measured reports whether an expression is computed from aggregates at all.
func (v value) measured() bool { return v.further || v.of != nil }

// or is a value that is one of either in each row.
func (v value) or(w value) value {
	out := value{of: slices.Clone(v.of), plus: max(v.plus, w.plus), chosen: v.chosen || w.chosen, further: v.further || w.further}
	for _, n := range w.of {
		if !slices.Contains(out.of, n) {
			out.of = append(out.of, n)
		}
	}
	return out
}

// selected is the value in rows that released values chose.
func (v value) selected(chosen bool) value {
	v.chosen = v.measured() && (v.chosen || chosen)
	return v
}

// A column of an item or of a query; lacking says that it is computed from an aggregate that a small group has no value of. Its origins
// are the columns of protected tables whose values it has: several if USING merges them.
//
// It is titled if its name is one that the statement gives it, and of is the expression of a block that has its values, nil if none has.
type column struct {
	name            string
	of              *pg.Node
	titled, lacking bool
	value           value
	origins         []ast.Origin
}

// originsOf returns those of columns.
func originsOf(columns []column) (all []ast.Origin) {
	for _, c := range columns {
		all = append(all, c.origins...)
	}
	return all
}

// measured reports whether a column is computed from aggregates.
func (c column) measured() bool { return c.value.measured() }
