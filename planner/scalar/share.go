package scalar

import (
	"math/big"
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// Share estimates the fraction of rows that meet conditions, from the declared values of their columns. It assumes that values are spread
// evenly, that columns are independent, and that no row meets two conditions of an OR. It knows conditions that are ranges of a column with
// declared bounds, or values of a column with declared values, and an OR of such conditions; known is false if there are others. ranges
// says that all are ranges. The estimate proves nothing about rows.
func Share(env *Env, where []Expr) (share *big.Rat, ranges, known bool) {
	n := &narrowing{constants: env, columns: map[*Column]Interval{}}
	lists := map[*Column][]string{}
	share, ranges = rat(1), true
	for _, cond := range where {
		for _, c := range joinedByAnd(cond) {
			if n.within(c) {
				continue
			}
			ranges = false
			if n.among(c, lists) {
				continue
			}
			part, ok := shareOfAny(env, c)
			if !ok {
				return nil, false, false
			}
			share.Mul(share, part)
		}
	}
	for c, i := range n.columns {
		all := env.column(c)
		if !all.Bounded() || c.width(all).Sign() <= 0 {
			return nil, false, false
		}
		i = i.intersect(all)
		share.Mul(share, new(big.Rat).Quo(c.width(i), c.width(all)))
	}
	for c, left := range lists {
		share.Mul(share, larger(big.NewRat(int64(len(left)), int64(len(c.Base().Values))), big.NewRat(1, mostParts)))
	}
	return share, ranges, true
}

// mostParts bounds the number of equal parts into which a list is assumed to divide the rows: rows are seldom spread evenly over values,
// and one value may have most of them.
const mostParts = 4

// joinedByAnd lists the conditions of an AND.
func joinedByAnd(e Expr) []Expr {
	l, ok := e.(*logic)
	if !ok || l.kind != ast.And {
		return []Expr{e}
	}
	var all []Expr
	for _, arg := range l.args {
		all = append(all, joinedByAnd(arg)...)
	}
	return all
}

// shareOfAny is Share for an OR. It does not know the share of a single value of a column with decimals.
func shareOfAny(env *Env, e Expr) (*big.Rat, bool) {
	l, ok := e.(*logic)
	if !ok || l.kind != ast.Or {
		return nil, false
	}
	sum := 0.0 // a float64, whose digits are few, however many the constants have
	for _, arg := range l.args {
		share, _, known := Share(env, []Expr{arg})
		if !known {
			return nil, false
		}
		part, _ := share.Float64()
		if part == 0 {
			return nil, false
		}
		sum += part
	}
	return ratOf(min(sum, 1)), true
}

// width returns the number of whole numbers or dates in an interval, or the length of an interval of other values.
func (c *Column) width(i Interval) *big.Rat {
	switch {
	case i.empty || i.Low.Cmp(i.High) > 0:
		return new(big.Rat)
	case c.Type.Family() == pgtype.IntFamily || c.Type.OID == pgtype.Date:
		first, last := ceil(i.Low), floor(i.High)
		return last.Add(last.Sub(last, first), rat(1))
	}
	return new(big.Rat).Sub(i.High, i.Low)
}

// within narrows a column by a condition that is a range of it with known ends.
func (n *narrowing) within(e Expr) bool {
	c, ok := e.(*call)
	if !ok || c.fn.over != comparison && c.fn.over != inRange {
		return false
	}
	alone := &narrowing{constants: n.constants, columns: map[*Column]Interval{}}
	c.fn.over.narrow(alone, c)
	for column, i := range alone.columns { // at most one
		if i.Low == nil && i.High == nil || c.fn.over == inRange && (i.Low == nil || i.High == nil) {
			return false
		}
		n.columns[column] = i.intersect(n.columns[column])
	}
	return len(alone.columns) > 0
}

// among keeps those listed values of a column that a condition allows; it returns false for other conditions.
func (n *narrowing) among(e Expr, lists map[*Column][]string) bool {
	c, ok := e.(*call)
	if !ok || (c.fn.over != comparison || c.fn.name != "=") && (c.fn.over != inList || c.fn.name != wordIn) {
		return false
	}
	x, items := c.args[0], c.args[1:]
	if isConstant(x) && len(items) == 1 {
		x, items = items[0], c.args[:1]
	}
	ref, plain := samePlainText(x).(*Ref)
	if !plain || !allConstant(items) || ref.Column.Base().Values == nil || ref.Type().Family() != pgtype.TextFamily {
		return false
	}
	values := ref.Column.Base().Values
	if len(values) >= mostParts*len(items) { // however few of them
		lists[ref.Column] = nil
		return true
	}
	var texts []string
	for _, item := range items {
		text, err := n.constants.text(item)
		if err != nil {
			return false
		}
		if text != nil {
			texts = append(texts, *text)
		}
	}
	left, known := lists[ref.Column]
	if !known {
		left = spellings(ref.Type(), values)
	}
	texts = spellings(ref.Type(), texts)
	lists[ref.Column] = slices.DeleteFunc(slices.Clone(left), func(v string) bool { return !slices.Contains(texts, v) })
	return true
}
