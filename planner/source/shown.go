package source

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A column of a protected relation that an inner join equates with a column of a public one has a public value in every row: a code that
// is looked up among public codes. The declarations of the policy for it hold of the public value too, and so does every condition on it.

// ShowsPublic reports whether the values of a column are those of a public relation: of this level, or of a derived table that shows them
// as they are; or an inner join makes it identical to such a column.
func (r *resolved) ShowsPublic(c *scalar.Column) bool { return r.shown(c) != nil }

// shown returns the column that shows the public values of a column: the column itself, or one to which inner joins make it identical; nil
// if its values are not those of a public relation.
func (r *resolved) shown(c *scalar.Column) *scalar.Column {
	if r.showsOwn(c) {
		return c
	}
	for _, class := range r.classes() {
		if !slices.Contains(class, c) {
			continue
		}
		for _, other := range class {
			if r.showsOwn(other) && scalar.Identical(c, other) {
				return other
			}
		}
	}
	return nil
}

// PartOf returns a relation of the public part that shows a column, the same for all columns of that part; nil if it shows no public
// values.
func (s *Source) PartOf(c *scalar.Column) any {
	if d, ok := domainOf(s.level, []*scalar.Column{c}); ok {
		for _, r := range relationsOf(s.root) {
			if d.keeps(r) {
				return r
			}
		}
	}
	return nil
}

// PartsOf returns a column of each public part that shows some of the columns.
func (s *Source) PartsOf(cols []*scalar.Column) (all []*scalar.Column) {
	for _, c := range cols {
		if r, shown := s.PartOf(c).(*relation); shown {
			all = append(all, r.columns[0])
		}
	}
	return all
}

// MostRows returns how many different values columns of a public part have together at most; ok is false if that is not known.
func (s *Source) MostRows(cols []*scalar.Column) (most int64, ok bool) {
	d, ok := domainOf(s.level, cols)
	most = 1
	for r := range d.wanted {
		if r.protected() || r.listed {
			return 0, false
		}
		most = saturating(most, saturating(2, publicRows(r, policy.Limits{PublicRows: s.model.PublicRows()})))
	}
	return most, ok
}

// MostValues returns a number that the different values of a column do not exceed, as far as the policy and public tables say: those that
// the policy declares, or the rows of a public table whose column it shows, or to which its foreign key refers. It is 0 if they say
// nothing. It corrects answers, and bounds no contribution: a row may have a value that is not declared.
func (r *resolved) MostValues(c *scalar.Column) int64 {
	switch base := c.Base(); {
	case base.Values != nil:
		return int64(len(base.Values))
	case base.Type.OID == pgtype.Bool && !base.Type.Array:
		return 2
	case base.Among != nil:
		return base.Among.Rows
	}
	of := c
	if shown := r.shown(c); shown != nil {
		of = shown
	}
	home := r.home[of]
	if home == nil || home.rows != nil || home.listed {
		return 0
	}
	if home.table.Public {
		return r.model.PublicRows()[home.table.Name]
	}
	return 0
}

// TellsOne returns a column among keys of which each value but NULL is of rows of one unit: a unique index has it alone, or the policy says
// that it refers to rows of the same unit.
func (r *resolved) TellsOne(keys []scalar.Expr) *scalar.Column {
	for _, e := range keys {
		c, plain := scalar.PlainColumn(e)
		if !plain {
			continue
		}
		home := r.home[c]
		if home != nil && home.rows == nil && home.protected() && (unique(home.table, c.Name) || refersWithin(home.table, c.Name)) {
			return c
		}
	}
	return nil
}

// unique reports whether no two rows of a table have a value of a column.
func unique(t *policy.Table, column string) bool {
	return t.Source.KeysHold() && slices.ContainsFunc(t.Source.Keys, func(k catalog.Key) bool {
		return len(k.Columns) == 1 && k.Columns[0] == column
	})
}

// refersWithin reports whether a column alone refers to rows that the policy says to be of the unit of the row.
func refersWithin(t *policy.Table, column string) bool {
	return slices.ContainsFunc(t.References, func(r policy.Reference) bool {
		return r.Said && len(r.From) == 1 && r.From[0] == column
	})
}

// showsOwn reports whether the values of a column are those of a public relation, whatever it is joined with at this level.
func (r *resolved) showsOwn(c *scalar.Column) bool {
	home := r.home[c]
	switch {
	case home == nil:
		return false
	case !home.protected():
		return true
	case home.rows == nil:
		return false
	}
	i := slices.Index(home.columns, c)
	return i >= 0 && !slices.ContainsFunc(home.rows.branches, func(b *branch) bool {
		ref, plain := b.targets[i].(*scalar.Ref)
		return !plain || !b.source.ShowsPublic(ref.Column)
	})
}

// classes returns the columns of the level that are equal in every row: inner joins and WHERE equate them. On the nullable side of an outer
// join they are equal, or all are NULL. Results that are not known yet are left out: they restrict no groups.
func (r *resolved) classes() [][]*scalar.Column {
	return r.classesOf(slices.Concat(innerPairs(r.root), equalities(r.where)))
}

func (r *resolved) classesOf(pairs []pair) (classes [][]*scalar.Column) {
	unknown := func(c *scalar.Column) bool { home := r.home[c]; return home != nil && home.unknown }
	for _, p := range pairs {
		if unknown(p.a) || unknown(p.b) {
			continue
		}
		class := []*scalar.Column{p.a, p.b}
		classes = slices.DeleteFunc(classes, func(other []*scalar.Column) bool {
			meets := slices.Contains(other, p.a) || slices.Contains(other, p.b)
			if meets {
				class = slices.Concat(other, class)
			}
			return meets
		})
		classes = append(classes, class)
	}
	return classes
}

// ListsOf returns the lists of constants in each of which the value of a column is, in every row: an inner join equates it
// with a column of a relation of constants that has its type.
func (r *resolved) ListsOf(c *scalar.Column) (lists []scalar.Expr) {
	for _, p := range slices.Concat(innerPairs(r.root), equalities(r.where)) {
		for _, q := range []pair{p, {p.b, p.a}} {
			if home := r.home[q.b]; q.a.Base() == c.Base() && home != nil && home.listed && q.a.Type.OID == q.b.Type.OID {
				lists = append(lists, q.b.List)
			}
		}
	}
	return lists
}

// AllConjuncts returns the conjuncts of derived tables that are no UNION ALL, their HAVING, and
// after them, as they can guard them, those of this level.
func (r *resolved) AllConjuncts() []scalar.Expr {
	var out []scalar.Expr
	for _, rel := range kept(r.root) {
		if rel.rows != nil && len(rel.rows.branches) == 1 {
			b := rel.rows.branches[0]
			out = append(out, b.source.AllConjuncts()...)
			if b.having != nil {
				out = append(out, b.having)
			}
		}
	}
	return append(out, r.Conjuncts()...)
}

// kept returns the relations that have a row in every row of the item.
func kept(n node) []*relation {
	j, ok := n.(*joined)
	switch {
	case !ok:
		return relationsOf(n)
	case j.outer || j.declares:
		return kept(j.left)
	}
	return slices.Concat(kept(j.left), kept(j.right))
}

// innerPairs returns the equalities of all joins that drop rows without a match.
func innerPairs(n node) []pair {
	j, ok := n.(*joined)
	if !ok {
		return nil
	}
	below := slices.Concat(innerPairs(j.left), innerPairs(j.right))
	if j.outer || j.declares {
		return below
	}
	return append(below, equalities(j.on)...)
}

// lookedUp returns the equalities by which outer joins find the rows of their right sides, with the column of that side first.
func (r *resolved) lookedUp(n node) (pairs []pair) {
	j, ok := n.(*joined)
	if !ok {
		return nil
	}
	pairs = slices.Concat(r.lookedUp(j.left), r.lookedUp(j.right))
	if !j.keepsPublic() {
		return pairs
	}
	within := func(c *scalar.Column) bool { return slices.Contains(relationsOf(j.right), r.home[c]) }
	for _, p := range equalities(j.on) {
		switch a, b := within(p.a), within(p.b); {
		case a && !b:
			pairs = append(pairs, p)
		case b && !a:
			pairs = append(pairs, pair{p.b, p.a})
		}
	}
	return pairs
}
