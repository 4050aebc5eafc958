package source

import (
	"slices"

	"dpproxy/planner/scalar"
)

// Where public rows come first, those with protected matches alone are read, and an outer join among the public relations before them must
// not be in the way:
//
//	FROM regions r LEFT JOIN stores s ON s.region = r.id LEFT JOIN orders o ON o.store = s.id
//
// A region without a store has no order. So for the protected database the first join is an inner one, as the last is; its rows without a
// match declare groups alone (a join that is null-rejecting above an outer join: Galindo-Legaria and Rosenthal, Outerjoin Simplification
// and Reordering for Query Optimization, TODS 1997). A look-up that ON of the protected join does not mention comes after it:
//
//	FROM stores s LEFT JOIN managers m ON m.id = s.manager LEFT JOIN orders o ON o.store = s.id

// publicFirst returns the item of a join that declares keys with the outer joins before it out of the way.
func publicFirst(j *joined) node {
	left, ok := j.left.(*joined)
	if !ok || !j.declares || !left.outer && !left.declares {
		return j
	}
	mentions := func(c condition) bool {
		return slices.ContainsFunc(c.x.Columns(), func(col *scalar.Column) bool { return holdsColumn(left.right, col) })
	}
	switch {
	case left.outer && !slices.ContainsFunc(j.on, mentions):
		first := publicFirst(&joined{left: left.left, right: j.right, on: j.on, declares: true})
		return &joined{left: first, right: left.right, on: left.on, outer: true}
	case left.outer && !foundBy(j.on, left.right):
		return j
	}
	above := &joined{left: left.left, right: left.right, on: left.on, declares: true}
	return &joined{left: publicFirst(above), right: j.right, on: j.on, declares: true}
}

// foundBy reports whether conditions are true only of rows in which a relation of an item has a row.
func foundBy(conds []condition, n node) bool {
	xs := exprs(conds)
	return slices.ContainsFunc(relationsOf(n), func(r *relation) bool {
		return slices.ContainsFunc(r.columns, func(c *scalar.Column) bool {
			return c.Outer && scalar.NeverNull(xs, &scalar.Ref{Column: c})
		})
	})
}

// keepsPublic reports whether public rows without a match on the right side show keys, as those of an outer join of public rows do.
func (j *joined) keepsPublic() bool { return j.outer || j.declares && !holdsProtected(j.right) }
