package source

import (
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// The policy can have rows count whose unit is NULL (policy.Nobody). Each of them, with the rows of other tables whose way leads to it,
// is a unit of its own. The column of the unit is then a tagged text that is never NULL: [sqltext.Person] and the identifier of the
// person, or [sqltext.Unowned] or [sqltext.Open], the table, and the bytes of the row's key.
//
// The table's own column identifies the unit of a row unless it is NULL (scalar.Column.Whose). So both are equal on every row
// only if the column has a value on every row: an equality holds, or another condition that excludes NULL. Everything else follows.
// Rows without a unit match nothing by such an equality, as in Postgres, so that no two pairs of table and key are ever tied together.
// NOT IN, and groups by the column alone, are refused unless the statement excludes NULL: the column is no unit.

// tag gives a table whose rows without a unit count a column of the unit in the place of its own one.
func tag(r *relation, own *scalar.Column) *scalar.Column {
	counting, kind := r.table.Counting, sqltext.Unowned
	if counting.As == policy.NobodyPublic {
		kind = sqltext.Open
	}
	var bytes []string
	for _, name := range counting.Key {
		c := r.column(name)
		bytes = append(bytes, scalar.Canonical(c.Type, c.Read()))
	}
	row := ast.Quote(kind+counting.Of+":") + " || pg_catalog.encode(" + sqltext.Concatenated(bytes) + ", 'hex')"
	sql := "(CASE WHEN " + own.SQL + " IS NOT NULL THEN " + sqltext.OfPerson(own.Read()) +
		" WHEN " + r.column(counting.Key[0]).SQL + " IS NOT NULL THEN " + row + ` END COLLATE pg_catalog."C")`
	r.tagged = true
	r.unit = &scalar.Column{Type: pgtype.Of(pgtype.Text), NotNull: !own.Reach.Drops(), SQL: sql}
	own.Whose = r.unit
	return r.unit
}

// hintOfNobody says why a column among keys identifies no unit: it would if it were not NULL; "" if there is none.
func hintOfNobody(p *proof, keys ...scalar.Expr) string {
	unit := p.model.Unit()
	for _, x := range keys {
		if c, plain := scalar.PlainColumn(x); plain && p.Tagged() && p.Identifies(x) && !p.IsUnit(x) {
			return "Rows without a " + unit + " are no group of one " + unit + ": add WHERE " + c.Shown() +
				" IS NOT NULL, and ask for the others by themselves."
		}
	}
	return ""
}

// OfPeople is the condition that a row belongs to a person; nil if every row does.
func (s *Source) OfPeople() scalar.Expr {
	if !s.Tagged() {
		return nil
	}
	return &scalar.Ref{Column: &scalar.Column{
		Type: pgtype.Of(pgtype.Bool), NotNull: true, SQL: "pg_catalog.starts_with(" + s.Unit().Read() + ", '" + sqltext.Person + "')",
	}}
}
