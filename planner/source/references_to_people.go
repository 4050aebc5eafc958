package source

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A United is a join to which dpproxy has added the equality of units, or a grouping to which it has added the unit.
type United struct {
	// From and To name the tables, Columns those of From that refer.
	From, To string
	Columns  string
	// Shared names the table to a row of which both rows refer; it is empty where rows of From refer to rows of To.
	Shared string
	// Said says that the policy knows that both rows are of one unit.
	Said bool
	// Grouped says that rows are grouped by the columns, and not joined.
	Grouped bool
}

// An apart is the error of relations whose units are not compared. A reference by which rows of a join are joined may say that they can be.
type apart struct {
	error
	join *joined
	by   *reference
}

// Unwrap returns the refusal.
func (a *apart) Unwrap() error { return a.error }

// A reference is one between two relations that stand beside each other.
type reference struct {
	from, to *relation
	said     United
}

// condition is the equality of the two units.
func (r *reference) condition() (condition, error) {
	sides := map[string]*scalar.Column{"from": r.from.unit, "to": r.to.unit}
	resolver := &scalar.Resolver{
		Constants: &scalar.Constants{}, Column: func(c *ast.Column) (*scalar.Column, error) { return sides[c.Name], nil },
	}
	at := r.from.at
	x, err := resolver.Boolean(&ast.Op{Name: "=", Left: &ast.Column{Name: "from", At: at}, Right: &ast.Column{Name: "to", At: at}, At: at})
	return condition{x: x}, err
}

// referring returns a reference by which rows of one relation are joined with those of another, or with others that refer to the same
// rows, as the equalities say; nil if there is none. Units of which one can be of no person are not compared.
func referring(c facts, at *resolved, a, b *relation) *reference {
	if !a.protected() || !b.protected() || a.tagged != b.tagged {
		return nil
	}
	ways := []func(facts, *policy.Model, tableBelow, tableBelow) *United{refersAlong}
	if hasUnit(a) && hasUnit(b) {
		ways = append(ways, shareAlong)
	}
	for _, along := range ways {
		for _, two := range [][2]*relation{{a, b}, {b, a}} {
			for _, f := range protectedTables(two[0], at.view) {
				for _, t := range protectedTables(two[1], at.view) {
					if said := along(c, at.model, f, t); said != nil {
						return &reference{two[0], two[1], *said}
					}
				}
			}
		}
	}
	return nil
}

// refersAlong returns the reference of the first table to the second whose columns are all equal to those of the key.
func refersAlong(c facts, m *policy.Model, f, t tableBelow) *United {
	for _, ref := range m.Whole(f.relation.table).References {
		if m.Whole(t.relation.table) == ref.To && allEqual(c, ref.From, ref.Key, f.relation.column, t.relation.column) {
			return &United{From: f.name(m), To: t.name(m), Columns: f.columns(ref.From), Said: ref.Said}
		}
	}
	return nil
}

// hasUnit reports whether the unit is among the columns of a relation, so that the database joins rows by it.
func hasUnit(r *relation) bool { return slices.Contains(r.columns, r.unit) }

// shareAlong returns a reference of the first table to a row of a third one to which the second refers as well, by columns that are all
// equal: both rows are taken for ones of that row's unit. Any number of rows can refer to one, of anybody: that one has many matches of
// other units would show in the time, so that the units have to be among the columns by which rows are joined.
func shareAlong(c facts, m *policy.Model, f, t tableBelow) *United {
	for _, ref := range m.Whole(f.relation.table).References {
		for _, other := range leads(m.Whole(t.relation.table)) {
			same := ref.To == other.To && slices.Equal(ref.Key, other.Key)
			if same && allEqual(c, ref.From, other.From, f.relation.column, t.relation.column) {
				return &United{
					From: f.name(m), To: t.name(m), Columns: f.columns(ref.From), Shared: t.shown(ref.To.Name.Name),
					Said: ref.Said && other.Said,
				}
			}
		}
	}
	return nil
}

// leads lists how a table refers to rows of people: along its way to the unit, which is known to lead to one's own, and beside it.
func leads(t *policy.Table) []policy.Reference {
	all := t.References
	if steps := t.Unit.Steps; len(steps) > 0 {
		all = append(slices.Clip(all), policy.Reference{From: steps[0].From, To: steps[0].To, Key: steps[0].Key, Said: true})
	}
	return all
}

// allEqual reports whether each column that refers is equal to the one that it refers to. A column can refer to several.
func allEqual(c facts, from, key []string, column, target func(string) *scalar.Column) bool {
	for i := range from {
		f, k := column(from[i]), target(key[i])
		if f == nil || k == nil || !c.same(f, k) {
			return false
		}
	}
	return true
}

// A tableBelow is a table whose columns a relation can have.
type tableBelow struct {
	relation *relation
	view     string // in whose query it is, if no analyst may see that
}

// shown is a name for people: none of what is in the query of such a view.
func (t tableBelow) shown(name string) string {
	if t.view != "" {
		return scalar.Ellipsis
	}
	return name
}

func (t tableBelow) name(m *policy.Model) string { return t.shown(m.Whole(t.relation.table).Name.Name) }

func (t tableBelow) columns(names []string) string { return t.shown(t.relation.table.ShownList(names)) }

// protectedTables are the protected tables whose columns a relation can have: itself, or those of a derived table.
func protectedTables(r *relation, view string) (list []tableBelow) {
	if r.rows == nil {
		return []tableBelow{{r, view}}
	}
	for _, b := range r.rows.branches {
		for _, in := range b.source.relations {
			if in.protected() {
				list = append(list, protectedTables(in, b.source.view)...)
			}
		}
	}
	return list
}

// errApart returns the error of a join of relations whose units are not compared, as far as equalities say. The reference may be between
// others that inner joins put beside them.
func errApart(p *proof, j *joined, c facts, left, right *relation) error {
	for _, at := range append([]*joined{j}, innerJoins(p.root)...) {
		if by := between(p, at, c); by != nil {
			return &apart{p.errDifferentUnits(j, c, left, right), at, by}
		}
	}
	return p.errDifferentUnits(j, c, left, right)
}

// between returns a reference between the sides of a join whose units are not compared; nil if there is none.
func between(p *proof, j *joined, c facts) *reference {
	for _, l := range relationsOf(j.left) {
		for _, r := range relationsOf(j.right) {
			if ref := referring(c, p.resolved, l, r); ref != nil && !c.same(l.unit, r.unit) {
				return ref
			}
		}
	}
	return nil
}

// unitsBeyond are the relations of which the unit is that of a relation outside of a join that compares it: there they need their own way.
func unitsBeyond(p *proof) (list []*relation) {
	for _, j := range slices.Concat(innerJoins(p.root), outerJoins(p.root)) {
		below := relationsOf(j)
		for _, u := range p.united {
			if !slices.ContainsFunc(j.on, u.writtenAs) {
				continue
			}
			for _, r := range []*relation{u.from, u.to} {
				if !slices.Contains(below, p.follows.end(r)) {
					list = append(list, r)
				}
			}
		}
	}
	return list
}

// reachesUnits reports whether the level around a sub-select can write the units that the sub-select is compared with.
func reachesUnits(p *proof, inner *level) bool {
	return !slices.ContainsFunc(inner.united, func(u reference) bool {
		return slices.ContainsFunc([]*relation{u.from, u.to}, func(r *relation) bool {
			return p.follows[r] != nil && !slices.Contains(region(p.root), r)
		})
	})
}

// refersBy returns the reference whose columns are all among expressions: rows that refer to the same row are taken for ones of one unit,
// and grouped by their unit as well. Rows with NULL refer to none: where their groups count, there must be none. It is nil if there is no
// reference.
func refersBy(p *proof, keys []scalar.Expr, tied bool) *United {
	has := func(c *scalar.Column) bool {
		return slices.ContainsFunc(keys, func(x scalar.Expr) bool {
			k, plain := scalar.PlainColumn(x)
			return plain && c != nil && k.Base() == c.Base() && (tied || scalar.NeverNull(p.Conjuncts(), x))
		})
	}
	for _, r := range p.relations {
		if !r.protected() {
			continue
		}
		for _, t := range protectedTables(r, p.view) {
			for _, ref := range p.model.Whole(t.relation.table).References {
				if !slices.ContainsFunc(ref.From, func(name string) bool { return !has(t.relation.column(name)) }) {
					return &United{
						From: t.name(p.model), To: t.shown(ref.To.Name.Name), Columns: t.columns(ref.From), Said: ref.Said, Grouped: true,
					}
				}
			}
		}
	}
	return nil
}

// errUnitBeyond refuses a comparison of units of which one is not at hand where the join is.
func errUnitBeyond(r *relation) error {
	return notHere(r.at, "Compare the columns that identify the unit in the condition of the join.",
		"the rows of %q lead to their unit by a relation outside of the join in which they refer to another row", r.name)
}

// writtenAs reports whether a condition is that of the reference.
func (r *reference) writtenAs(c condition) bool {
	a, b, ok := scalar.Equality(c.x)
	return ok && a == r.from.unit && b == r.to.unit
}
