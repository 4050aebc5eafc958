package policy

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A LocalTable is the policy of a table under the local model: each of its rows is an object that answers questions with
// noise of its own. It is no table of the central model: no statement of an analyst can name it.
type LocalTable struct {
	Name catalog.Name
	// Key is the column that tells objects apart, and Public are further columns that everybody may see.
	Key    string
	Public []string
	// Columns are the private ones that can be asked about, each with values or bounds.
	Columns map[string]ColumnPolicy
	// BudgetPico is what each object may lose, in 10⁻¹² of ε, and DeltaAtto the δ beside it, in 10⁻¹⁸; 0: none.
	BudgetPico, DeltaAtto int64
	// Never says that the administrator promises that values do not change.
	Never bool
}

// A Local is a local table with the proofs of the real database's catalogue. It is immutable.
type Local struct {
	LocalTable
	// KeyColumn and PublicColumns are shown, Private ones are asked about, in the order of the table.
	KeyColumn     Column
	PublicColumns []Column
	Private       []Column
	Source        *catalog.Table
}

// CheckLocal joins the policy of a local table with the schema. The result is nil if there are problems.
func CheckLocal(p LocalTable, s *catalog.Schema) (*Local, []Problem) {
	c := &checker{schema: s, model: &Model{tables: map[catalog.Name]*Table{}}}
	l := &Local{LocalTable: p, Source: s.Tables[p.Name]}
	if l.Source == nil {
		c.problem(p.Name, "", "the table does not exist in the database, or may not be read")
		return nil, c.problems
	}
	as := &TablePolicy{Name: p.Name, Columns: p.Columns}
	c.protectable(as, l.Source)
	c.storage(as, l.Source)
	c.localKey(l)
	for _, name := range p.Public {
		if col, ok := c.shownColumn(l, name, "public"); ok {
			l.PublicColumns = append(l.PublicColumns, col)
		}
	}
	for _, col := range l.Source.Columns {
		if _, declared := p.Columns[col.Name]; declared {
			l.Private = append(l.Private, c.privateColumn(as, col))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Columns)) {
		if _, ok := l.Source.Column(name); !ok {
			c.problem(p.Name, "columns."+name, "there is no such column")
		}
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return l, nil
}

// localKey checks that each row is one object.
func (c *checker) localKey(l *Local) {
	col, ok := c.shownColumn(l, l.Key, "key")
	if !ok {
		return
	}
	fam := familyOf(col.Type)
	switch {
	case fam != pgtype.IntFamily && fam != pgtype.TextFamily && fam != pgtype.UUIDFamily, !col.Deterministic,
		baseOID(col.Type) == pgtype.Bpchar:
		c.problem(l.Name, "key", "an object is identified by an integer, a text with a deterministic collation, or a uuid, not by %s",
			col.Type.Display)
	case !hasKey(l.Source, []string{l.Key}):
		c.problem(l.Name, "key", "%s has no unique index over a NOT NULL column that proves one row for each object", l.Key)
	}
	l.KeyColumn = col
}

// shownColumn returns a column that everybody may see.
func (c *checker) shownColumn(l *Local, name, where string) (Column, bool) {
	src, ok := l.Source.Column(name)
	switch {
	case !ok:
		c.problem(l.Name, where, "there is no column %q", name)
	case src.Virtual:
		c.problem(l.Name, where, "%q is a virtual generated column, which is computed when it is read: make it STORED", name)
	case src.Generated:
		c.problem(l.Name, where, "%q is a generated column, which can tell of private ones", name)
	case familyOf(src.Type) == pgtype.NoFamily:
		c.problem(l.Name, where, "a column of type %s cannot be shown: cast it to text in a column of its own", src.Type.Display)
	default:
		return Column{Column: *src}, true
	}
	return Column{}, false
}

// privateColumn checks a column that can be asked about.
func (c *checker) privateColumn(p *TablePolicy, src catalog.Column) Column {
	col := c.column(p, src)
	where := "columns." + src.Name
	fam := familyOf(src.Type)
	switch {
	case len(col.Values) == 1:
		c.problem(p.Name, where+".values", "a column with one value has no answer to give")
	case col.Values != nil:
	case col.Bounds == nil:
		c.problem(p.Name, where, "a column that can be asked about has values or bounds")
	case fam != pgtype.IntFamily && fam != pgtype.NumericFamily && fam != pgtype.FloatFamily:
		c.problem(p.Name, where+".bounds", "bounds of a column of type %s cannot be asked about: only numbers can", src.Type.Display)
	case col.Bounds.Low != nil && col.Bounds.Low.Cmp(col.Bounds.High) == 0:
		c.problem(p.Name, where+".bounds", "a column with one value has no answer to give")
	}
	return col
}

// Shown reports whether everybody sees the column of that name.
func (l *Local) Shown(name string) bool { return name == l.Key || slices.Contains(l.Public, name) }

// PublicIDs are the public columns by name and number: another column that gets the name of one has another ID.
func (l *Local) PublicIDs() []string {
	ids := make([]string, len(l.PublicColumns))
	for i, c := range l.PublicColumns {
		ids[i] = c.Name + "\x00" + strconv.Itoa(c.Number)
	}
	return ids
}

// Units returns the tables of the central model whose privacy unit the objects seem to be: their identifier refers to the key,
// or the key to it.
func (l *Local) Units(m *Model) []catalog.Name {
	var of []catalog.Name
	for _, n := range m.Protected() {
		t := m.tables[n]
		refers := slices.ContainsFunc(slices.Concat(t.Source.Foreign, t.Source.Loose), func(fk catalog.ForeignKey) bool {
			return fk.References == l.Name && slices.Contains(fk.Columns, t.Unit.Column) && slices.Contains(fk.Target, l.Key)
		})
		referred := slices.ContainsFunc(slices.Concat(l.Source.Foreign, l.Source.Loose), func(fk catalog.ForeignKey) bool {
			return fk.References == n && slices.Contains(fk.Columns, l.Key) && slices.Contains(fk.Target, t.Unit.Column)
		})
		if len(t.Unit.Steps) == 0 && (refers || referred) {
			of = append(of, n)
		}
	}
	return of
}

// Scalar returns a column as expressions know it, whose value is written as sql.
func (c *Column) Scalar(sql string) *scalar.Column {
	t := pgtype.OfColumn(c.Type, c.Collation, c.Deterministic)
	out := &scalar.Column{
		Name: c.Name, Type: t, NotNull: c.NotNull, Values: c.Values, SQL: sql, Reach: scalar.ReachOf(t, false),
	}
	if b := c.Bounds; b != nil {
		out.Bounds = &scalar.Bounds{Low: b.Low, High: b.High, LowText: b.LowText, HighText: b.HighText}
	}
	return out
}

// String writes the name as a policy may.
func (l *Local) String() string { return strings.TrimPrefix(l.Name.String(), "public.") }

// Read writes the column of a table with an alias, below its domain.
func (c *Column) Read(alias string) string {
	sql := alias + "." + ast.QuoteIdent(c.Name)
	if t := pgtype.OfColumn(c.Type, c.Collation, c.Deterministic); c.Type.Kind == 'd' && t.SQL() != "" {
		sql = "CAST(" + sql + " AS " + t.SQL() + ")"
	}
	return sql
}
