package scalar

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
)

// Decided returns the conditions among several that declared values decide: for each group of columns that conditions compare together, the
// conjunction of those conditions. A row whose columns have declared values meets it only if some of these values do.
func Decided(where []Expr) (all []Expr) {
	var groups [][]Expr
	for _, e := range where {
		for _, part := range Conjuncts(e) {
			if decidable(part) {
				groups = joinedTo(groups, part)
			}
		}
	}
	for _, parts := range groups {
		all = append(all, AllOf(parts...))
	}
	return all
}

// joinedTo adds a condition to the groups of conditions that have a column of it, which it makes one.
func joinedTo(groups [][]Expr, part Expr) [][]Expr {
	mine, columns := []Expr{}, Bases(part)
	shares := func(e Expr) bool {
		return slices.ContainsFunc(Bases(e), func(c *Column) bool { return slices.Contains(columns, c) })
	}
	groups = slices.DeleteFunc(groups, func(parts []Expr) bool {
		shared := slices.ContainsFunc(parts, shares)
		if shared {
			mine = append(mine, parts...)
		}
		return shared
	})
	return append(groups, slices.Concat(mine, []Expr{part}))
}

// decidable reports whether a condition is over columns whose values are declared or bounded by constraints, at least one of them declared.
func decidable(e Expr) bool {
	columns := Declaring(e)
	known := func(c *Column) bool {
		return listsAll(c) || c.Type.OID == pgtype.Bool && !c.Type.Array || c.Bounds != nil && c.Within
	}
	return len(columns) > 0 && OfOneRow(e) && len(BoundedIn(e)) == 0 &&
		!slices.ContainsFunc(columnsOfTables(e), func(c *Column) bool { return !known(c) })
}

// Declaring returns the columns of tables from which an expression is computed that have declared values.
func Declaring(e Expr) []*Column {
	return slices.DeleteFunc(columnsOfTables(e), func(c *Column) bool { return c.Values == nil })
}

// columnsOfTables returns the columns of tables from which an expression is computed, also in branches of a UNION ALL.
func columnsOfTables(e Expr) (all []*Column) {
	eachBelow(e, func(x Expr) {
		if ref, plain := x.(*Ref); plain && len(ref.Column.Of) == 0 && !slices.Contains(all, ref.Column) {
			all = append(all, ref.Column)
		}
	})
	return all
}

// listsAll reports whether the declared values of a column are spelled as those of rows are.
func listsAll(c *Column) bool {
	return c.Values != nil && !c.Type.Array && (plainText(c.Type) || c.Type.Whole() || c.Type.Family() == pgtype.EnumFamily)
}

// Meets reports whether a declared value plainly meets a condition, which compares one column with constants.
func Meets(env *Env, e Expr) bool {
	c, ok := e.(*call)
	if !ok || !c.equatesOne() || !allConstant(c.args[1:]) {
		return false
	}
	ref, plain := samePlainText(c.args[0]).(*Ref)
	return plain && slices.ContainsFunc(named(env, ref.Column.Type, e), func(text string) bool {
		return slices.Contains(ref.Column.Base().Values, text)
	})
}

// MetByOthers reports whether a value of a column can meet a condition that is not declared and that the condition does not name. Such a
// condition asks for undeclared values.
func MetByOthers(env *Env, e Expr, c *Column) bool {
	var alike []Expr
	for _, x := range called(c, []Expr{e}) {
		alike = append(alike, &Ref{Column: x})
	}
	free := undeclared(env, c)
	return len(alike) == 0 || slices.ContainsFunc(unnamed(env, c, e), func(text string) bool {
		t, ok := newTrial(free, alike, text)
		if ok {
			t.arrays = map[int]map[string]bool{}
		}
		return !ok || t.could(e, true)
	})
}

// unnamed returns values of a column that are neither declared nor named by a condition, nor between two such values.
func unnamed(env *Env, c *Column, e Expr) []string {
	texts := slices.Concat(c.Values, Named(env, c, e))
	if !c.Type.Whole() {
		return []string{strings.Join(texts, "") + "?"} // longer than each of them
	}
	low, high := rat(0), rat(0)
	for _, text := range texts {
		if x, ok := new(big.Rat).SetString(text); ok {
			low, high = smaller(low, x), larger(high, x)
		}
	}
	return []string{new(big.Rat).Sub(low, rat(1)).Num().String(), new(big.Rat).Add(high, rat(1)).Num().String()}
}

// Named returns the constants in a condition that can be values of a column.
func Named(env *Env, c *Column, e Expr) []string { return named(env, c.Type, e) }
