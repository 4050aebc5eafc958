package source

import (
	"slices"
	"strconv"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A relation is a table or a derived table in FROM.
type relation struct {
	name  string // as the statement calls it, for messages
	alias string // in the SQL that we write
	at    int

	// columns of a table are all that it has: those that the policy hides are used by
	// proofs and by SQL of our own, and have no name in the statement.
	columns []*scalar.Column
	// unit is the column that identifies the privacy unit; nil if it is public.
	unit *scalar.Column
	// follows supplies the unit instead: the statement itself joins along the path.
	follows *relation
	// nullable says that an outer join can set all columns to NULL.
	nullable bool
	// mentioned are the columns that the block uses.
	mentioned map[*scalar.Column]bool
	// rowsPerUnit bounds the rows of a unit before they are joined; 0 keeps all.
	rowsPerUnit int64

	// Of a table:
	table *policy.Table
	only  bool
	// hops are the tables on the path to the unit, in order.
	hops []*relation
	// Of a derived table:
	rows *derived
}

// unitColumn returns the column that identifies the privacy unit of the relation's rows.
func (r *relation) unitColumn() *scalar.Column {
	if r.follows != nil {
		return r.follows.unitColumn()
	}
	return r.unit
}

// joins are the tables of the path that the statement does not have itself.
func (r *relation) joins() []*relation {
	if r.follows != nil {
		return nil
	}
	return r.hops
}

// protected reports whether the rows belong to privacy units.
func (r *relation) protected() bool { return r.unit != nil }

// maxRows returns the largest max_rows that is declared for its rows, of a UNION ALL the
// sum; 0 if there is none.
func (r *relation) maxRows() int64 {
	if r.rows == nil {
		return r.table.MaxRows
	}
	total := int64(0)
	for _, b := range r.rows.branches {
		n := b.source.MaxRows()
		if b.source.Protected() && b.leavesOneRow(b.source.perUnitClosure(nil)) {
			n = 1
		}
		if n == 0 {
			return 0
		}
		total += n
	}
	return total
}

// column returns the column of a table.
func (r *relation) column(name string) *scalar.Column {
	i := slices.IndexFunc(r.columns, func(c *scalar.Column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return r.columns[i]
}

// newRelation gives a relation its alias.
func (b *builder) newRelation(name string, at int) (*relation, error) {
	if b.aliases == maxRelations {
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "the query over protected rows has more than %d relations", maxRelations).At(at).
			WithHint("Join fewer relations; those on the path to the privacy unit count as well.")
	}
	b.aliases++
	if b.view != "" {
		name = b.view // what it reads is not told
	}
	return &relation{name: name, alias: "t" + strconv.Itoa(b.aliases-1), at: at, mentioned: map[*scalar.Column]bool{}}, nil
}

// addRelation makes the relation one of the level.
func (s *Source) addRelation(r *relation) {
	s.relations = append(s.relations, r)
	for _, c := range r.columns {
		s.home[c], s.home[c.Base()] = r, r
	}
}

// resolveItem resolves an item of FROM.
func (s *Source) resolveItem(f ast.From) (node, frame, error) {
	switch f := f.(type) {
	case *ast.Table:
		return s.resolveTable(f)
	case *ast.Join:
		return s.resolveJoin(f)
	case *ast.Derived:
		return s.resolveDerived(f)
	}
	return nil, frame{}, pgerr.New(pgerr.Internal, "a query over protected rows without FROM")
}

// resolveTable resolves a table.
func (s *Source) resolveTable(f *ast.Table) (node, frame, error) {
	t := s.b.model.Table(catalog.Name{Schema: f.Ref.Resolved.Schema, Name: f.Ref.Resolved.Name})
	if t == nil {
		return nil, frame{}, notHere(f.Ref.At, "Aggregate the protected rows in a sub-select of their own and join the result with it.",
			"%q is no table of the privacy policy and cannot be joined with protected rows", f.Ref.Name)
	}
	if t.Public && !f.Ref.Within {
		s.b.public = append(s.b.public, f.Ref)
	}
	r, err := s.b.table(t, f.Alias, f.Ref.At)
	if err != nil {
		return nil, frame{}, err
	}
	r.only = f.Only
	if err := s.b.path(r); err != nil {
		return nil, frame{}, err
	}
	s.addRelation(r)
	it := &item{alias: f.Alias}
	if f.Alias == t.Name.Name {
		it.schema = t.Name.Schema
	}
	for i := range t.Columns {
		if !t.Columns[i].Hidden {
			it.fields = append(it.fields, field{t.Columns[i].Name, r.columns[i]})
		}
	}
	err = it.rename(f.Columns, f.Ref.At)
	return r, frame{[]*item{it}, it.fields}, err
}

// rename gives the first columns other names.
func (it *item) rename(names []string, at int) error {
	if len(names) > len(it.fields) {
		return notHere(at, "Give at most as many names as there are columns.", "%q has %d columns, and %d names for them", it.alias, len(it.fields), len(names))
	}
	for i, n := range names {
		it.fields[i].name = n
	}
	return nil
}

// table makes a relation of a table, without its path.
func (b *builder) table(t *policy.Table, name string, at int) (*relation, error) {
	r, err := b.newRelation(name, at)
	if err != nil {
		return nil, err
	}
	r.table = t
	for i := range t.Columns {
		c := &t.Columns[i]
		reach := columnReach(t, c)
		r.columns = append(r.columns, &scalar.Column{
			Name: c.Name, Untold: b.view != "", Type: pgtype.OfColumn(c.Type, c.Collation, c.Deterministic), NotNull: c.NotNull && reach != scalar.Short,
			Bounds: scalarBounds(c.Bounds), Values: c.Values, SQL: r.read(c), Reach: reach,
		})
	}
	return r, nil
}

// sql writes the value of the column of that name where the table is read.
func (r *relation) sql(name string) string {
	i := slices.IndexFunc(r.table.Columns, func(c policy.Column) bool { return c.Name == name })
	c := &r.table.Columns[i]
	return columnReach(r.table, c).Read(r.read(c))
}

// columnReach tells how much of a column of a table is read.
func columnReach(t *policy.Table, c *policy.Column) scalar.Reach {
	if t.Indexed(c.Name) {
		return scalar.Whole
	}
	return scalar.ReachOf(pgtype.OfColumn(c.Type, c.Collation, c.Deterministic), t.Identifies(c.Name))
}

// read writes a column of a table, below its domain. What is no table may show values that are
// not as the modifiers of its types say.
func (r *relation) read(c *policy.Column) string {
	sql := r.alias + "." + ast.QuoteIdent(c.Name)
	t := pgtype.OfColumn(c.Type, c.Collation, c.Deterministic)
	if c.Type.Kind == 'd' && t.SQL() != "" {
		sql = "CAST(" + sql + " AS " + t.SQL() + ")"
	}
	if kind := r.table.Source.Kind; kind != 'r' && kind != 'p' {
		sql = scalar.Modify(t, sql)
	}
	return sql
}

// scalarBounds returns the bounds of a column as an expression knows them; nil without.
func scalarBounds(b *policy.Bounds) *scalar.Bounds {
	if b == nil {
		return nil
	}
	return &scalar.Bounds{Low: b.Low, High: b.High, LowText: b.LowText, HighText: b.HighText}
}

// path adds the tables on the path to the unit, as hidden relations.
func (b *builder) path(r *relation) error {
	if r.table.Public {
		return nil
	}
	last := r
	for _, st := range r.table.Unit.Steps {
		h, err := b.table(st.To, r.name, r.at)
		if err != nil {
			return err
		}
		r.hops = append(r.hops, h)
		last = h
	}
	r.unit = last.column(r.table.Unit.Column)
	return nil
}

// resolveJoin resolves a join.
func (s *Source) resolveJoin(f *ast.Join) (node, frame, error) {
	left, lf, err := s.resolveItem(f.Left)
	if err != nil {
		return nil, frame{}, err
	}
	right, rf, err := s.resolveItem(f.Right)
	if err != nil {
		return nil, frame{}, err
	}
	for _, it := range rf.items {
		if it.alias != "" && lf.named("", it.alias) != nil {
			return nil, frame{}, notHere(f.At, "Give each its own alias.", "two relations are called %q", it.alias)
		}
	}
	j, err := s.joinOf(f, left, right)
	if err != nil {
		return nil, frame{}, err
	}
	if j.outer || j.declares {
		for _, r := range relationsOf(j.right) {
			r.setNullable(j.outer)
		}
	}
	merged, err := s.usingColumns(f, j, lf, rf)
	if err != nil {
		return nil, frame{}, err
	}
	all := lf.beside(rf, merged)
	return j, all, s.joinCondition(f, j, all)
}

// joinOf makes the join, with the side that is kept on the left.
func (s *Source) joinOf(f *ast.Join, left, right node) (*joined, error) {
	j := &joined{left: left, right: right}
	switch f.Kind {
	case ast.Inner, ast.Cross:
		return j, nil
	case ast.Full:
		return nil, pgerr.New(pgerr.Ownership, "FULL JOIN cannot be used on protected data").At(f.At).
			WithHint("Use LEFT JOIN, or UNION ALL of two queries.")
	case ast.Right:
		j.left, j.right = right, left
	case ast.Left:
	}
	j.outer = true
	if !holdsProtected(j.left) && holdsProtected(j.right) {
		j.outer, j.declares, s.declares = false, true, true
	}
	return j, nil
}

// setNullable notes that the columns may be NULL. In a join that declares keys they are
// so in the answer, never in what is read.
func (r *relation) setNullable(read bool) {
	r.nullable = r.nullable || read
	for _, c := range r.columns {
		c.NotNull, c.Outer = false, true
	}
}

// usingColumns resolves USING and NATURAL to equalities, and returns the merged columns.
func (s *Source) usingColumns(f *ast.Join, j *joined, lf, rf frame) ([]field, error) {
	names := f.Using
	if f.Natural {
		names = nil
		for _, l := range lf.visible {
			if slices.ContainsFunc(rf.visible, func(r field) bool { return r.name == l.name }) && !slices.Contains(names, l.name) {
				names = append(names, l.name)
			}
		}
	}
	var merged []field
	for _, n := range names {
		l, err := s.sideColumn(lf, n, f.At)
		if err != nil {
			return nil, err
		}
		r, err := s.sideColumn(rf, n, f.At)
		if err != nil {
			return nil, err
		}
		if l.Type.OID != r.Type.OID || l.Type.Enum != r.Type.Enum {
			return nil, notHere(f.At, "Write the join with ON.", "column %q has different types on the two sides of the join", n)
		}
		x, err := s.equality(l, r, f.At)
		if err != nil {
			return nil, err
		}
		j.on = append(j.on, condition{x: x})
		if f.Kind == ast.Right {
			l = r
		}
		merged = append(merged, field{n, l})
	}
	return merged, nil
}

// sideColumn returns the column that a name of USING means on one side.
func (s *Source) sideColumn(f frame, name string, at int) (*scalar.Column, error) {
	c := &ast.Column{Name: name, At: at}
	col, err := s.lookup(f, c)
	if col == nil && err == nil {
		return nil, f.unknown(c)
	}
	return col, err
}

// equality resolves a = b.
func (s *Source) equality(a, b *scalar.Column, at int) (scalar.Expr, error) {
	l, r := &ast.Column{Name: a.Name, At: at}, &ast.Column{Name: b.Name, At: at}
	s.pinned[l], s.pinned[r] = a, b
	return s.Resolver().Boolean(&ast.Op{Name: "=", Left: l, Right: r, At: at})
}

// joinCondition resolves the condition of a join, in which only its two sides can be named.
func (s *Source) joinCondition(f *ast.Join, j *joined, all frame) error {
	whole, outer := s.frame, s.outer
	s.frame, s.outer = all, nil
	defer func() { s.frame, s.outer = whole, outer }()
	for _, e := range conjunction(f.On) {
		c, err := s.resolveCondition(e)
		if err != nil {
			return err
		}
		if c.query && (j.outer || j.declares) {
			return notHere(e.Pos(), "Put the condition into a sub-select in FROM.", "a sub-select in the condition of an outer join cannot be used on protected data")
		}
		j.on = append(j.on, c)
	}
	return nil
}

// relationsOf returns the relations below a node, in order.
func relationsOf(n node) []*relation {
	switch n := n.(type) {
	case *relation:
		return []*relation{n}
	case *joined:
		return slices.Concat(relationsOf(n.left), relationsOf(n.right))
	}
	return nil
}

func holdsProtected(n node) bool { return slices.ContainsFunc(relationsOf(n), (*relation).protected) }
