package scalar

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
)

// A row is astray for a column if its value is not among the declared values, or is beyond the declared bounds. This file serves the
// remarks on an answer only: it depends on no row, and bounds nothing.

// A Use is the use of a column of a table, or of an expression with declared bounds, by an expression.
type Use struct {
	Column  *Column  // nil for an expression
	Bounded *Bounded // nil for a column
	// Brought says that the nearer bound replaces a value beyond the bounds; otherwise the value is used as it is.
	Brought bool
}

// Uses returns the uses, by a key, of everything that has declared values or bounds, each once, including uses below derived tables.
func Uses(env *Env, key Expr) (all []Use) {
	brought := map[Use]bool{}
	w := &Writer{
		Env: env, Fold: func(int) string { return "$1" }, Query: func(*Writer, *Query) (string, error) { return "TRUE", nil },
		Own: unread{}, brought: func(c *Column, d *Bounded) { brought[Use{Column: c, Bounded: d}] = true },
	}
	_, _, _ = w.Key(key) // another caller reports that it cannot be written
	columns := below(w, key, nil)
	for _, d := range BoundedIn(key) {
		if u := (Use{Bounded: d}); brought[u] || d == PlainBounded(key) {
			all = append(all, Use{Bounded: d, Brought: brought[u]})
		}
	}
	for _, c := range columns {
		if len(c.Of) == 0 && (c.Bounds != nil || c.Values != nil) {
			all = append(all, Use{Column: c, Brought: brought[Use{Column: c}]})
		}
	}
	return all
}

// Conditions returns the boolean expressions in an expression, including those below derived tables.
func Conditions(e Expr) (all []Expr) {
	seen := map[*Column]bool{}
	var visit func(Expr)
	visit = func(e Expr) {
		if e == nil {
			return
		}
		if e.Type().OID == pgtype.Bool {
			all = append(all, e)
			return
		}
		if ref, ok := e.(*Ref); ok && !seen[ref.Column.Base()] {
			seen[ref.Column.Base()] = true
			for _, of := range ref.Column.Base().Of {
				visit(of)
			}
		}
		for _, o := range operands(e) {
			visit(o)
		}
	}
	visit(e)
	return all
}

// unread implements Own for SQL that nobody reads.
type unread struct{}

// OwnPartition implements Own.
func (unread) OwnPartition() []string { return nil }

// OwnTies implements Own.
func (unread) OwnTies(*Writer) []string { return nil }

// below adds the columns from which an expression is computed, including columns below derived tables, and makes w write the expressions of
// derived columns.
func below(w *Writer, e Expr, found []*Column) []*Column {
	for _, c := range e.Columns() {
		b := c.Base()
		if slices.Contains(found, b) {
			continue
		}
		found = append(found, b)
		for i, of := range b.Of {
			_, _ = w.Target(b, i)
			found = below(w, of, found)
		}
	}
	return found
}

// Confined reports whether all conditions together exclude the rows that are astray for a use of a column of a table. It considers
// conditions that compare the column itself with constants.
func Confined(env *Env, u Use, where []Expr) bool {
	c := u.Column
	same := called(c, where)
	if len(same) == 0 {
		return false
	}
	if c.Values != nil && !u.Brought {
		return listedIn(env, c, same, where)
	}
	if c.Bounds == nil {
		return false
	}
	low, high := declaredEnds(c)
	if low == nil {
		return false
	}
	n := env.narrowing(where, false)
	in := Interval{}
	for _, x := range same {
		in = in.intersect(n.columns[x])
	}
	return in.Bounded() && in.within(Interval{Low: low, High: high})
}

// called returns the columns in conditions that have a given base column.
func called(c *Column, where []Expr) (same []*Column) {
	for _, cond := range where {
		for _, x := range cond.Columns() {
			if x.Base() == c && !slices.Contains(same, x) {
				same = append(same, x)
			}
		}
	}
	return same
}

// listedIn reports whether conditions exclude every value of a column that is not declared: it tries the values that they name, neighbours
// of these, and one more.
func listedIn(env *Env, c *Column, same []*Column, where []Expr) bool {
	var alike []Expr
	for _, x := range same {
		alike = append(alike, &Ref{Column: x})
	}
	var about []Expr
	size := 0
	for _, cond := range where {
		for _, part := range Conjuncts(cond) {
			if mentions(part, alike) && !slices.Contains(Uses(env, part), Use{Column: c, Brought: true}) {
				about, size = append(about, part), size+nodes(part)
			}
		}
	}
	values := othersThan(env, c, about)
	if values == nil || size*len(values) > maxTried {
		return false
	}
	free, arrays := undeclared(env, c), map[int]map[string]bool{}
	return !slices.ContainsFunc(values, func(text string) bool {
		t, ok := newTrial(free, alike, text)
		if !ok {
			return true
		}
		t.arrays = arrays
		return !slices.ContainsFunc(about, func(cond Expr) bool { return !t.could(cond, true) })
	})
}

// othersThan returns undeclared values of a column: the values that conditions name, their neighbours, and one that nothing names. It is
// nil if these do not represent all values of the type.
func othersThan(env *Env, c *Column, conditions []Expr) (others []string) {
	texts := slices.Clone(c.Values)
	for _, cond := range conditions {
		texts = append(texts, named(env, c.Type, cond)...)
	}
	switch {
	case plainText(c.Type):
		texts = append(texts, strings.Join(texts, "")+"?") // longer than each of them
	case c.Type.Whole():
		for _, text := range texts {
			if x, ok := new(big.Rat).SetString(text); ok {
				for _, by := range []int64{-1, 1} {
					texts = append(texts, floor(new(big.Rat).Add(x, rat(by))).Num().String())
				}
			}
		}
	default:
		return nil
	}
	return slices.DeleteFunc(texts, func(text string) bool { return slices.Contains(c.Values, text) })
}

// named returns the constants of a type in an expression.
func named(env *Env, t pgtype.Type, e Expr) (texts []string) {
	if c, ok := e.(*constant); ok && c.typ.Array {
		for text := range elementsOf(env, c) {
			texts = append(texts, text)
		}
	} else if ok {
		switch d, err := env.datum(c); {
		case err != nil || d.null:
		case d.number != nil && t.Whole():
			texts = append(texts, floor(d.number).Num().String())
		case d.number == nil && plainText(t):
			texts = append(texts, d.text)
		}
	}
	for _, o := range operands(e) {
		texts = append(texts, named(env, t, o)...)
	}
	return texts
}

// Lists reports whether all elements of a constant array are among given values, NULL aside.
func Lists(env *Env, list Expr, values []string) bool {
	array, ok := list.(*constant)
	if !ok {
		return false
	}
	elements := elementsOf(env, array)
	for text := range elements {
		if !slices.Contains(values, text) {
			return false
		}
	}
	return elements != nil
}

// Among reports whether an expression has one of the given values in every row that meets all conditions, even in rows that are astray for
// columns that it uses unchanged. null says that NULL is one of the values.
func Among(env *Env, e Expr, where []Expr, astray []*Column, values []*string, null bool) bool {
	free := undeclared(env, astray...)
	texts, canBeNull, ok := free.Enumerate(e, where, len(values)+1)
	among := func(text string) bool {
		return slices.ContainsFunc(values, func(v *string) bool { return v != nil && *v == text })
	}
	return ok && (null || !canBeNull || !mayBeNull(free, e)) && !slices.ContainsFunc(texts, func(text string) bool { return !among(text) })
}

// undeclared returns an environment that relies on nothing that is declared for some columns.
func undeclared(env *Env, columns ...*Column) *Env {
	free := env.inner(&narrowing{constants: env})
	free.undeclared = map[*Column]bool{}
	for _, c := range columns {
		free.undeclared[c] = true
	}
	return free
}
