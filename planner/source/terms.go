package source

import (
	"slices"

	"dpproxy/core"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// terms makes the terms of package core of the relations and levels of a block, which are judged there. A relation has its term as soon
// as it is one of a level, a level when it is proved.
type terms struct {
	judge core.Judge
	last  core.Col
	// refer are texts of any length that refer to keys.
	refer core.Set
}

func (t *terms) fresh() core.Col { t.last++; return nowhere + t.last }

// nowhere is the column that no relation has. A column that has no number is taken for it: a term that is about such a column is
// refused, and nothing follows from it.
const nowhere core.Col = 1

// number gives columns their numbers. One of a derived table that stands for one below has the number of that, unless it may be the
// beginning of a text that refers to a key, which others can share. A text of a key itself is in an index, and read whole.
func (t *terms) number(list ...*scalar.Column) {
	for _, c := range list {
		if c == nil || c.Number != 0 {
			continue
		}
		if len(c.Of) == 1 {
			below, plain := scalar.PlainColumn(c.Of[0])
			if plain && !t.refer.Has(col(below)) {
				c.Number = below.Number
				continue
			}
		}
		c.Number = int(t.fresh())
	}
}

// col is a column as package core calls it.
func col(c *scalar.Column) core.Col { return max(core.Col(c.Number), nowhere) }

func cols(list []*scalar.Column) core.Set {
	all := make([]core.Col, len(list))
	for i, c := range list {
		all[i] = col(c)
	}
	return core.Of(all...)
}

// relation makes the term of a relation.
func (t *terms) relation(m *policy.Model, r *relation) {
	t.number(r.columns...)
	t.number(r.unit)
	switch {
	case r.rows == nil:
		r.term = t.scan(m, r)
	case len(r.rows.branches) > 1:
		r.term = t.union(r)
	default:
		r.term = t.branch(r.rows.branches[0], r.columns)
	}
	typ, _ := t.judge.Check(r.term) // a level of one that is refused is refused
	r.apart = typ.Row
}

// A levelTerm makes the term of a level.
type levelTerm struct {
	*terms
	level *resolved
	// cut are relations that are cut to so many rows of a unit before they are joined.
	cut map[*relation]int64
	// outer are the terms of outer joins.
	outer map[*joined]*core.Join
}

// of makes the term of the rows of the level.
func (t *levelTerm) of() core.Rel {
	where := conditionsOn(t.level, t.level.where)
	rel := t.node(t.level.root, where)
	if len(where) == 0 {
		return rel
	}
	return &core.Filter{In: rel, If: where}
}

// conditionsOn are conditions of a level. Of those on a level around it no more is said than which columns of its own have values.
func conditionsOn(r *resolved, list []condition) (conds []core.Condition) {
	for _, c := range list {
		says := conditionOf(r, c.x)
		if slices.ContainsFunc(c.x.Columns(), r.isOuter) {
			own := cols(slices.DeleteFunc(slices.Clone(c.x.Columns()), r.isOuter))
			says = core.Condition{Of: c.x, Cols: own, Says: core.Facts{Valued: says.Says.Valued.But(says.Cols.But(own))}}
		}
		conds = append(conds, says)
	}
	return conds
}

func conditionsAsTheyAre(r *resolved, list []condition) (conds []core.Condition) {
	for _, c := range list {
		conds = append(conds, conditionOf(r, c.x))
	}
	return conds
}

// conditionOf says of a condition what package scalar knows of it. Of the columns that follow from an expression these are the ones by
// which Postgres can find rows (computed_links.go): others would be proved, and take long all the same.
func conditionOf(r *resolved, x scalar.Expr) core.Condition {
	columns := x.Columns()
	c := core.Condition{Of: x, Cols: cols(columns)}
	for _, part := range scalar.Conjuncts(x) {
		if a, b, ok := scalar.Equality(part); ok && a.Number != b.Number {
			c.Says.Equal = append(c.Says.Equal, core.Pair{A: col(a), B: col(b), Identical: scalar.Identical(a, b)})
		}
		if fixed, ok := scalar.Fixed(part); ok {
			c.Says.Fixed = c.Says.Fixed.Or(core.Of(col(fixed)))
		}
		for _, l := range computedLinks(r, part) {
			c.Deps = append(c.Deps, core.Dep{From: cols(l.By.Columns()), To: core.Of(col(l.Column))})
		}
	}
	for _, of := range columns {
		if scalar.NeverNull([]scalar.Expr{x}, &scalar.Ref{Column: of}) {
			c.Says.Valued = c.Says.Valued.Or(core.Of(col(of)))
		}
	}
	return c
}

// node makes the term of an item of FROM, on each of whose rows conditions hold.
func (t *levelTerm) node(n node, where []core.Condition) core.Rel {
	j, ok := n.(*joined)
	switch {
	case !ok:
		r := relationsOf(n)[0]
		if most := t.cut[r]; most > 0 {
			return &core.Cap{In: r.term, Rows: most}
		}
		return r.term
	case j.outer:
		left, right := t.node(j.left, where), t.node(j.right, nil)
		t.outer[j] = &core.Join{Kind: core.Left, L: left, R: right, On: conditionsAsTheyAre(t.level, j.on)}
		return t.outer[j]
	}
	items, on := innerItems(j)
	all := slices.Concat(where, conditionsAsTheyAre(t.level, on))
	terms := make([]core.Rel, len(items))
	for i, item := range items {
		terms[i] = t.node(item, all)
	}
	return t.joined(terms, all)
}

// innerItems are the items of inner joins, and their conditions.
func innerItems(n node) (items []node, on []condition) {
	j, ok := n.(*joined)
	if !ok || j.outer {
		return []node{n}, nil
	}
	left, onLeft := innerItems(j.left)
	right, onRight := innerItems(j.right)
	return append(left, right...), slices.Concat(onLeft, onRight, j.on)
}

// joined joins items in an order in which units are compared as soon as they meet, if there is one. A condition is one of the first join
// that has its columns; none is left in the list.
func (t *terms) joined(items []core.Rel, conds []core.Condition) core.Rel {
	rel, items := items[0], items[1:]
	for len(items) > 0 {
		next, at := t.meet(rel, items[0], conds), 0
		for i := 1; i < len(items); i++ {
			if _, err := t.judge.Check(next); err == nil {
				break
			}
			if other := t.meet(rel, items[i], conds); t.fits(other) {
				next, at = other, i
			}
		}
		taken := map[any]bool{}
		for _, on := range next.On {
			taken[on.Of] = true
		}
		conds = slices.DeleteFunc(conds, func(c core.Condition) bool { return taken[c.Of] })
		rel, items = next, slices.Delete(items, at, at+1)
	}
	return rel
}

func (t *terms) fits(r core.Rel) bool {
	_, err := t.judge.Check(r)
	return err == nil
}

// meet joins two relations by the conditions that are about them.
func (t *terms) meet(l, r core.Rel, conds []core.Condition) *core.Join {
	left, _ := t.judge.Check(l)
	right, _ := t.judge.Check(r)
	j, both := &core.Join{L: l, R: r}, left.Cols.Or(right.Cols)
	for _, c := range conds {
		if c.Cols.In(both) {
			j.On = append(j.On, c)
		}
	}
	return j
}
