package source

import (
	"slices"

	"dpproxy/core"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A level is a SELECT of the block, of a derived table or of a sub-select in a condition. It goes
// through phases, each of which has a type that nobody writes to once the phase is over: its
// names are resolved, then its rows are proved to be of one unit each, then bounded. Expressions
// over these rows are resolved next: a level knows the columns that they mention. It can be
// written.

// A place is where a level stands in its block.
type place struct {
	// inside says that the level is below a sub-select of a condition.
	inside bool
	// view is the view that the level is of, if no analyst may see its query.
	view string
}

// resolved is FROM and WHERE of a level: every name has a meaning, and every column says whether
// it can be NULL.
type resolved struct {
	place
	model *policy.Model
	root  node
	// relations are the relations of this level, in order; hidden ones of paths are
	// below their scan.
	relations []*relation
	home      map[*scalar.Column]*relation
	where     []condition
	// subselects are those of conditions in FROM and WHERE. Nothing is known of their units yet.
	subselects []*semijoin
	// declares says that there is an outer join that declares keys.
	declares bool
	// ties make columns of this level equal to those of the level around a sub-select, in this
	// order: ours, theirs.
	ties []pair
	// match is the comparison of IN, nil elsewhere.
	match scalar.Expr
	// unmatched says that rows on which match is NULL are read as well: it proves nothing.
	unmatched bool
	// alike says that INTERSECT or EXCEPT compares columns on both sides of which there may be a NULL, for it one value.
	alike bool
	// united are the references along which units are compared as well, though the statement does not.
	united []reference
}

// proof tells whose the rows of a resolved level are. Nothing is decided about rows before all
// equalities are known.
type proof struct {
	*resolved
	follows paths
	owner   *relation
	// term are the rows as package core knows them, and typ is what it derives of them.
	term core.Rel
	typ  core.Type
	// alone are the rows whatever IN compares them with, and outer the terms of outer joins.
	alone core.Type
	outer map[*joined]*core.Join
	// semijoins are the sub-selects, each as part of this level.
	semijoins []*semijoin
}

// bounded are proved rows of which a join multiplies no more than the policy allows.
type bounded struct {
	*proof
	// rowsPerUnit bounds the rows of a unit in relations before they are joined; others are
	// read whole.
	rowsPerUnit map[*relation]int64
	// provenRows are those of relations that need no cut, since so few are proved.
	provenRows map[*relation]int64
	// units are the columns of units as they are called around such relations, where it is not
	// as in them.
	units map[*relation]*scalar.Column
	// read is the term with these cuts, and most the rows of a unit, if package core knows a bound; else 0.
	read core.Rel
	most int64
	// bridges are public relations of which it is counted together how many rows one row meets.
	bridges []*Bridge
}

// A level is bounded rows with the expressions over them.
type level struct {
	*bounded
	mentions mentions
	// later are the sub-selects in those expressions.
	later []*semijoin
}

// mentions are columns of a level, in the order in which expressions mention them first.
type mentions struct {
	columns []*scalar.Column
	seen    map[*scalar.Column]bool
}

func (m *mentions) add(c *scalar.Column) {
	if !m.seen[c] {
		m.seen[c] = true
		m.columns = append(m.columns, c)
	}
}

// Unit returns the hidden column that identifies the privacy unit of each row, as SQL around FROM
// has it.
func (b *bounded) Unit() *scalar.Column { return b.unitOf(b.follows.end(b.owner)) }

// unitOf returns the column of the unit of a relation, likewise.
func (b *bounded) unitOf(r *relation) *scalar.Column {
	if c := b.units[r]; c != nil {
		return c
	}
	return r.unit
}

// DeclaresKeys reports whether a public relation was LEFT JOINed with protected ones:
// its rows without a match are dropped on DATA.
func (r *resolved) DeclaresKeys() bool { return r.declares }

// Conjuncts returns the conditions that hold on every row, those of an outer join that
// declares keys included.
func (r *resolved) Conjuncts() []scalar.Expr {
	return slices.Concat(conditionsOf(r.root), exprs(r.where))
}

// IsPublic reports whether a column is of a public relation of this level.
func (r *resolved) IsPublic(c *scalar.Column) bool {
	home := r.home[c]
	return home != nil && !home.protected()
}

// OfUnit reports whether a column is of a protected relation of this level.
func (r *resolved) OfUnit(c *scalar.Column) bool {
	home := r.home[c]
	return home != nil && home.protected()
}

// isOuter reports whether a column is of the level around this one.
func (r *resolved) isOuter(c *scalar.Column) bool { return r.home[c] == nil }

// refersOut reports whether a condition of the level is about a row of the level around it.
func (r *resolved) refersOut() bool {
	return slices.ContainsFunc(r.where, func(c condition) bool { return slices.ContainsFunc(c.x.Columns(), r.isOuter) })
}

// A Bridge is public relations that equalities tie to each other, with no protected row between them.
type Bridge struct {
	level     *level
	relations []*relation
	// by are the columns that are identical in all rows which one row of the other relations meets.
	by []*scalar.Column
	// conds are the conditions on the relations alone.
	conds []condition
	// answer is the place of its count among what the mirror is asked for.
	answer int
}
