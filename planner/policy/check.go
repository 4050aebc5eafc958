package policy

import (
	"cmp"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
)

// Check joins the policy with the schema. The model is nil if there are problems.
func Check(p Policy, s *catalog.Schema) (*Model, []Problem) {
	c := &checker{schema: s, policy: p, model: &Model{
		unit: p.Unit, units: p.Units, tables: map[catalog.Name]*Table{}, byName: map[string]*Table{},
		views: map[catalog.Name]*catalog.Table{}, withheld: map[catalog.Name][]string{},
		joinRows: cmp.Or(p.JoinRows, DefaultJoinRows), groupRows: cmp.Or(p.JoinRows, DefaultJoinRows),
		timeZones: s.TimeZones, publicRows: s.PublicRows, publicRepeats: s.PublicRepeats, before14: s.ServerVersion < 140000,
	}}
	c.engine()
	for i := range p.Tables {
		c.table(&p.Tables[i])
	}
	inherit(c)
	for i := range p.Tables {
		if t := c.model.tables[p.Tables[i].Name]; t != nil && !t.Public {
			lookUp(c.model, t)
		}
	}
	for i := range p.Tables {
		for _, d := range p.Tables[i].Derived {
			if t := c.model.tables[p.Tables[i].Name]; t != nil {
				derive(c, t, d)
			}
		}
	}
	for i := range p.Tables {
		if t := c.model.tables[p.Tables[i].Name]; t != nil && !t.Public {
			ordered(t)
		}
	}
	c.views()
	for i := range p.Tables {
		if t := c.model.tables[p.Tables[i].Name]; t != nil && ofPeople(t) {
			c.path(t, &p.Tables[i], 0)
		}
	}
	for i := range p.Tables {
		if t := c.model.tables[p.Tables[i].Name]; t != nil {
			c.references(t, &p.Tables[i])
		}
	}
	for i := range p.Tables {
		if t := c.model.tables[p.Tables[i].Name]; t != nil && ofPeople(t) && t.Unit.Column != "" {
			c.nobody(t, &p.Tables[i])
		}
	}
	c.sameUnit()
	c.identifiers()
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return c.model, nil
}

// checker builds a Model and collects problems.
type checker struct {
	schema   *catalog.Schema
	policy   Policy
	model    *Model
	problems []Problem
}

// problem notes a mistake in a table's part of the policy; rest is the place
// there, with dots.
func (c *checker) problem(n catalog.Name, rest, format string, args ...any) {
	c.problemAt(n, strings.FieldsFunc(rest, func(r rune) bool { return r == '.' }), format, args...)
}

func (c *checker) problemAt(n catalog.Name, rest []string, format string, args ...any) {
	c.problems = append(c.problems, problemOf(append([]string{"tables", n.String()}, rest...), format, args...))
}

func (c *checker) table(p *TablePolicy) {
	src := c.schema.Tables[p.Name]
	if src == nil {
		c.problem(p.Name, "", "the table does not exist in the database, or may not be read")
		return
	}
	t := &Table{
		Name: p.Name, Public: p.Public, Reference: p.Reference, MaxRows: p.MaxRows, MaxPartitions: p.MaxPartitions, AutoRows: p.AutoRows,
		Source: src, identifiers: map[string]bool{}, Dates: p.Dates,
	}
	if c.schema.ServerVersion >= indexVersion {
		t.sorted = src.Sorted
	}
	if !p.Public {
		c.protectable(p, src)
		apart(c, p, src)
	}
	c.storage(p, src)
	for _, col := range src.Columns {
		of := c.column(p, col)
		prove(src, &of)
		longest, measured := c.schema.PublicLengths[p.Name][col.Name]
		of.Brief = p.Public && measured && longest <= BriefText
		t.Columns = append(t.Columns, of)
	}
	for name := range p.Columns {
		if _, ok := src.Column(name); !ok {
			c.problem(p.Name, "columns."+name, "there is no such column")
		}
	}
	c.model.tables[p.Name] = t
	if other := c.model.byName[p.Name.Name]; other == nil || other.Public {
		c.model.byName[p.Name.Name] = t
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

func (c *checker) column(p *TablePolicy, src catalog.Column) Column {
	said, where := p.Says(src.Name), []string{"columns", src.Name}
	col := c.stated(p, src, said, where)
	col.Fields = fieldsOf(c, p, src, said, where)
	return col
}

// stated joins what the policy says of a column, or of a field, with its type.
func (c *checker) stated(p *TablePolicy, src catalog.Column, pol ColumnPolicy, at []string) Column {
	col := Column{Column: src, Hidden: pol.Hidden, Bounds: pol.Bounds, Values: pol.Values}
	if b := p.defaultBounds(src, pol); b != nil {
		col.Bounds, col.ByDefault = b, true
	}
	if typ := c.schema.Types[src.Type.Base]; typ != nil {
		col.Labels = typ.Labels
	}
	problem := func(key, format string, args ...any) {
		where := at
		if key != "" {
			where = append(slices.Clip(at), key)
		}
		c.problemAt(p.Name, where, format, args...)
	}
	fam := familyOf(src.Type)
	switch {
	case src.Virtual && !p.Public && !pol.Hidden:
		problem("", "a virtual generated column is computed when it is read, which can fail on a row: make it STORED, or hide it")
	case pol.Bounds != nil && pol.Bounds.Low != nil && fam != pgtype.IntFamily && fam != pgtype.NumericFamily && fam != pgtype.FloatFamily:
		problem("bounds", "numbers as bounds of a column of type %s", src.Type.Display)
	case pol.Bounds != nil && pol.Bounds.Low == nil && fam != pgtype.DateFamily && fam != pgtype.InstantFamily:
		problem("bounds", "dates as bounds of a column of type %s", src.Type.Display)
	case pol.Bounds != nil && pol.Bounds.Low != nil && pol.Bounds.Low.Cmp(pol.Bounds.High) > 0:
		problem("bounds", "the lower bound is above the upper one")
	}
	if step, err := stepOf(src.Type, pol.Step); err != "" {
		problem("step", "%s", err)
	} else {
		col.Step = step
	}
	if pol.EnumValues {
		typ := c.schema.Types[src.Type.Name]
		if src.Type.Kind != 'e' || typ == nil {
			problem("values", "the column's type %s is no enum", src.Type.Display)
			return col
		}
		col.Values = typ.Labels
	}
	if fam == pgtype.BoolFamily && col.Values == nil && !pol.Hidden {
		col.Values = []string{"false", "true"}
	}
	switch {
	case col.Values == nil:
	case !src.Deterministic:
		problem("values", "a column with a collation that is not deterministic cannot have declared values: equal ones can look different")
		return col
	case fam == pgtype.DateFamily && baseOID(src.Type) != pgtype.Date:
		problem("values", "a column of type %s cannot have declared values", src.Type.Display)
		return col
	}
	if err := checkDomain(baseOID(src.Type), fam, col.Values); err != "" {
		problem("values", "%s", err)
	}
	return col
}

func (c *checker) path(t *Table, p *TablePolicy, depth int) {
	if t.Unit.Column != "" || depth > len(c.model.tables) {
		return
	}
	if p.UnitColumn != "" {
		c.ownColumn(t, p)
		return
	}
	step, ok := c.step(t, p)
	if !ok {
		return
	}
	c.path(step.To, c.policyOf(step.To), depth+1)
	if step.To.Unit.Column == "" {
		c.problem(p.Name, "unit", "the path does not reach the privacy unit")
		return
	}
	t.Unit = Path{append([]Step{step}, step.To.Unit.Steps...), step.To.Unit.Column, step.To.Unit.OID}
}

// step is the first step of a path. A row is joined with one row at most, since the columns there are a key, and with none
// where one of its own columns is NULL: such a row is nobody's, whether the foreign key matches it or not.
func (c *checker) step(t *Table, p *TablePolicy) (s Step, ok bool) {
	s = Step{From: p.ViaKey, To: c.model.tables[p.To.Table], Key: []string{p.To.Column}}
	if p.ViaKey == nil {
		s.From = []string{p.Via}
	}
	for _, name := range s.From {
		if col, ok := t.Source.Column(name); !ok {
			c.problem(p.Name, "unit.via", "there is no column %q", name)
			return s, false
		} else if col.Virtual {
			c.problem(p.Name, "unit.via", "%q is a virtual generated column, which is computed when it is read: make it STORED", name)
			return s, false
		}
	}
	if s.To == nil || !ofPeople(s.To) {
		c.problem(p.Name, "unit.to", "%s is not a protected table of the policy", p.To.Table)
		return s, false
	}
	if p.ViaKey != nil {
		if s.Key = referred(t.Source, s.To.Source, s.From); s.Key == nil {
			c.problem(p.Name, "unit.to", "no foreign key over (%s) refers to %s, whose primary key has not %d columns",
				strings.Join(s.From, ", "), p.To.Table, len(s.From))
			return s, false
		}
	}
	if !hasKey(s.To.Source, s.Key) {
		c.problem(p.Name, "unit.to", "%s.%s has no unique index over NOT NULL columns that proves it a key", p.To.Table, columnList(s.Key))
		return s, false
	}
	for i := range s.From {
		if problem := unlike(t, s, i); problem != "" {
			c.problem(p.Name, "unit.to", "%s and %s.%s %s", s.From[i], p.To.Table, s.Key[i], problem)
			return s, false
		}
	}
	return s, true
}

// referred returns the columns of a table that other columns refer to, in their order: by a foreign key of exactly these
// columns, or else the primary key. It is nil if there is none. That they are a key is proved elsewhere.
func referred(from, to *catalog.Table, columns []string) []string {
	for _, fk := range slices.Concat(from.Foreign, from.Loose) {
		if fk.References != to.Name || len(fk.Columns) != len(columns) {
			continue
		}
		var key []string
		for _, name := range columns {
			if i := slices.Index(fk.Columns, name); i >= 0 {
				key = append(key, fk.Target[i])
			}
		}
		if len(key) == len(columns) {
			return key
		}
	}
	for _, k := range to.Keys {
		if k.Primary && len(k.Columns) == len(columns) {
			return k.Columns
		}
	}
	return nil
}

// unlike says why the columns of a step could be equal otherwise than a key is unique, or returns "".
func unlike(t *Table, s Step, i int) string {
	col, _ := t.Source.Column(s.From[i])
	target, _ := s.To.Source.Column(s.Key[i])
	if baseOID(target.Type) != baseOID(col.Type) {
		return "have different types"
	}
	if !col.Deterministic || !target.Deterministic || col.Collation != target.Collation {
		return "must have the same, deterministic collation"
	}
	return ""
}

// columnList writes one column, or several in parentheses.
func columnList(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// policyOf returns the policy that a table of the catalogue was made from.
func (c *checker) policyOf(t *Table) *TablePolicy {
	i := slices.IndexFunc(c.policy.Tables, func(p TablePolicy) bool { return p.Name == t.Name })
	return &c.policy.Tables[i]
}

func (c *checker) ownColumn(t *Table, p *TablePolicy) {
	col, ok := t.Source.Column(p.UnitColumn)
	if !ok {
		c.problem(p.Name, "unit", "there is no column %q", p.UnitColumn)
		return
	}
	if col.Virtual {
		c.problem(p.Name, "unit", "%q is a virtual generated column, which is computed when it is read: make it STORED", p.UnitColumn)
		return
	}
	fam := familyOf(col.Type)
	if fam != pgtype.IntFamily && fam != pgtype.TextFamily && fam != pgtype.UUIDFamily || !col.Deterministic {
		c.problem(p.Name, "unit",
			"a unit is identified by an integer, a text with a deterministic collation, or a uuid, not by %s", col.Type.Display)
		return
	}
	t.Unit = Path{nil, p.UnitColumn, baseOID(col.Type)}
}

// hasKey reports whether columns are a key: NOT NULL, with a unique index over them or some of them.
func hasKey(t *catalog.Table, names []string) bool {
	return isUnique(t, names) && !slices.ContainsFunc(names, func(name string) bool {
		col, ok := t.Column(name)
		return !ok || !col.NotNull
	})
}

// isUnique reports whether no two rows have the same values of columns, NULL aside.
func isUnique(t *catalog.Table, names []string) bool {
	return slices.ContainsFunc(t.Keys, func(k catalog.Key) bool {
		return !slices.ContainsFunc(k.Columns, func(name string) bool { return !slices.Contains(names, name) })
	})
}

// ofSameUnit reports whether every row that a foreign key refers to is of the unit of the row that refers to it. Both have
// the identifier of the unit in columns that the foreign key compares, or the row is the one that the path leads to.
func ofSameUnit(t *Table, fk catalog.ForeignKey, target *Table) bool {
	own, its := t.unitNames(), target.unitNames()
	for i, name := range fk.Columns {
		if slices.Contains(own, name) && slices.Contains(its, fk.Target[i]) {
			return true
		}
	}
	if len(t.Unit.Steps) == 0 || t.Unit.Steps[0].To != target {
		return false
	}
	step := t.Unit.Steps[0]
	for i, name := range step.From {
		if j := slices.Index(fk.Columns, name); j < 0 || fk.Target[j] != step.Key[i] {
			return false
		}
	}
	return true
}

// unitNames are the columns of a table that hold the identifier of the unit in every row that is somebody's: the unit's own
// column, and those that a path of them compares with one.
func (t *Table) unitNames() []string {
	if t.Unit.Column == "" {
		return nil
	}
	names := []string{t.Unit.Column}
	for _, s := range slices.Backward(t.Unit.Steps) {
		var before []string
		for i, key := range s.Key {
			if slices.Contains(names, key) {
				before = append(before, s.From[i])
			}
		}
		names = before
	}
	return names
}

// sameUnit checks that all paths end in the same kind of identifier.
func (c *checker) sameUnit() {
	var first *Table
	for _, n := range c.model.Protected() {
		t := c.model.tables[n]
		if t.Unit.Column == "" {
			continue
		}
		if first == nil {
			first = t
		} else if pgtype.Of(first.Unit.OID).Family() != pgtype.Of(t.Unit.OID).Family() {
			c.problem(t.Name, "unit", "its type differs from that of %s: both must identify the same unit", first.Name)
		}
	}
}

// identifiers notes the columns of the paths to the unit, and of references that are looked up.
func (c *checker) identifiers() {
	for _, t := range c.model.tables {
		last := t
		for _, st := range t.Unit.Steps {
			for i := range st.From {
				last.identifiers[st.From[i]], st.To.identifiers[st.Key[i]] = true, true
			}
			last = st.To
		}
		last.identifiers[t.Unit.Column] = true
		for _, s := range t.Lookups {
			for i := range s.From {
				t.identifiers[s.From[i]], s.To.identifiers[s.Key[i]] = true, true
			}
		}
	}
}

// baseOID returns the OID below a domain.
func baseOID(t catalog.TypeRef) uint32 {
	if t.Kind == 'd' {
		return t.BaseOID
	}
	return t.OID
}

// familyOf returns the family that a column compares in.
func familyOf(t catalog.TypeRef) pgtype.Family {
	return pgtype.OfColumn(t, catalog.Name{}, true).Family()
}
