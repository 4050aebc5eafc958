package sqltext

import "slices"

// A chain joins the relations of a query one after the other. It begins with a relation of one row, and joins each relation to the
// relations before by an outer join. So every intermediate result has at least the first row, and a hash join reads both of its sides: the
// side whose rows stay is never empty, and the other side is read even if it has no rows. A look-up by an index is work for one row.
// Conditions on one relation are part of its join, and leave out its rows there. A row without a match in a relation has NULL in a column
// that is not NULL in the rows of the statement. Such rows are left out at the end.
//
// Postgres must join in this order. If it joined A with (B and C), and B had no row, it would not read C. A merge join ends with the side
// whose rows stay. A nested loop reads the other side for each row, unless an index finds its rows.
type chain struct {
	links  []Link
	units  []Link // equalities of units that follow from others
	leaves []*leaf
	outer  []*Join  // a join comes after the joins below it
	conds  []string // conditions on rows of inner joins, without links
}

// A leaf is a relation of a chain.
type leaf struct {
	item      Item
	name      string
	own       []string // conditions on its rows
	most, few bool     // these conditions leave most rows, or few
	protected bool
}

// newChain lists the relations of an item.
func newChain(it Item) *chain {
	c := &chain{}
	c.add(it)
	return c
}

func (c *chain) add(it Item) {
	switch it := it.(type) {
	case *Table:
		c.leaves = append(c.leaves, &leaf{item: it, name: it.As, own: it.Own, most: it.Most, few: it.Few, protected: it.Protected})
	case *Query:
		c.leaves = append(c.leaves, &leaf{item: it, name: it.As, own: it.Own, most: it.Most, protected: protects(it)})
	case *Listed: // is the only relation
		c.leaves = append(c.leaves, &leaf{item: it, protected: protects(it)})
	case *Join:
		c.add(it.Left)
		if it.Kind == Left {
			c.outer = append(c.outer, it)
			return
		}
		c.add(it.Right)
		c.links, c.units = append(c.links, it.Links...), append(c.units, it.Units...)
		_, rest := it.conditions()
		c.conds = append(c.conds, rest...)
	}
}

// protects reports whether an item has protected rows.
func protects(it Item) bool {
	switch it := it.(type) {
	case *Table:
		return it.Protected
	case *Query:
		s := it.Select
		return protects(s.From) || slices.ContainsFunc(s.UnionAll, func(u *Select) bool { return protects(u.From) })
	case *Listed:
		return protects(it.Item)
	case *Join:
		return protects(it.Left) || protects(it.Right)
	}
	return false
}

func (c *chain) joins() bool { return len(c.leaves)+len(c.outer) > 1 }

// leavesOut reports whether an inner join may leave out rows that other relations would be joined to. No inner join does if foreign keys
// lead from one relation to each of the others, and nothing else links them: whichever relations are joined first, the rows of one of them
// stay.
func (c *chain) leavesOut() bool {
	if len(c.leaves) < 2 || len(c.leaves)+len(c.outer) == 2 {
		return false
	}
	led := map[string]bool{}
	for _, k := range c.links {
		to, from := k.Right.Of, k.Left
		if !from.Foreign {
			to, from = k.Left.Of, k.Right
		}
		if !from.Foreign || from.Null || led[to] {
			return true
		}
		led[to] = true
	}
	return len(c.links) != len(c.leaves)-1
}

func (c *chain) protected() bool {
	return slices.ContainsFunc(c.leaves, func(l *leaf) bool { return l.protected })
}

// filtered reports whether far fewer rows of the leaf may be read than its table has.
func (l *leaf) filtered() bool {
	_, query := l.item.(*Query)
	return len(l.own) > 0 && !l.most || query && l.protected
}

// A link joins a relation to the relations before it.
type link struct {
	leaf    *leaf // or
	outer   *Join
	links   []Link
	indexed bool // an index finds its rows
}

// order returns how the relations follow the first one, as far as equalities link them.
func (c *chain) order(first *leaf) []link {
	have := map[string]bool{first.name: true}
	leaves := slices.DeleteFunc(slices.Clone(c.leaves), func(l *leaf) bool { return l == first })
	outer := slices.Clone(c.outer)
	var list []link
	for len(leaves)+len(outer) > 0 {
		next, ok := c.next(leaves, have)
		if ok {
			have[next.leaf.name] = true
			leaves = slices.DeleteFunc(leaves, func(l *leaf) bool { return l == next.leaf })
		} else {
			i := slices.IndexFunc(outer, func(j *Join) bool { return len(j.Links) > 0 && holdsAll(have, names(j.Left)) })
			if i < 0 {
				return list
			}
			next = link{outer: outer[i], links: outer[i].Links}
			right := names(next.outer.Right)
			next.indexed = len(right) == 1 && finds(next.outer.Right, next.links, right[0], true)
			for _, name := range right {
				have[name] = true
			}
			outer = slices.Delete(outer, i, i+1)
		}
		list = append(list, next)
	}
	return list
}

// next returns a leaf that is linked to relations before. It prefers a leaf in which each row before finds only rows of its own unit, so
// that there are no more rows than a unit may have. Among these, it prefers a leaf whose rows an index finds.
func (c *chain) next(leaves []*leaf, have map[string]bool) (best link, ok bool) {
	tied, shared := false, c.protectedAmong(have)
	for _, l := range leaves {
		links := l.linked(c.links, have)
		if len(links) == 0 {
			continue
		}
		ties := !l.protected || !shared || l.tied(links)
		if units := l.linked(c.units, have); !ties && len(units) > 0 {
			links, ties = append(links, units...), true
		}
		found := finds(l.item, links, l.name, shared)
		if !ok || ties && !tied || ties == tied && found && !best.indexed {
			best, tied, ok = link{leaf: l, links: links, indexed: found}, ties, true
		}
	}
	return best, ok
}

// linked returns the links between the leaf and relations before.
func (l *leaf) linked(links []Link, have map[string]bool) (list []Link) {
	for _, k := range links {
		if k.Left.Of == l.name && have[k.Right.Of] || k.Right.Of == l.name && have[k.Left.Of] {
			list = append(list, k)
		}
	}
	return list
}

// tied reports whether rows of the leaf that are equal in the column of a link belong to one unit.
func (l *leaf) tied(links []Link) bool {
	return slices.ContainsFunc(links, func(k Link) bool {
		return k.Left.Of == l.name && !k.Left.Many || k.Right.Of == l.name && !k.Right.Many
	})
}

// protectedAmong reports whether one of the relations is a protected leaf.
func (c *chain) protectedAmong(have map[string]bool) bool {
	return slices.ContainsFunc(c.leaves, func(l *leaf) bool { return l.protected && have[l.name] })
}

// finds reports whether an index finds the rows of an item by one of the links. If protected rows ask for them, the rows must be of one
// unit, or public. If an index might find them by a column that rows of many units share, no index may be used: the time would show how
// many rows there are, and whether any row asks for them.
func finds(it Item, links []Link, name string, asked bool) bool {
	_, found := it.(*Table)
	indexed := false
	for _, k := range links {
		for _, e := range []End{k.Left, k.Right} {
			if e.Of == name && e.Indexed {
				indexed, found = true, found && (!asked || !e.Many)
			}
		}
	}
	return found && indexed
}

// names returns the names of an item's relations.
func names(it Item) (list []string) {
	switch it := it.(type) {
	case *Table:
		return []string{it.As}
	case *Query:
		return []string{it.As}
	case *Listed:
		return names(it.Item)
	case *Join:
		return append(names(it.Left), names(it.Right)...)
	}
	return nil
}

func holdsAll(have map[string]bool, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !have[name] })
}

// start returns the relation that the others follow. It is the first relation with conditions from which indexes find all others. If there
// is none, it is a protected relation that all others follow, if possible with conditions. gains says that rows are left out before other
// relations are joined.
func (c *chain) start() (first *leaf, gains bool) {
	var filtered, protected *leaf
	for _, l := range c.leaves {
		order := c.order(l)
		gains = gains || l.protected && l.filtered()
		switch complete := c.complete(order); {
		case !complete:
		case l.filtered() && !slices.ContainsFunc(order, link.unindexed):
			return l, true
		case !l.protected:
		case filtered == nil && l.filtered():
			filtered = l
		case protected == nil:
			protected = l
		}
	}
	if filtered != nil {
		return filtered, true
	}
	return protected, gains
}

// complete reports whether all other relations are in the order.
func (c *chain) complete(order []link) bool { return len(order)+1 == len(c.leaves)+len(c.outer) }

// null reports whether one of the columns can be NULL. Such a row joins nothing.
func (k Link) null() bool { return k.Left.Null || k.Right.Null }

// chain writes the joins, and the conditions on their rows.
func (r *region) chain(c *chain, where []string) (Item, []string) {
	first, _ := c.start()
	it, _ := r.item(first.item)
	from := &Join{Kind: Left, Left: &Table{SQL: "(SELECT)", As: Single}, Right: it, On: first.own}
	met := slices.Clone(first.own)
	order := c.order(first)
	few := r.looks && first.few && !slices.ContainsFunc(order, link.unindexed)
	for _, k := range order {
		next := &Join{Kind: Left, Left: from}
		if k.outer != nil {
			r.follow(next, k.outer, len(c.leaves) == 1)
		} else {
			r.next(next, k, few && k.looked())
			met = append(met, k.conditions()...)
		}
		from, r.joins.Scanned = next, r.joins.Scanned || !k.indexed
	}
	r.joins.Ordered = true
	r.residual = without(c.conds, met)
	for _, l := range c.links { // links to a relation that is joined later
		if !slices.Contains(slices.Concat(met, where, r.residual), l.SQL) {
			r.residual = append(r.residual, l.SQL)
		}
	}
	return from, r.where(without(where, met))
}

// next writes the join of a relation.
func (r *region) next(to *Join, k link, looked bool) {
	to.Right, _ = r.item(k.leaf.item)
	to.Links = k.links
	for _, l := range k.links {
		r.notNull = append(r.notNull, l.Left.Present, l.Right.Present)
		if looked {
			to.On = append(to.On, l.Looked)
			r.looked = true
		}
	}
	if !looked {
		to.On = k.conditions()
	}
}

// conditions returns the conditions of the join.
func (k link) conditions() (list []string) {
	for _, l := range k.links {
		list = append(list, l.SQL)
	}
	return append(list, k.leaf.own...)
}

// looked reports whether an index should find the row that each row before refers to. A relation with conditions may have so few rows that
// a hash table of them is quicker.
func (k link) looked() bool {
	return len(k.leaf.own) == 0 && !slices.ContainsFunc(k.links, func(l Link) bool { return l.Looked == "" || l.Right.Of != k.leaf.name })
}

func (k link) unindexed() bool { return !k.indexed }

// follow writes an outer join of the statement.
func (r *region) follow(to, j *Join, alone bool) {
	below := &region{pass: r.pass}
	to.Right, _ = below.item(j.Right)
	outer(to, j, below)
	r.touch = append(r.touch, j.Links[0].Left.Present, j.Links[0].Right.Present)
	if alone {
		r.notNull = append(r.notNull, j.LeftUnit)
	}
}
