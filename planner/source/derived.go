package source

import (
	"slices"
	"strconv"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A derived is a query in FROM: one branch, or those of a UNION ALL. Its rows keep their
// unit in a hidden column.
type derived struct {
	branches []*branch
}

// A branch is one SELECT below a block.
type branch struct {
	source *Source
	// targets are what the columns of the relation stand for.
	targets []scalar.Expr
	// keys are the grouping expressions; the unit is one of them.
	keys    []scalar.Expr
	having  scalar.Expr // nil if none
	grouped bool
	// distinct rows have the unit among the targets.
	distinct bool
}

// An outputColumn is one column of a branch.
type outputColumn struct {
	name string
	x    scalar.Expr // nil before a literal has a type
	at   int
	// as gives a literal the type of what it is combined with; nil for anything else.
	as func(pgtype.Type) (scalar.Expr, error)
}

// become gives a literal a type; of nil there is none.
func (o *outputColumn) become(t pgtype.Type) (err error) {
	if o != nil {
		o.x, err = o.as(t)
	}
	return err
}

func (r *relation) branches() []*branch {
	if r.rows == nil {
		return nil
	}
	return r.rows.branches
}

// resolveDerived resolves a query in FROM. What is wrong in one that is concealed is not told.
func (s *Source) resolveDerived(f *ast.Derived) (node, frame, error) {
	n, all, err := s.derivedRows(f)
	if err != nil && f.Concealed != "" {
		err = parser.ConcealedRefusal(f.Concealed).At(f.At)
	}
	return n, all, err
}

func (s *Source) derivedRows(f *ast.Derived) (node, frame, error) {
	r, err := s.b.newRelation(f.Alias, f.At)
	if err != nil {
		return nil, frame{}, err
	}
	r.rows = &derived{}
	if f.Concealed != "" {
		outside := s.b.view
		s.b.conceals, s.b.view = true, f.Concealed
		defer func() { s.b.view = outside }()
	}
	var outputs [][]outputColumn
	for _, sel := range selects(f.Query) {
		b, out, err := s.b.branch(sel)
		if err != nil {
			return nil, frame{}, err
		}
		r.rows.branches = append(r.rows.branches, b)
		outputs = append(outputs, out)
	}
	if err := r.supplyUnit(f.Query, s.b.model.Unit()); err != nil {
		return nil, frame{}, err
	}
	it := &item{alias: f.Alias}
	if it.fields, err = r.unite(f.Query, outputs); err != nil {
		return nil, frame{}, err
	}
	s.addRelation(r)
	err = it.rename(f.Columns, f.At)
	return r, frame{[]*item{it}, slices.Clone(it.fields)}, err
}

// selects returns the branches of a query.
func selects(rows ast.Rows) []*ast.Select {
	switch rows := rows.(type) {
	case *ast.Select:
		return []*ast.Select{rows}
	case *ast.UnionAll:
		return slices.Concat(selects(rows.Left), selects(rows.Right))
	}
	return nil
}

// supplyUnit gives the relation its hidden unit column: every branch has one, or none.
func (r *relation) supplyUnit(rows ast.Rows, unit string) error {
	u := &scalar.Column{NotNull: true, SQL: r.alias + ".u"}
	for i, b := range r.rows.branches {
		switch {
		case b.source.Protected() != r.rows.branches[0].source.Protected():
			return pgerr.New(pgerr.Ownership, "UNION ALL of protected and public rows: these belong to no %s", unit).At(unionPosition(rows, i)).
				WithHint("Aggregate each branch by itself and combine the results.")
		case !b.source.Protected() && len(r.rows.branches) > 1:
			return notHere(unionPosition(rows, i), "Combine the rows above the release.", "UNION ALL of public rows cannot be joined with protected rows")
		case !b.source.Protected():
			return nil
		}
		inner := b.source.Unit()
		t, ok := inner.Type, true
		if i > 0 {
			t, ok = pgtype.Union(u.Type, inner.Type)
		}
		if !ok {
			return notHere(unionPosition(rows, i), "Aggregate each branch by itself and combine the results.", "the branches of UNION ALL identify the %s by %s and %s", unit, u.Type, inner.Type)
		}
		u.Type = t
		u.Of = append(u.Of, &scalar.Ref{Column: inner})
	}
	r.unit = u
	return nil
}

// unionPosition returns the place of the i-th branch.
func unionPosition(rows ast.Rows, i int) int { return selects(rows)[i].At }

// A unitedColumn is a column of a query or a UNION ALL of them. A literal without a type takes
// that of what it is combined with first.
type unitedColumn struct {
	name    string
	typ     pgtype.Type
	literal *outputColumn // nil if it has a type
	at      int
}

// unitedColumns gives the columns of a query the types that Postgres gives them, which follow the
// nesting of its UNION ALL. It returns the outputs of the branches behind it.
func unitedColumns(rows ast.Rows, outputs [][]outputColumn) ([]unitedColumn, [][]outputColumn, error) {
	u, nested := rows.(*ast.UnionAll)
	if !nested {
		return columnsAlone(outputs[0]), outputs[1:], nil
	}
	left, outputs, err := unitedColumns(u.Left, outputs)
	if err != nil {
		return nil, nil, err
	}
	right, outputs, err := unitedColumns(u.Right, outputs)
	if err != nil {
		return nil, nil, err
	}
	if len(left) != len(right) {
		return nil, nil, notHere(u.At, "Name the same number of columns in each branch.", "the branches of UNION ALL have %d and %d columns", len(left), len(right))
	}
	for i := range left {
		if left[i], err = left[i].with(right[i], i); err != nil {
			return nil, nil, err
		}
	}
	return left, outputs, nil
}

// columnsAlone are those of a query without UNION ALL.
func columnsAlone(outputs []outputColumn) []unitedColumn {
	list := make([]unitedColumn, len(outputs))
	for i := range outputs {
		o := &outputs[i]
		list[i] = unitedColumn{name: o.name, at: o.at}
		if o.x == nil {
			list[i].literal = o
		} else {
			list[i].typ = o.x.Type()
		}
	}
	return list
}

// with combines two columns; the first one names the result.
func (c unitedColumn) with(d unitedColumn, i int) (_ unitedColumn, err error) {
	t, ok := pgtype.Of(pgtype.Text), true
	switch {
	case c.literal != nil && d.literal != nil:
	case c.literal != nil:
		t, ok = beside(d.typ)
	case d.literal != nil:
		t, ok = beside(c.typ)
	default:
		t, ok = pgtype.Union(c.typ, d.typ)
	}
	if !ok {
		return c, notHere(d.at, "Cast one of them.", "column %d of UNION ALL has the types %s and %s", i+1, c.typeName(), d.typeName())
	}
	if err = c.literal.become(t); err == nil {
		err = d.literal.become(t)
	}
	return unitedColumn{c.name, t, nil, c.at}, err
}

func (c unitedColumn) typeName() string {
	if c.literal != nil {
		return "unknown"
	}
	return c.typ.String()
}

// beside is the type of a column that has a literal in another branch: no domain, and without a
// modifier. Values that are only counted have no literals.
func beside(t pgtype.Type) (pgtype.Type, bool) {
	return t.Unmodified(), t.Family() != pgtype.NoFamily
}

// unite makes the columns of the relation of those of its branches.
func (r *relation) unite(rows ast.Rows, outputs [][]outputColumn) ([]field, error) {
	var fields []field
	united, _, err := unitedColumns(rows, outputs)
	if err != nil {
		return nil, err
	}
	for i, first := range united {
		if first.literal != nil {
			first.typ = pgtype.Of(pgtype.Text)
			if err := first.literal.become(first.typ); err != nil {
				return nil, err
			}
		}
		c := &scalar.Column{Name: first.name, Type: first.typ, NotNull: true, SQL: r.alias + ".c" + strconv.Itoa(len(r.columns)+1)}
		for n, out := range outputs {
			c.NotNull = c.NotNull && r.rows.branches[n].notNull(out[i].x)
			c.Of = append(c.Of, out[i].x)
		}
		c.Reach = reachOf(c)
		r.columns = append(r.columns, c)
		for n, out := range outputs {
			r.rows.branches[n].targets = append(r.rows.branches[n].targets, out[i].x)
		}
		fields = append(fields, field{first.name, c})
	}
	return fields, nil
}

// reachOf tells how much is read of a column that stands for plain columns. Any other text has
// been cut where it was made.
func reachOf(c *scalar.Column) scalar.Reach {
	reach := scalar.Whole
	for _, x := range c.Of {
		col, plain := scalar.PlainColumn(x)
		switch {
		case !plain || !scalar.Long(c.Type):
			return scalar.Whole
		case col.Reach == scalar.Beginning:
			reach = col.Reach
		}
	}
	return reach
}

func (b *branch) notNull(x scalar.Expr) bool {
	ref, ok := x.(*scalar.Ref)
	return ok && ref.Column.NotNull || scalar.NeverNull(b.source.Conjuncts(), x)
}

// branch resolves a SELECT below a block.
func (b *builder) branch(sel *ast.Select) (*branch, []outputColumn, error) {
	if sel.From == nil {
		return nil, nil, notHere(sel.At, "Write the values into the query around it.", "a sub-select without FROM cannot be joined with protected rows")
	}
	s := newSource(b)
	if err := s.build(sel.From, sel.Where); err != nil {
		return nil, nil, err
	}
	br := &branch{source: s, grouped: len(sel.Groups) > 0 || sel.Having != nil, distinct: sel.Distinct}
	if err := br.allowed(sel); err != nil {
		return nil, nil, err
	}
	r := s.Resolver()
	if br.grouped {
		if err := br.group(sel, r); err != nil {
			return nil, nil, err
		}
	}
	out, err := s.targets(sel.Targets, r)
	if err != nil {
		return nil, nil, err
	}
	if sel.Having != nil {
		if br.having, err = r.Boolean(sel.Having); err != nil {
			return nil, nil, err
		}
	}
	if br.distinct {
		err = br.distinctUnits(sel, out)
	}
	return br, out, err
}

// allowed refuses what only the level of the block can have.
func (b *branch) allowed(sel *ast.Select) error {
	switch {
	case b.source.declares:
		return notHere(sel.At, "Use INNER JOIN there.", "a public relation that is outer-joined with protected rows can only stand in FROM of the aggregate itself")
	case !b.source.Protected() && (b.grouped || b.distinct):
		return notHere(sel.At, "Compute it in a query of its own and join the two results.", "an aggregate of public rows cannot be joined with protected rows")
	}
	return nil
}

// group resolves a GROUP BY that contains the unit.
func (b *branch) group(sel *ast.Select, r *scalar.Resolver) error {
	s := b.source
	unit := s.b.model.Unit()
	keyed := false
	for _, g := range sel.Groups {
		x, err := r.Expr(g)
		if err != nil {
			return err
		}
		if !scalar.OneSpelling(x) {
			return notHere(g.Pos(), "Cast it to a type whose equal values look the same, such as numeric(12,2).", "a sub-select on protected rows cannot be grouped by %s", x.Type())
		}
		keyed = keyed || s.IsUnit(x)
		b.keys = append(b.keys, x)
	}
	if !keyed {
		return pgerr.New(pgerr.Ownership, "a group of a sub-select on protected rows can hold rows of more than one %s", unit).At(sel.At).
			WithHint("Group by the column that identifies the %s as well.", unit)
	}
	rows := s.MaxRows()
	if s.Fixes(b.keys) {
		rows = 1
	}
	if rows == 0 {
		return s.unbounded(s.owner, sel.At)
	}
	r.Unit, r.Condition = &scalar.UnitGroup{Keys: b.keys, Rows: rows}, nil
	return nil
}

// IsUnit reports whether the expression is a column that identifies the unit.
func (s *Source) IsUnit(x scalar.Expr) bool {
	c, ok := scalar.PlainColumn(x)
	return ok && s.Protected() && s.classes.same(c, s.Unit())
}

// unbounded refuses a relation whose rows nothing bounds.
func (s *Source) unbounded(r *relation, at int) error {
	return pgerr.New(pgerr.NoContribution, "the policy does not bound how many rows of %q one %s may contribute", r.name, s.b.model.Unit()).At(at).
		WithHint("The administrator can set max_rows.")
}

// untyped reports whether the expression is a literal without a type.
func untyped(e ast.Expr) bool {
	c, ok := e.(*ast.Const)
	return ok && (c.Kind == ast.String || c.Kind == ast.Null)
}

// targets resolves a SELECT list.
func (s *Source) targets(list []ast.Target, r *scalar.Resolver) (out []outputColumn, err error) {
	for _, t := range list {
		if t.X != nil {
			o := outputColumn{name: t.Name, at: t.At}
			if untyped(t.X) {
				o.as = func(typ pgtype.Type) (scalar.Expr, error) { return r.Literal(t.X, typ) }
			} else if o.x, err = r.Expr(t.X); err != nil {
				return nil, err
			}
			out = append(out, o)
			continue
		}
		fields, err := s.frame.star(t)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			ref := &ast.Column{Name: f.name, At: t.At}
			s.pinned[ref] = f.column
			x, err := r.Expr(ref)
			if err != nil {
				return nil, err
			}
			out = append(out, outputColumn{name: f.name, x: x, at: t.At})
		}
	}
	return out, nil
}

// distinctUnits refuses DISTINCT over rows of several units, and of values that can be
// equal and different.
func (b *branch) distinctUnits(sel *ast.Select, out []outputColumn) error {
	unit := b.source.b.model.Unit()
	keyed := false
	for i := range out {
		o := &out[i]
		if o.x == nil {
			if err := o.become(pgtype.Of(pgtype.Text)); err != nil { // so that it can be compared
				return err
			}
		}
		if !scalar.OneSpelling(o.x) {
			return notHere(o.at, "Cast it to a type whose equal values look the same, such as numeric(12,2).", "DISTINCT on protected rows cannot compare %s", o.x.Type())
		}
		keyed = keyed || b.source.IsUnit(o.x)
	}
	if keyed {
		return nil
	}
	return pgerr.New(pgerr.Ownership, "a row of a SELECT DISTINCT on protected rows can come from more than one %s", unit).At(sel.At).
		WithHint("Select the column that identifies the %s as well.", unit)
}

// equal returns the columns of the relation that are its unit.
func (d *derived) equal(r *relation) []pair {
	if d == nil || r.unit == nil {
		return nil
	}
	var all []pair
	for i, c := range r.columns {
		if !slices.ContainsFunc(d.branches, func(b *branch) bool { return !b.source.IsUnit(b.targets[i]) }) {
			all = append(all, pair{c, r.unit})
		}
	}
	return all
}

// determine adds the columns that follow, by the dependencies below, from those of the closure. Rows of a UNION ALL
// follow from nothing; those that an outer join fills with NULL are told apart from
// others by the unit alone.
func (d *derived) determine(r *relation, k *closure) {
	if len(d.branches) != 1 || r.nullable && (r.unit == nil || !k.has(r.unit)) {
		return
	}
	b := d.branches[0]
	below := k.inside(r, b.source.deps)
	var cols []*scalar.Column
	if r.unit != nil && k.has(r.unit) {
		cols = append(cols, b.source.Unit())
	}
	for i, c := range r.columns {
		if plain, ok := scalar.PlainColumn(b.targets[i]); ok && k.has(c) {
			cols = append(cols, plain)
		}
	}
	if below.add(cols...); !below.grown {
		return
	}
	b.source.deps.extend(below)
	if b.leavesOneRow(below) {
		k.addRow(r)
		return
	}
	for i, c := range r.columns {
		if plain, ok := scalar.PlainColumn(b.targets[i]); ok && below.has(plain) {
			k.add(c)
		}
	}
}

// leavesOneRow reports whether rows of the branch that agree in the closure are one.
func (b *branch) leavesOneRow(k *closure) bool {
	if b.source.leavesOneRow(k) {
		return true
	}
	determined := func(list []scalar.Expr) bool {
		return !slices.ContainsFunc(list, func(x scalar.Expr) bool { return !k.hasAll(x.Columns()) })
	}
	return b.grouped && determined(b.keys) || b.distinct && !b.grouped && determined(b.targets)
}
