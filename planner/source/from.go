package source

import (
	"slices"
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// maxRelations bounds the relations of one block, those of paths to the unit included.
const maxRelations = 64

// newRelation gives a relation its alias.
func (d *draft) newRelation(name string, at int) (*relation, error) {
	b := d.shared
	if b.aliases == maxRelations {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "the query over protected rows has more than %d relations", maxRelations).At(at).
			WithHint("Join fewer relations; those on the path to the privacy unit count as well.")
	}
	b.aliases++
	if d.resolved.view != "" {
		name = d.resolved.view // nobody is told the names below
	}
	return &relation{name: name, alias: "t" + strconv.Itoa(b.aliases-1), at: at}, nil
}

// addRelation makes the relation one of the level.
func (d *draft) addRelation(r *relation) {
	d.resolved.relations = append(d.resolved.relations, r)
	for _, c := range r.columns {
		d.resolved.home[c], d.resolved.home[c.Base()] = r, r
	}
	d.shared.terms.relation(d.resolved.model, r)
}

// resolveItem resolves an item of FROM; nullable says that an outer join around it adds rows in
// which its columns are NULL.
func (sc scope) resolveItem(f ast.From, nullable bool) (node, frame, error) {
	if i, early := sc.early[f]; early {
		return i.node, i.frame, i.err
	}
	if e := sc.elements[f]; e != nil && !e.resolved {
		return expandedRows(sc, f, e, nullable)
	}
	switch f := f.(type) {
	case *ast.Table:
		return sc.resolveTable(f, nullable)
	case *ast.Join:
		return sc.resolveJoin(f, nullable)
	case *ast.Derived:
		if d, sel := merged(sc, f, nullable, false); d != nil {
			return resolveMerged(sc, d, sel, nullable)
		}
		return sc.resolveDerived(f, nullable)
	case *ast.Listed:
		return sc.resolveListed(f, nullable)
	case *ast.Row:
		return resolveRow(sc, f, nullable)
	case *ast.Elements:
		return nil, frame{}, errNoArray(f)
	case *ast.Lateral:
		return nil, frame{}, f.Refusal
	}
	return nil, frame{}, pgerr.New(pgerr.Internal, "a query over protected rows without FROM")
}

// resolveTable resolves a table.
func (sc scope) resolveTable(f *ast.Table, nullable bool) (node, frame, error) {
	t := sc.resolved.model.Table(catalog.Name{Schema: f.Ref.Resolved.Schema, Name: f.Ref.Resolved.Name})
	if t == nil && f.Ref.Schema == "local" {
		return nil, frame{}, notHere(f.Ref.At, "Aggregate the protected rows in a sub-select of their own and join the result with it.",
			"%q has answers of the local model, and cannot be joined with protected rows in one aggregate", "local."+f.Ref.Name)
	}
	if t == nil {
		return nil, frame{}, notHere(f.Ref.At, "Aggregate the protected rows in a sub-select of their own and join the result with it.",
			"%q is no table of the privacy policy and cannot be joined with protected rows", f.Ref.Name)
	}
	if !t.Source.HasRows() {
		return nil, frame{}, notHere(f.Ref.At, "Aggregate the protected rows in a sub-select of their own and join the result with it, "+
			"or join the tables that it reads.", "%q is a view, and cannot be joined with protected rows in one aggregate: "+
			"what a view reads can change between the check of the schema and the read", f.Ref.Name)
	}
	if t.Public && !f.Ref.Within {
		sc.shared.public = append(sc.shared.public, f.Ref)
	}
	name := f.Alias
	if strings.HasPrefix(name, ast.OwnPrefix) { // nobody has written it
		name = f.Ref.Name
	}
	r, err := sc.table(t, name, f.Ref.At)
	if err != nil {
		return nil, frame{}, err
	}
	r.only = f.Only
	if err := sc.path(r); err != nil {
		return nil, frame{}, err
	}
	notNull := valued(r.columns, nullable)
	sc.addRelation(r)
	it := &item{alias: f.Alias}
	if f.Alias == t.Name.Name {
		it.schema = t.Name.Schema
	}
	for i := range t.Columns {
		if !t.Columns[i].Hidden {
			it.fields = append(it.fields, field{name: t.Columns[i].Name, column: r.columns[i]})
		}
	}
	err = it.rename(f.Columns, f.Ref.At)
	it.row = wholeRow(r)
	all := frame{[]*item{it}, it.fields, notNull}
	if f.Hidden {
		all.visible = nil
	}
	return r, all, err
}

// wholeRow is the column that is counted in the place of whole rows of a table: its unit, or of a key if rows without a unit count; nil if
// a statement cannot name it.
func wholeRow(r *relation) *scalar.Column {
	t := r.table
	name := t.Unit.Column
	if t.Counting != nil {
		name = t.Counting.Key[0]
	}
	if t.Public || t.Reference || len(t.Unit.Steps) > 0 || t.Hides(name) {
		return nil
	}
	return r.column(name)
}

// valued returns those of new columns that are not NULL in the rows of their relation; where it is
// nullable, none is marked so.
func valued(columns []*scalar.Column, nullable bool) map[*scalar.Column]bool {
	notNull := map[*scalar.Column]bool{}
	for _, c := range columns {
		notNull[c] = c.NotNull
		c.NotNull, c.Outer = c.NotNull && !nullable, nullable
		if nullable {
			c.Matched = notNull
		}
	}
	return notNull
}

// rename gives the first columns other names.
func (it *item) rename(names []string, at int) error {
	if len(names) > len(it.fields) {
		return notHere(at, "Give at most as many names as there are columns.",
			"%q has %d columns, and %d names for them", it.alias, len(it.fields), len(names))
	}
	for i, n := range names {
		it.fields[i].name = n
	}
	return nil
}

// table makes a relation of a table, without its path.
func (d *draft) table(t *policy.Table, name string, at int) (*relation, error) {
	r, err := d.newRelation(name, at)
	if err != nil {
		return nil, err
	}
	r.table = t
	row := boundedRow(t)
	r.columns = make([]*scalar.Column, 0, len(t.Columns))
	for i := range t.Columns {
		c := newColumn(r, &t.Columns[i])
		c.Untold, c.Row = d.resolved.view != "", row
		r.columns = append(r.columns, c)
	}
	for i := range t.Columns {
		r.columns = append(r.columns, newFields(r.columns[i], t.Columns[i].Fields)...)
	}
	return r, nil
}

// path adds the tables on the path to the unit, as hidden relations.
func (d *draft) path(r *relation) error {
	switch {
	case r.table.Public:
		return nil
	case r.table.Reference:
		r.unit = unitOfReference()
		return nil
	}
	last := r
	for _, st := range r.table.Unit.Steps {
		h, err := d.table(st.To, r.name, r.at)
		if err != nil {
			return err
		}
		r.hops = append(r.hops, h)
		last = h
	}
	r.unit = last.column(r.table.Unit.Column)
	if last.table.Counting != nil {
		r.unit, r.tagged = tag(last, r.unit), true
	}
	return nil
}

// resolveJoin resolves a join.
func (sc scope) resolveJoin(f *ast.Join, nullable bool) (node, frame, error) {
	if f.Kind == ast.Full {
		return resolveFull(sc, f, nullable)
	}
	if row, ok := f.Left.(*ast.Row); ok && isBeside(f, nullable) && !refersLeft(f.Right) {
		return rowFirst(sc, f, row)
	}
	left, lf, err := sc.resolveItem(f.Left, nullable || f.Kind == ast.Right)
	if err != nil {
		return nil, frame{}, err
	}
	switch right := f.Right.(type) { //nolint:gochecksumtype // the others are resolved by themselves
	case *ast.Elements:
		return withElements(sc, f, right, left, lf, nullable)
	case *ast.Lateral:
		return resolveLateral(sc, lateral{f, right, lf, nullable}, left)
	case *ast.Row:
		if right.Lateral || isBeside(f, nullable) {
			return rowBeside(sc, f, right, left, lf, nullable)
		}
	}
	return sc.joinTo(f, left, lf, nullable)
}

// attached is the scope of expressions over FROM with one more item, the right side of a join.
func (sc scope) attached(j *ast.Join) (_ scope, err error) {
	n, all, err := sc.joinTo(j, sc.resolved.root, sc.frame, false)
	sc.rooted(n)
	sc.frame = all
	return sc, err
}

// joinTo resolves a join whose left side is resolved.
func (sc scope) joinTo(f *ast.Join, left node, lf frame, nullable bool) (node, frame, error) {
	f = alwaysFound(sc, f, lf)
	right, rf, err := sc.resolveItem(f.Right, nullable || f.Kind == ast.Left)
	if err != nil {
		return nil, frame{}, err
	}
	for _, it := range rf.items {
		if it.alias != "" && lf.named("", it.alias) != nil {
			return nil, frame{}, errSameAlias(it.alias, f.At)
		}
	}
	j := sc.joinOf(f, left, right)
	sc.joinPending(j)
	switch f.Kind { //nolint:exhaustive // no other join extends a side
	case ast.Left:
		rf = rf.extended()
	case ast.Right:
		lf = lf.extended()
	}
	merged, err := sc.usingColumns(f, j, lf, rf)
	if err != nil {
		return nil, frame{}, err
	}
	all := lf.beside(rf, merged)
	if err := sc.joinCondition(f, j, all, nullable); err != nil {
		return nil, frame{}, err
	}
	n := publicFirst(j)
	if conds := sc.takePending(j); len(conds) > 0 {
		sc.pending[n] = conds
	}
	return n, all, nil
}

func errSameAlias(alias string, at int) error {
	return notHere(at, "Give each its own alias.", "two relations are called %q", alias)
}

// joinOf makes the join, with the side that is kept on the left.
func (d *draft) joinOf(f *ast.Join, left, right node) *joined {
	j := &joined{left: left, right: right}
	switch f.Kind {
	case ast.Inner, ast.Cross:
		return j
	case ast.Right:
		j.left, j.right = right, left
	case ast.Left, ast.Full: // none is full any more
	}
	j.outer = true
	if !holdsProtected(j.left) && holdsProtected(j.right) {
		j.outer, j.declares, d.resolved.declares = false, true, true
	}
	return j
}

// few is how many names are compared in a step.
const few = 8

// usingColumns resolves USING and NATURAL to equalities, and returns the merged columns.
func (sc scope) usingColumns(f *ast.Join, j *joined, lf, rf frame) ([]field, error) {
	names := f.Using
	if f.Natural {
		names = nil
		if err := sc.shared.Work.Spend(len(lf.visible) * len(rf.visible) / few); err != nil {
			return nil, err
		}
		for _, l := range lf.visible {
			if slices.ContainsFunc(rf.visible, func(r field) bool { return r.name == l.name }) && !slices.Contains(names, l.name) {
				names = append(names, l.name)
			}
		}
	}
	if err := sc.shared.Work.Spend(len(names) * (len(lf.visible) + len(rf.visible)) / few); err != nil {
		return nil, err
	}
	var merged []field
	for _, n := range names {
		l, err := sc.sideColumn(lf, n, f.At)
		if err != nil {
			return nil, err
		}
		r, err := sc.sideColumn(rf, n, f.At)
		if err != nil {
			return nil, err
		}
		if l.Type.OID != r.Type.OID || l.Type.Enum != r.Type.Enum {
			return nil, notHere(f.At, "Write the join with ON.", "column %q has different types on the two sides of the join", n)
		}
		x, err := sc.equality(l, r, f.At)
		if err != nil {
			return nil, err
		}
		j.on = append(j.on, condition{x: x})
		if f.Kind == ast.Right {
			l = r
		}
		merged = append(merged, field{name: n, column: l})
	}
	return merged, nil
}

// sideColumn returns the column that a name of USING means on one side.
func (sc scope) sideColumn(f frame, name string, at int) (*scalar.Column, error) {
	sc.frame = f
	return sc.localColumn(&ast.Column{Name: name, At: at})
}

// equality resolves a = b.
func (sc scope) equality(a, b *scalar.Column, at int) (scalar.Expr, error) {
	l, r := sc.pin(&ast.Column{Name: a.Name, At: at}, a), sc.pin(&ast.Column{Name: b.Name, At: at}, b)
	return sc.Resolver().Boolean(&ast.Op{Name: "=", Left: l, Right: r, At: at})
}

// joinCondition resolves the condition of a join, in which only its two sides can be named. One with a sub-select is a
// condition on all rows, but where an outer join around the join keeps rows that do not meet it: nullable.
func (sc scope) joinCondition(f *ast.Join, j *joined, all frame, nullable bool) error {
	sc.frame, sc.outer = all, nil
	for _, e := range conjunction(f.On) {
		c, err := sc.resolveCondition(e)
		if err != nil {
			return err
		}
		if c.query && (j.outer || j.declares) {
			return notHere(e.Pos(), "Put the condition into a sub-select in FROM.",
				"a sub-select in the condition of an outer join cannot be used on protected data")
		}
		if c.query && !nullable {
			sc.resolved.where = append(sc.resolved.where, c)
			continue
		}
		j.on = append(j.on, c)
	}
	return nil
}
