package suggest

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// Declared compares the values that a policy declares of a column with those that its type and CHECK constraints admit, its own and those
// of its domain. Never are values that no row can have, and missing those that a row can have and that are not declared, where they can
// be listed. Labels are those of an enum, and checks are by the names of tables and domains. A condition that is not understood admits all.
func Declared(
	table catalog.Name, src *catalog.Column, values, labels []string, checks map[catalog.Name][]string,
) (never, missing []string) {
	t, ok := trialOf(src)
	if !ok || len(values) == 0 {
		return nil, nil
	}
	c := constraints{t: t}
	c.add(src.Name, checks[table])
	if src.Type.Kind == 'd' {
		c.add("value", checks[src.Type.Name])
	}
	possible := labels
	switch {
	case t.fam == pgtype.BoolFamily:
		possible = []string{"false", "true"}
	case t.fam != pgtype.EnumFamily:
		possible = c.listed()
	}
	for _, v := range values {
		if !c.admit(v) || labels != nil && !slices.Contains(labels, v) {
			never = append(never, v)
		}
	}
	for _, v := range possible {
		if c.admit(v) && !slices.ContainsFunc(values, func(w string) bool { return t.same(v, w) }) {
			missing = append(missing, v)
		}
	}
	return never, missing
}

// same reports whether two values are equal.
func (t trial) same(v, w string) bool {
	t.value = v
	order, ok := t.order(w)
	return ok && order == 0
}

// Constraints are conditions of one column, each by the name that it calls the column by.
type constraints struct {
	t   trial
	all []condition
}

type condition struct {
	column string
	is     ast.Expr
}

func (c *constraints) add(column string, checks []string) {
	for _, check := range checks {
		if x := conditionOn(column, check); x != nil {
			c.all = append(c.all, condition{column, x})
		}
	}
}

// admit reports whether no condition excludes a value.
func (c *constraints) admit(value string) bool {
	return !slices.ContainsFunc(c.all, func(x condition) bool { return c.trialOf(x, value).judge(x.is) == fails })
}

func (c *constraints) trialOf(x condition, value string) trial {
	t := c.t
	t.column, t.value = x.column, value
	return t
}

// longestRange is how many whole numbers between two constants are looked at.
const longestRange = 1000

// listed returns the values that conditions can admit at most: constants that they compare with, and whole numbers between; nil if
// anything else could be admitted.
func (c *constraints) listed() []string {
	for _, x := range c.all {
		all := constantsOf(x.is, nil)
		if c.t.fam == pgtype.IntFamily {
			all = between(all)
		}
		if len(all) == 0 {
			continue
		}
		beyond := []string{strings.Join(all, "") + "?"}
		switch c.t.fam { //nolint:exhaustive // others are texts
		case pgtype.IntFamily:
			beyond = []string{stepped(all[0], -1), stepped(all[len(all)-1], 1)}
		case pgtype.DateFamily:
			return nil
		}
		closed := !slices.ContainsFunc(beyond, func(v string) bool { return c.trialOf(x, v).judge(x.is) != fails })
		if closed {
			return all
		}
	}
	return nil
}

// constantsOf lists the constants of a condition.
func constantsOf(x ast.Expr, all []string) []string {
	list := []ast.Expr{}
	switch x := x.(type) { //nolint:gochecksumtype // others compare with no constant
	case *ast.Bool:
		list = x.Args
	case *ast.Between:
		list = []ast.Expr{x.Low, x.High}
	case *ast.Op:
		list = []ast.Expr{x.Left, x.Right}
	case *ast.In:
		list = x.List
	case *ast.AnyOf:
		if array, ok := uncast(x.Array).(*ast.Array); ok {
			list = array.Elems
		}
	}
	if v := constant(x); v != "" && !slices.Contains(all, v) {
		return append(all, v)
	}
	for _, e := range list {
		if e != nil {
			all = constantsOf(e, all)
		}
	}
	return all
}

// between lists the whole numbers from the least of some to the greatest; nil if one is none, or if there are too many.
func between(texts []string) (all []string) {
	var low, high *big.Int
	for _, text := range texts {
		n, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return nil
		}
		if low == nil || n.Cmp(low) < 0 {
			low = n
		}
		if high == nil || n.Cmp(high) > 0 {
			high = n
		}
	}
	if low == nil || !low.IsInt64() || !high.IsInt64() || new(big.Int).Sub(high, low).Cmp(big.NewInt(longestRange)) > 0 {
		return nil
	}
	for n := low.Int64(); n <= high.Int64(); n++ {
		all = append(all, strconv.FormatInt(n, 10))
	}
	return all
}

// stepped is a whole number plus another.
func stepped(text string, by int64) string {
	n, _ := new(big.Int).SetString(text, 10)
	return n.Add(n, big.NewInt(by)).String()
}
