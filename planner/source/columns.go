package source

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// newColumn is a column of a table as an expression knows it.
func newColumn(r *relation, c *policy.Column) *scalar.Column {
	of := typeOf(c)
	reach := columnReach(r.table, c, of)
	return &scalar.Column{
		Name: c.Name, Type: of, NotNull: c.NotNull && !reach.Drops(), SQL: r.read(c, of), Reach: reach,
		Bounds: scalarBounds(c.Bounds), Values: c.Values, Only: c.Only, Within: c.Within, Step: c.Step,
		Among: publicKey(c.Among),
	}
}

// publicKey is the key of a public table that a column refers to, as expressions know it; nil without.
func publicKey(k *policy.PublicKey) *scalar.PublicKey {
	if k == nil {
		return nil
	}
	to := &relation{alias: "k", table: k.Table}
	of := typeOf(k.Column)
	return &scalar.PublicKey{
		Table: k.Table.Name, Type: of, SQL: to.read(k.Column, of), From: tableSQL(to) + " AS " + to.alias, Rows: k.Rows,
	}
}

// boundedRow is the row of a table as expressions know it, nil if the policy bounds nothing that is computed of it.
func boundedRow(t *policy.Table) *scalar.Row {
	if t.Bounded == nil && t.Implied == nil {
		return nil
	}
	return &scalar.Row{Bounded: slices.Concat(t.Bounded, t.Implied)}
}

// sql writes the value of the column of that name where the table is read.
func (r *relation) sql(name string) string {
	i := slices.IndexFunc(r.table.Columns, func(c policy.Column) bool { return c.Name == name })
	c := &r.table.Columns[i]
	of := typeOf(c)
	return columnReach(r.table, c, of).Read(r.read(c, of))
}

func typeOf(c *policy.Column) pgtype.Type {
	return pgtype.OfColumn(c.Type, c.Collation, c.Deterministic)
}

// columnReach tells how much of a column of a table, of a type, is read.
func columnReach(t *policy.Table, c *policy.Column, of pgtype.Type) scalar.Reach {
	if t.Indexed(c.Name) && !of.Array {
		return scalar.Whole
	}
	if reach := scalar.ReachOf(of, t.Identifies(c.Name)); reach != scalar.Beginning || !c.Brief {
		return reach
	}
	return scalar.Piece
}

// read writes a column of a table, below its domain. Its values are as the modifiers of its types say: of a view they need not be.
func (r *relation) read(c *policy.Column, of pgtype.Type) string {
	sql := r.alias + "." + ast.QuoteIdent(c.Name)
	if c.Type.Kind == 'd' && of.SQL() != "" {
		sql = "CAST(" + sql + " AS " + of.SQL() + ")"
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

// An Extent is a column whose least and greatest values, on the mirror, bound it: a column of a public table, or one that refers to such a
// column by a foreign key.
type Extent struct {
	Table      *policy.Table // the public one
	From, Read string        // the table, in FROM, and the value
	Column     *scalar.Column
}

// Extents returns the columns of the source that [Source.TellExtent] has the mirror tell the bounds of.
func (s *Source) Extents() (all []Extent) {
	s.eachRelation(func(_ *level, r *relation) {
		for i, c := range r.columns {
			if r.rows == nil && !r.listed && c.Extent != nil {
				all = append(all, r.extent(i))
			}
		}
	})
	return all
}

// extent is the one of a column of a table.
func (r *relation) extent(i int) Extent {
	c := r.columns[i]
	if k := c.Among; k != nil {
		return Extent{r.table.Columns[i].Among.Table, k.From, scalar.KeyAs(k, c.Type), c}
	}
	return Extent{r.table, tableSQL(r) + " AS " + r.alias, c.SQL, c}
}

// TellExtent has the mirror tell the bounds of a column of a public table, if analysts can read the column there, or of one that refers to
// such a column.
func (s *Source) TellExtent(c *scalar.Column, at int) (told bool) {
	if !scalar.HasExtent(c.Type) || c.Extent != nil {
		return c.Extent != nil
	}
	s.eachRelation(func(_ *level, r *relation) {
		i := slices.Index(r.columns, c)
		if i < 0 || r.listed || r.rows != nil || c.Among == nil && (r.protected() || r.table.Columns[i].Hidden) {
			return
		}
		e := r.extent(i)
		s.constants.AddExtent(c, e.Read, e.From, at)
		told = true
	})
	return told
}
