package source

import (
	"slices"

	"dpproxy/core"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A node is an item of FROM, resolved: *relation or *joined.
//
//sumtype:decl
type node interface{ node() }

func (*relation) node() {}
func (*joined) node()   {}

// A joined is a join of two items; RIGHT is a mirrored LEFT.
type joined struct {
	left, right node
	on          []condition
	// outer says that rows of left without a match stay, with NULL on the right.
	outer bool
	// declares says that it was written as an outer join whose left side is public: its
	// rows without a match show keys and hold no protected row, so that they are
	// never read.
	declares bool
}

// A condition holds on every row of its level, or of its join.
type condition struct {
	x scalar.Expr
	// query says that there is a sub-select in it.
	query bool
}

// A relation is a table, a relation of constants or a derived table in FROM.
type relation struct {
	name  string // as the statement calls it, for messages
	alias string // in the SQL that we write
	at    int
	// refusal is the error if its rows need not be of the unit of those that it is joined with; nil if that is told by their names.
	refusal *pgerr.Error

	// columns of a table are all that it has: those that the policy hides are used by
	// proofs and by SQL of our own, and have no name in the statement.
	columns []*scalar.Column
	// unit is the column that identifies the privacy unit; nil if it is public.
	unit *scalar.Column
	// tagged says that the unit is a text that tells persons from rows without one.
	tagged bool

	// Of a table:
	table *policy.Table
	only  bool
	// listed says that the table is none of the policy: its rows are constants.
	listed bool
	// unknown says that these are of a released result that is not known yet.
	unknown bool
	// hops are the tables on the path to the unit, in order.
	hops []*relation
	// alone says that it has its own way to the unit, though the statement joins the first step.
	alone bool
	// Of a derived table:
	rows *derived

	// term is what package core judges; the columns of apart tell its rows apart.
	term  core.Rel
	apart core.Set
}

// A derived is a query in FROM: one branch, or those of a UNION ALL. Its rows keep their
// unit in a hidden column.
type derived struct {
	branches []*branch
	// full says that the branches have the rows of a full join.
	full bool
}

// A branch is one SELECT below a block.
type branch struct {
	source *level
	// targets are the expressions that the columns of the relation stand for.
	targets []scalar.Expr
	// keys are the grouping expressions; the unit is one of them, or they determine it: SQL groups by it as well.
	keys    []scalar.Expr
	having  scalar.Expr // nil if none
	grouped bool
	// united is the reference in keys, or in first, whose rows are taken for ones of one unit; nil if the unit is among them, or follows.
	united *United
	// groupRows are how many rows of a unit count in a group, or for a window function; 0 if all do, by proof.
	groupRows int64
	// distinct rows have the unit among the targets, or these determine it.
	distinct bool
	// first are the expressions of DISTINCT ON, of which the unit is one, or which determine it; order says which row comes first.
	first []scalar.Expr
	order *scalar.Order
	// ordered says that first and order tell all rows of a unit apart.
	ordered bool
	// elements are those of an array of the source, beside whose rows they are; nil if there is none.
	elements *elements
	// one says that a unit has one row at most; most are the rows of a unit, if package core knows a bound, else 0.
	one  bool
	most int64
}

// elements are the first of an array column, of each row at most so many.
type elements struct {
	array scalar.Expr
	most  int64
	// column is what they are called in the SQL that we write, and alias its relation.
	column *scalar.Column
	alias  string
	// outer says that a row stays whose array has none.
	outer bool
}

// A semijoin is a sub-select in a condition: IN or EXISTS. Whether it is true depends on
// the row, on rows of the same unit, and on public rows.
type semijoin struct {
	// query is the condition; inner are the rows of the sub-select.
	query *scalar.Query
	inner *level
	at    int
	// not says that it was written as NOT IN: both sides must be units, or valued: neither is ever NULL.
	not, valued bool
}

// protected reports whether the rows belong to privacy units.
func (r *relation) protected() bool { return r.unit != nil }

// column returns the column of a table.
func (r *relation) column(name string) *scalar.Column {
	i := slices.IndexFunc(r.columns, func(c *scalar.Column) bool { return c.Name == name && c.Path == nil })
	if i < 0 {
		return nil
	}
	return r.columns[i]
}

// keys returns the candidate keys of a table, as indices of its columns: of unique
// indexes whose columns are all NOT NULL.
func (r *relation) keys() [][]int {
	src := r.table.Source
	if !src.KeysHold() {
		return nil
	}
	var keys [][]int
	for _, k := range src.Keys {
		var key []int
		for _, name := range k.Columns {
			i := slices.IndexFunc(r.table.Columns, func(c policy.Column) bool { return c.Name == name && c.NotNull })
			if i < 0 {
				key = nil
				break
			}
			key = append(key, i)
		}
		if key != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// followsFrom reports whether rows that agree in columns agree in the row of the relation.
func (r *relation) followsFrom(s core.Set) bool { return r.apart.In(s) }

// documents returns the column of a table that a field is of.
func (r *relation) documents(field *scalar.Column) *scalar.Column {
	i := slices.IndexFunc(r.columns, func(c *scalar.Column) bool { return slices.Contains(c.Fields, field) })
	return r.columns[i]
}

func (r *relation) branches() []*branch {
	if r.rows == nil {
		return nil
	}
	return r.rows.branches
}

// relationsOf returns the relations below a node, in order.
func relationsOf(n node) []*relation { return addRelations(nil, n) }

func addRelations(list []*relation, n node) []*relation {
	switch n := n.(type) {
	case *relation:
		return append(list, n)
	case *joined:
		return addRelations(addRelations(list, n.left), n.right)
	}
	return list
}

func holdsProtected(n node) bool { return slices.ContainsFunc(relationsOf(n), (*relation).protected) }

// region returns the relations that have a row in every row of a node.
func region(n node) []*relation {
	if j, ok := n.(*joined); ok && j.outer {
		return region(j.left)
	} else if ok {
		return slices.Concat(region(j.left), region(j.right))
	}
	return relationsOf(n)
}

// outerJoins returns the outer joins of a node, those below others first.
func outerJoins(n node) []*joined {
	j, ok := n.(*joined)
	if !ok {
		return nil
	}
	below := slices.Concat(outerJoins(j.left), outerJoins(j.right))
	if j.outer {
		return append(below, j)
	}
	return below
}

// innerJoins returns the joins of a node that are none.
func innerJoins(n node) (list []*joined) {
	if j, ok := n.(*joined); ok {
		list = append(innerJoins(j.left), innerJoins(j.right)...)
		if !j.outer {
			list = append(list, j)
		}
	}
	return list
}

// conditionsOf returns the conditions of joins that hold on every row of a node, if rows that only
// declare keys are rows as well.
func conditionsOf(n node) []scalar.Expr {
	j, ok := n.(*joined)
	if !ok {
		return nil
	}
	if j.outer || j.declares {
		return conditionsOf(j.left)
	}
	return slices.Concat(conditionsOf(j.left), conditionsOf(j.right), exprs(j.on))
}

func exprs(conds []condition) []scalar.Expr {
	out := make([]scalar.Expr, len(conds))
	for i, c := range conds {
		out[i] = c.x
	}
	return out
}
