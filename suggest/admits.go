package suggest

import (
	"cmp"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// A verdict says whether a condition holds of a value.
type verdict int

const (
	unjudged verdict = iota // it depends on more than the value, or is not understood
	holds
	fails
)

func verdictOf(holding bool) verdict {
	if holding {
		return holds
	}
	return fails
}

func (v verdict) not() verdict {
	switch v {
	case holds:
		return fails
	case fails:
		return holds
	case unjudged:
	}
	return unjudged
}

// A trial judges conditions of one value of a column that is not NULL.
type trial struct {
	column, value string
	fam           pgtype.Family
	padded        bool // blanks at the end mean nothing
}

// judge returns whether a condition holds.
func (t trial) judge(x ast.Expr) verdict {
	switch x := x.(type) { //nolint:gochecksumtype // others are not understood
	case *ast.Bool:
		return t.combine(x)
	case *ast.Between:
		if x.Symmetric {
			return unjudged
		}
		v := both(t.compare(">=", x.X, x.Low), t.compare("<=", x.X, x.High))
		if x.Not {
			v = v.not()
		}
		return v
	case *ast.Op:
		if x.Left == nil {
			return unjudged
		}
		if t.isColumn(x.Right) {
			return t.compare(cmp.Or(mirrored[x.Name], x.Name), x.Right, x.Left)
		}
		return t.compare(x.Name, x.Left, x.Right)
	case *ast.In:
		v := t.any("=", x.X, x.List)
		if x.Not {
			v = v.not()
		}
		return v
	case *ast.AnyOf:
		list, ok := uncast(x.Array).(*ast.Array)
		switch {
		case !ok:
			return unjudged
		case x.All:
			return t.any(opposite[x.Op], x.Left, list.Elems).not()
		}
		return t.any(x.Op, x.Left, list.Elems)
	case *ast.IsNull:
		if t.isColumn(x.X) {
			return verdictOf(x.Not)
		}
	}
	return unjudged
}

// combine judges AND, OR and NOT.
func (t trial) combine(x *ast.Bool) verdict {
	v := t.judge(x.Args[0])
	if x.Kind == ast.Not {
		return v.not()
	}
	for _, arg := range x.Args[1:] {
		if next := t.judge(arg); x.Kind == ast.And {
			v = both(v, next)
		} else {
			v = both(v.not(), next.not()).not()
		}
	}
	return v
}

func both(a, b verdict) verdict {
	switch {
	case a == fails || b == fails:
		return fails
	case a == holds && b == holds:
		return holds
	}
	return unjudged
}

// opposite are comparisons that hold where the others do not.
var opposite = map[string]string{"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// any judges whether a comparison with one of several values holds.
func (t trial) any(op string, x ast.Expr, list []ast.Expr) verdict {
	v := fails
	for _, e := range list {
		v = both(v.not(), t.compare(op, x, e).not()).not()
	}
	return v
}

// compare judges a comparison of the column with a constant. Texts are in no order, since collations differ.
func (t trial) compare(op string, x, y ast.Expr) verdict {
	other := constant(y)
	if !t.isColumn(x) || other == "" {
		return unjudged
	}
	order, ok := t.order(other)
	if !ok {
		return unjudged
	}
	switch op {
	case "=":
		return verdictOf(order == 0)
	case "<>":
		return verdictOf(order != 0)
	}
	if t.fam != pgtype.IntFamily && t.fam != pgtype.DateFamily {
		return unjudged
	}
	switch op {
	case "<":
		return verdictOf(order < 0)
	case "<=":
		return verdictOf(order <= 0)
	case ">":
		return verdictOf(order > 0)
	case ">=":
		return verdictOf(order >= 0)
	}
	return unjudged
}

// order compares the value with another; of texts it only says whether they are equal.
func (t trial) order(other string) (order int, ok bool) {
	switch t.fam { //nolint:exhaustive // others are texts
	case pgtype.IntFamily:
		a, okA := number(t.value)
		b, okB := number(other)
		if !okA || !okB {
			return 0, false
		}
		return a.Cmp(b), true
	case pgtype.DateFamily:
		a, okA := day(t.value)
		b, okB := day(other)
		return a.Compare(b), okA && okB
	}
	if t.padded {
		return cmp.Compare(strings.TrimRight(t.value, " "), strings.TrimRight(other, " ")), true
	}
	return cmp.Compare(t.value, other), true
}

// isColumn reports whether an expression is the column, in casts that change no value.
func (t trial) isColumn(x ast.Expr) bool {
	kept := []string{"text", "varchar", "bpchar"}
	switch t.fam { //nolint:exhaustive // others are texts
	case pgtype.IntFamily:
		kept = []string{"int4", "int8", "numeric"}
	case pgtype.DateFamily, pgtype.BoolFamily:
		kept = nil
	}
	for {
		c, ok := x.(*ast.Cast)
		if !ok || c.Type.Array || len(c.Type.Mods) > 0 || !slices.Contains(kept, c.Type.Name) {
			return !ok && names(t.column, x)
		}
		x = c.X
	}
}

// trialOf returns a trial of values of a column; ok is false where equal values can look different.
func trialOf(src *catalog.Column) (t trial, ok bool) {
	t = trial{column: src.Name, fam: familyOf(src), padded: src.Type.BaseOID == pgtype.Bpchar}
	switch t.fam { //nolint:exhaustive // no other column has declared values
	case pgtype.IntFamily, pgtype.DateFamily, pgtype.BoolFamily, pgtype.EnumFamily, pgtype.TextFamily:
		return t, src.Deterministic
	}
	return t, false
}
