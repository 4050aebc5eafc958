package scalar

import (
	"math/big"
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// Share returns which part of what is declared for their columns is left by conditions, as if values were spread evenly,
// columns had nothing to do with each other, and no row met two conditions of an OR. It is not known where a condition is other
// than a range of a column with declared bounds, values of one that has a list of them, or an OR of such. ranges says that
// all are ranges. It proves nothing about rows.
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

// mostParts is into how many parts a list counts as divided at most: rows are seldom spread evenly over its values, and one of
// them may be that of most.
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

// shareOfAny is the share of an OR. That of one value of a column with decimals is not known.
func shareOfAny(env *Env, e Expr) (*big.Rat, bool) {
	l, ok := e.(*logic)
	if !ok || l.kind != ast.Or {
		return nil, false
	}
	sum := 0.0 // which has few digits, however many the constants have
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

// width is how many values of a whole number or date an interval has, and how long it is of others.
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

// within narrows a column by a condition, if that is a range of it whose ends are known.
func (n *narrowing) within(e Expr) bool {
	c, ok := e.(*call)
	if !ok || c.fn.over != comparison && c.fn.over != inRange {
		return false
	}
	alone := &narrowing{constants: n.constants, columns: map[*Column]Interval{}}
	c.fn.over.narrow(alone, c)
	for column, i := range alone.columns { // one at most
		if i.Low == nil && i.High == nil || c.fn.over == inRange && (i.Low == nil || i.High == nil) {
			return false
		}
		n.columns[column] = i.intersect(n.columns[column])
	}
	return len(alone.columns) > 0
}

// among leaves of the listed values of a column those that a condition says it has, if it does.
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
