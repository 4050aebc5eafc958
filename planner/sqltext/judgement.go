package sqltext

import "slices"

// A judgement says how the joins of a statement can be read.
type judgement struct {
	// gains says that a chain saves work: conditions leave out rows before they are joined, or sides are read that no row joins.
	gains bool
	// loose says that equalities do not link all relations, or that nothing distinguishes the rows of a chain from the row it begins with.
	loose bool
}

func (s *judgement) query(q *Select) {
	for _, w := range q.With {
		s.query(w.Query)
	}
	s.from(q.From)
	for _, u := range q.UnionAll {
		s.query(u)
	}
}

func (s *judgement) from(it Item) {
	c := newChain(it)
	for _, l := range c.leaves {
		s.below(l.item)
	}
	for _, j := range c.outer {
		s.right(j.Right)
	}
	if !c.joins() {
		return
	}
	if !c.protected() {
		s.loose = s.loose || unlinked(it)
		return
	}
	start, gains := c.start()
	s.gains = s.gains || gains || c.leavesOut() || slices.ContainsFunc(c.links, Link.null)
	alone := len(c.leaves) == 1
	untold := func(j *Join) bool { return alone && j.LeftUnit == "" }
	s.loose = s.loose || start == nil || slices.ContainsFunc(c.outer, untold)
}

// below judges a relation.
func (s *judgement) below(it Item) {
	switch it := it.(type) {
	case *Query:
		s.query(it.Select)
	case *Listed:
		s.from(it.Item)
	case *Table, *Join: // a table has nothing below, and a join is no relation
	}
}

// right judges the inner side of an outer join, which is joined as it is written.
func (s *judgement) right(it Item) {
	if j, ok := it.(*Join); ok {
		s.loose = s.loose || unlinked(j)
		s.right(j.Left)
		s.right(j.Right)
		return
	}
	s.below(it)
}

// unlinked reports whether an item has an inner join without an equality.
func unlinked(it Item) bool {
	j, ok := it.(*Join)
	return ok && (j.Kind == Inner && len(j.Links) == 0 || unlinked(j.Left) || unlinked(j.Right))
}
