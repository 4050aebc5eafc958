package sqltext

import "slices"

// Meaning prints the query such that two queries with one text have the same rows. It does not depend on the order of conditions, nor on
// whether an inner join or WHERE has them.
func (q *Select) Meaning() string {
	p := &printer{meaning: true}
	p.query(q)
	return p.String()
}

// lifted takes out of an item the conditions of inner joins that each of its rows meets.
func lifted(it Item) (_ Item, conds []string) {
	switch it := it.(type) {
	case *Join:
		out := *it
		var left, right []string
		out.Left, left = lifted(it.Left)
		if it.Kind != Inner {
			return &out, left
		}
		out.Right, right = lifted(it.Right)
		out.On = nil
		return &out, slices.Concat(left, right, it.On)
	case *Listed:
		out := *it
		out.Item, conds = lifted(it.Item)
		return &out, conds
	case *Table, *Query:
	}
	return it, nil
}
