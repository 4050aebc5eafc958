package source

import (
	"maps"
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A Source is FROM and WHERE of a block, with the expressions over its rows: rows that each
// belong to exactly one privacy unit, known by a hidden column that is followed by provenance.
// Nothing changes it.
type Source struct {
	*level
	constants *scalar.Constants
	conceals  bool
}

// Concealing reports whether the block reads a view whose query no analyst may see.
func (s *Source) Concealing() bool { return s.conceals }

// Inlined returns the constants as text about the block can hold them.
func (s *Source) Inlined() scalar.Inlined { return s.constants.Inlined(s.conceals) }

// Used returns the columns that are mentioned anywhere in the level, in order of appearance.
func (l *level) Used() []*scalar.Column { return l.mentions.columns }

// ScannedTable returns the table whose rows are all that the level reads, or nil: a join, a
// derived table, a path to the unit and a sub-select read more.
func (l *level) ScannedTable() *policy.Table {
	r, ok := l.root.(*relation)
	if !ok || r.rows != nil || l.rowsPerUnit[r] > 0 || len(r.hops) > 0 || len(l.semijoinsOf()) > 0 {
		return nil
	}
	return r.table
}

// semijoinsOf returns the sub-selects of all conditions.
func (l *level) semijoinsOf() []*semijoin { return slices.Concat(l.semijoins, l.later) }

// Never reports whether the level has no rows whatever the data: no row can meet the conditions of a level without whose rows it has none,
// says unmet, which is asked of one such level after another.
func (l *level) Never(unmet func(at any, where []scalar.Expr) bool) bool {
	where := l.AllConjuncts()
	if unmet(l, where) {
		return true
	}
	for _, e := range where {
		if q, asks := e.(*scalar.Query); asks {
			if j := subselectOf(l, q); j != nil && !j.not && j.inner.Never(unmet) {
				return true
			}
		}
	}
	return slices.ContainsFunc(region(l.root), func(r *relation) bool {
		none := r.protected() && len(r.branches()) > 0
		for _, b := range r.branches() {
			none = b.source.Never(unmet) && none // unmet is asked of each branch
		}
		return none
	})
}

// EachTable visits the tables of this level and of those below it, those on paths to the unit
// included; view is the view of their level, if no analyst may see its query.
func (l *level) EachTable(visit func(t *policy.Table, view string)) {
	l.eachTable(func(at *level, r *relation) { visit(r.table, at.view) })
}

// eachTable visits the relations that are tables, likewise, with their levels.
func (l *level) eachTable(visit func(at *level, r *relation)) {
	l.eachRelation(func(at *level, r *relation) {
		if r.rows == nil && !r.listed {
			visit(at, r)
		}
		for _, h := range r.hops {
			visit(at, h)
		}
	})
}

// eachRelation visits the relations in FROM, likewise.
func (l *level) eachRelation(visit func(at *level, r *relation)) {
	for _, r := range l.relations {
		visit(l, r)
		for _, b := range r.branches() {
			b.source.eachRelation(visit)
		}
	}
	for _, j := range l.semijoinsOf() {
		j.inner.eachRelation(visit)
	}
}

// Computed visits every expression that is computed for a row of the level or of one below it, and
// every column that their rows are told apart by.
func (l *level) Computed(expr func(...scalar.Expr), column func(*scalar.Column)) {
	expr(exprs(l.where)...)
	expr(l.match)
	computedInJoins(l.root, expr)
	for _, c := range l.mentions.columns {
		column(c)
	}
	for _, r := range l.relations {
		for _, b := range r.branches() {
			expr(b.keys...)
			expr(b.having)
			expr(b.first...)
			expr(b.order.Exprs()...)
			if b.elements != nil {
				expr(b.elements.array)
			}
			if b.distinct {
				expr(b.targets...)
			}
			b.source.Computed(expr, column)
		}
	}
	for _, j := range l.semijoinsOf() {
		j.inner.Computed(expr, column)
	}
}

func computedInJoins(n node, expr func(...scalar.Expr)) {
	if j, ok := n.(*joined); ok {
		expr(exprs(j.on)...)
		computedInJoins(j.left, expr)
		computedInJoins(j.right, expr)
	}
}

// ListedRows adds to sizes of public relations those of relations of constants, whose values are known now. It refuses
// lists that are too long.
func (l *level) ListedRows(env *scalar.Env, sizes map[catalog.Name]int64) (map[catalog.Name]int64, error) {
	out := maps.Clone(sizes)
	if out == nil {
		out = map[catalog.Name]int64{}
	}
	var err error
	l.eachRelation(func(_ *level, r *relation) {
		if r.listed && err == nil {
			out[r.table.Name], err = r.listedRows(env)
		}
	})
	return out, err
}
