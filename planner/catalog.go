package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dpproxy/brdp"
	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/parser/ast"
)

// A Catalog is a policy that was checked against the catalogue of the real
// database. It is immutable.
type Catalog struct {
	unit   string
	tables map[catalog.Name]*table
	byName map[string]*table // by unqualified name, protected tables first
	// views are as analysts see them: without the columns that show what is hidden.
	views map[catalog.Name]*catalog.Table
	// timeZones are the names that the protected database accepts.
	timeZones map[string]bool
	// before14 says that the protected database is a Postgres before 14.
	before14 bool
	// withheld are the columns of views that show hidden ones.
	withheld map[catalog.Name][]string
	// publicRows are the sizes of public tables.
	publicRows map[catalog.Name]int64

	designer brdp.Designer // of noise that reaches an error
}

// table is a table of the policy with what is proved of it.
type table struct {
	name    catalog.Name
	public  bool
	columns []column
	// unit is the path from a row to its privacy unit.
	unit path
	// oneRow says that a unit has at most one row in the table, by a key.
	oneRow        bool
	maxRows       int64
	maxPartitions int64
	source        *catalog.Table
	// sorted are the indexes that plans may rely on.
	sorted []catalog.Index
	// identifiers are the columns by which rows are told to be a unit's.
	identifiers map[string]bool
}

// column is a column with its policy.
type column struct {
	catalog.Column
	// hidden columns do not exist for a statement.
	hidden bool
	bounds *Bounds
	domain []string // public values; nil if it has none
}

// path leads from a row of a table to its unit: along steps of foreign keys to
// a table that has the unit's own column.
type path struct {
	steps  []step
	column string // of the last table
	oid    uint32 // type of the unit's identifier
}

// step joins one more table: its key column equals the previous table's column.
type step struct {
	from string
	to   *table
	key  string
}

// A Problem is a contradiction between the policy and the database.
type Problem struct {
	// Path is where in the policy, e.g. ["tables", "visits", "unit"].
	Path    []string
	Message string
}

// String returns the problem as one line, e.g. "tables.visits.unit: ...".
func (p Problem) String() string { return strings.Join(p.Path, ".") + ": " + p.Message }

// NewCatalog checks the policy against the schema. With problems the catalogue
// must not be used.
func NewCatalog(p Policy, s *catalog.Schema) (*Catalog, []Problem) {
	c := &checker{schema: s, policy: p, cat: &Catalog{
		unit: p.Unit, tables: map[catalog.Name]*table{}, byName: map[string]*table{}, views: map[catalog.Name]*catalog.Table{},
		withheld:  map[catalog.Name][]string{},
		timeZones: s.TimeZones, publicRows: s.PublicRows, before14: s.ServerVersion < 140000,
	}}
	for i := range p.Tables {
		c.table(&p.Tables[i])
	}
	c.views()
	for i := range p.Tables {
		if t := c.cat.tables[p.Tables[i].Name]; t != nil && !t.public {
			c.path(t, &p.Tables[i], 0)
		}
	}
	for i := range p.Tables {
		if t := c.cat.tables[p.Tables[i].Name]; t != nil {
			c.otherPeople(t, &p.Tables[i])
		}
	}
	c.sameUnit()
	c.identifiers()
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return c.cat, nil
}

// Unit returns the name of the privacy unit.
func (c *Catalog) Unit() string { return c.unit }

// Protected returns the names of the protected tables, sorted.
func (c *Catalog) Protected() []catalog.Name {
	var names []catalog.Name
	for n, t := range c.tables {
		if !t.public {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b catalog.Name) int { return strings.Compare(a.String(), b.String()) })
	return names
}

// Public returns the names of the public tables, sorted.
func (c *Catalog) Public() []catalog.Name {
	var names []catalog.Name
	for n, t := range c.tables {
		if t.public {
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b catalog.Name) int { return strings.Compare(a.String(), b.String()) })
	return names
}

// Relations returns the names of all tables and views of the policy, sorted.
func (c *Catalog) Relations() []catalog.Name {
	names := slices.Concat(c.Protected(), c.Public(), slices.Collect(maps.Keys(c.views)))
	slices.SortFunc(names, func(a, b catalog.Name) int { return strings.Compare(a.String(), b.String()) })
	return names
}

// Source returns what the real database's catalogue said of a table or view.
func (c *Catalog) Source(n catalog.Name) *catalog.Table {
	if t := c.tables[n]; t != nil {
		return t.source
	}
	return c.views[n]
}

// Relation implements parser.Catalog.
func (c *Catalog) Relation(schema, name string) (ast.Relation, bool) {
	t := c.tables[catalog.Name{Schema: schema, Name: name}]
	if schema == "" {
		t = c.byName[name]
	}
	if t == nil {
		return c.view(schema, name)
	}
	r := ast.Relation{Schema: t.name.Schema, Name: t.name.Name, Protected: !t.public}
	if len(t.unit.steps) == 0 && !t.hides(t.unit.column) {
		r.Unit = t.unit.column
	}
	for i := range t.columns {
		if !t.columns[i].hidden {
			r.Columns = append(r.Columns, t.columns[i].Name)
		}
	}
	return r, true
}

// view returns a view of the policy.
func (c *Catalog) view(schema, name string) (ast.Relation, bool) {
	for n, v := range c.views {
		if n.Name != name || schema != "" && n.Schema != schema {
			continue
		}
		r := ast.Relation{Schema: n.Schema, Name: n.Name, View: v.View, Concealed: c.conceals(n)}
		for _, col := range v.Columns {
			r.Columns = append(r.Columns, col.Name)
		}
		return r, true
	}
	return ast.Relation{}, false
}

var _ parser.Catalog = (*Catalog)(nil)

// checker builds a Catalog and collects what is wrong.
type checker struct {
	schema   *catalog.Schema
	policy   Policy
	cat      *Catalog
	problems []Problem
}

// problem notes what is wrong in a table's part of the policy; rest is the place
// there, with dots.
func (c *checker) problem(n catalog.Name, rest, format string, args ...any) {
	where := append([]string{"tables", n.String()}, strings.FieldsFunc(rest, func(r rune) bool { return r == '.' })...)
	c.problems = append(c.problems, Problem{where, fmt.Sprintf(format, args...)})
}

func (c *checker) table(p *TablePolicy) {
	src := c.schema.Tables[p.Name]
	if src == nil {
		c.problem(p.Name, "", "the table does not exist in the database, or may not be read")
		return
	}
	t := &table{name: p.Name, public: p.Public, maxRows: p.MaxRows, maxPartitions: p.MaxPartitions, source: src, identifiers: map[string]bool{}}
	if c.schema.ServerVersion >= indexVersion {
		t.sorted = src.Sorted
	}
	if !p.Public {
		c.protectable(p, src)
	}
	for _, col := range src.Columns {
		t.columns = append(t.columns, c.column(p, col))
	}
	for name := range p.Columns {
		if _, ok := src.Column(name); !ok {
			c.problem(p.Name, "columns."+name, "there is no such column")
		}
	}
	c.cat.tables[p.Name] = t
	if other := c.cat.byName[p.Name.Name]; other == nil || other.public {
		c.cat.byName[p.Name.Name] = t
	}
}

// protectable refuses relations whose rows cannot be told apart by unit for
// certain.
func (c *checker) protectable(p *TablePolicy, src *catalog.Table) {
	switch {
	case src.Kind != 'r' && src.Kind != 'p':
		c.problem(p.Name, "", "only tables can be protected, not views, materialised views or foreign tables")
	case src.RowSecurity:
		c.problem(p.Name, "", "row security applies to dpproxy's reader: what it reads would depend on policies of the database")
	case src.Kind == 'r' && len(src.Children) > 0:
		c.problem(p.Name, "", "the table has inheritance children, so that its keys prove nothing")
	}
}

func (c *checker) column(p *TablePolicy, src catalog.Column) column {
	pol := p.Columns[src.Name]
	col := column{Column: src, hidden: pol.Hidden, bounds: pol.Bounds, domain: pol.Values}
	where := "columns." + src.Name
	fam := columnFamily(src.Type)
	switch {
	case src.Virtual && !p.Public && !pol.Hidden:
		c.problem(p.Name, where, "a virtual generated column is computed when it is read, which can fail on a row: make it STORED, or hide it")
	case pol.Bounds != nil && pol.Bounds.Low != nil && fam != intFamily && fam != numericFamily && fam != floatFamily:
		c.problem(p.Name, where+".bounds", "numbers as bounds of a column of type %s", src.Type.Display)
	case pol.Bounds != nil && pol.Bounds.Low == nil && fam != dateFamily && fam != instantFamily:
		c.problem(p.Name, where+".bounds", "dates as bounds of a column of type %s", src.Type.Display)
	case pol.Bounds != nil && pol.Bounds.Low != nil && pol.Bounds.Low.Cmp(pol.Bounds.High) > 0:
		c.problem(p.Name, where+".bounds", "the lower bound is above the upper one")
	}
	if pol.EnumValues {
		typ := c.schema.Types[src.Type.Name]
		if src.Type.Kind != 'e' || typ == nil {
			c.problem(p.Name, where+".values", "the column's type %s is no enum", src.Type.Display)
			return col
		}
		col.domain = typ.Labels
	}
	if fam == boolFamily && col.domain == nil && !pol.Hidden {
		col.domain = []string{"false", "true"}
	}
	if col.domain != nil && (!src.Deterministic || fam == dateFamily && baseOID(src.Type) != oidDate) {
		c.problem(p.Name, where+".values", "a column of type %s with this collation cannot have declared values", src.Type.Display)
		return col
	}
	if err := checkDomain(baseOID(src.Type), fam, col.domain); err != "" {
		c.problem(p.Name, where+".values", "%s", err)
	}
	return col
}

func (c *checker) path(t *table, p *TablePolicy, depth int) {
	if t.unit.column != "" || depth > len(c.cat.tables) {
		return
	}
	if p.UnitColumn != "" {
		c.ownColumn(t, p)
		return
	}
	to := c.cat.tables[p.To.Table]
	col, ok := t.source.Column(p.Via)
	switch {
	case !ok:
		c.problem(p.Name, "unit.via", "there is no column %q", p.Via)
		return
	case col.Virtual:
		c.problem(p.Name, "unit.via", "%q is a virtual generated column, which is computed when it is read: make it STORED", p.Via)
		return
	case to == nil || to.public:
		c.problem(p.Name, "unit.to", "%s is not a protected table of the policy", p.To.Table)
		return
	case !hasKey(to.source, p.To.Column):
		c.problem(p.Name, "unit.to", "%s.%s has no unique index over NOT NULL columns that proves it a key", p.To.Table, p.To.Column)
		return
	}
	target, _ := to.source.Column(p.To.Column)
	if baseOID(target.Type) != baseOID(col.Type) {
		c.problem(p.Name, "unit.to", "%s and %s.%s have different types", p.Via, p.To.Table, p.To.Column)
		return
	}
	if !col.Deterministic || !target.Deterministic || col.Collation != target.Collation {
		c.problem(p.Name, "unit.to", "%s and %s.%s must have the same, deterministic collation", p.Via, p.To.Table, p.To.Column)
		return
	}
	c.path(to, c.policyOf(to), depth+1)
	if to.unit.column == "" {
		c.problem(p.Name, "unit", "the path does not reach the privacy unit")
		return
	}
	t.unit = path{append([]step{{p.Via, to, p.To.Column}}, to.unit.steps...), to.unit.column, to.unit.oid}
}

// policyOf returns the policy that a table of the catalogue was made from.
func (c *checker) policyOf(t *table) *TablePolicy {
	i := slices.IndexFunc(c.policy.Tables, func(p TablePolicy) bool { return p.Name == t.name })
	return &c.policy.Tables[i]
}

func (c *checker) ownColumn(t *table, p *TablePolicy) {
	col, ok := t.source.Column(p.UnitColumn)
	if !ok {
		c.problem(p.Name, "unit", "there is no column %q", p.UnitColumn)
		return
	}
	if col.Virtual {
		c.problem(p.Name, "unit", "%q is a virtual generated column, which is computed when it is read: make it STORED", p.UnitColumn)
		return
	}
	fam := columnFamily(col.Type)
	if fam != intFamily && fam != textFamily && fam != uuidFamily || !col.Deterministic {
		c.problem(p.Name, "unit", "a unit is identified by an integer, a text with a deterministic collation, or a uuid, not by %s", col.Type.Display)
		return
	}
	t.unit = path{nil, p.UnitColumn, baseOID(col.Type)}
	t.oneRow = t.source.Kind == 'r' && hasKey(t.source, p.UnitColumn)
}

// hasKey reports whether one column alone is a key: a unique index over it, and
// NOT NULL.
func hasKey(t *catalog.Table, name string) bool {
	col, ok := t.Column(name)
	return ok && col.NotNull && slices.ContainsFunc(t.Keys, func(k catalog.Key) bool {
		return len(k.Columns) == 1 && k.Columns[0] == name
	})
}

// otherPeople refuses rows about two people, and public tables that depend on
// protected ones.
func (c *checker) otherPeople(t *table, p *TablePolicy) {
	for _, fk := range slices.Concat(t.source.Foreign, t.source.Loose) {
		target := c.cat.tables[fk.References]
		if target == nil || target.public {
			continue
		}
		if t.public {
			c.problem(p.Name, "public", "the table references the protected table %s", fk.References)
			continue
		}
		along := len(fk.Columns) == 1 && (fk.Columns[0] == p.UnitColumn || fk.Columns[0] == p.Via)
		excused := slices.ContainsFunc(fk.Columns, func(col string) bool { return slices.Contains(p.NotProtected, col) })
		if !along && !excused {
			c.problem(p.Name, "unit", "the foreign key %s (%s) is a second way from a row to a unit: a row about two people protects only one of them; "+
				"name the column under not_protected to accept that", fk.Name, strings.Join(fk.Columns, ", "))
		}
	}
}

// sameUnit checks that all paths end in the same kind of identifier.
func (c *checker) sameUnit() {
	var first *table
	for _, n := range c.cat.Protected() {
		t := c.cat.tables[n]
		if t.unit.column == "" {
			continue
		}
		if first == nil {
			first = t
		} else if familyOf(first.unit.oid, 'b') != familyOf(t.unit.oid, 'b') {
			c.problem(t.name, "unit", "its type differs from that of %s: both must identify the same unit", first.name)
		}
	}
}

// identifiers notes the columns of the paths to the unit.
func (c *checker) identifiers() {
	for _, t := range c.cat.tables {
		last := t
		for _, st := range t.unit.steps {
			last.identifiers[st.from], st.to.identifiers[st.key] = true, true
			last = st.to
		}
		last.identifiers[t.unit.column] = true
	}
}

// whole returns the table of the policy that a partition belongs to, or the table itself.
func (c *Catalog) whole(t *table) *table {
	for _, up := range t.source.Parents {
		if parent := c.tables[up]; parent != nil && !parent.public {
			return c.whole(parent)
		}
	}
	return t
}

// qualified writes the name of the table.
func qualified(t *table) string {
	return ast.QuoteIdent(t.name.Schema) + "." + ast.QuoteIdent(t.name.Name)
}
