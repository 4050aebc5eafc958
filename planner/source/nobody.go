package source

import (
	"slices"

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
// The table's own column identifies the unit of a row unless it is NULL (scalar.Column.Whose). So both are in one class of equal columns
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

// valued returns the columns that identify a unit and have a value on every row, by the conditions, each with its unit.
func valuedIdentifiers(r *resolved) (pairs []pair) {
	conds := r.Conjuncts()
	for _, of := range region(r.root) {
		for _, c := range of.columns {
			if whose := c.Base().Whose; whose != nil && scalar.NeverNull(conds, &scalar.Ref{Column: c}) {
				pairs = append(pairs, pair{c, whose})
			}
		}
	}
	return pairs
}

// identified returns the columns that identify a unit and are in one of the equalities, each with its unit: it is not NULL there.
func identified(equal []pair) (pairs []pair) {
	for _, p := range equal {
		for _, c := range []*scalar.Column{p.a.Base(), p.b.Base()} {
			if c.Whose != nil && !slices.Contains(pairs, pair{c, c.Whose}) {
				pairs = append(pairs, pair{c, c.Whose})
			}
		}
	}
	return pairs
}

// identifiers are the columns that identify a unit unless they are NULL, each with its unit, which determines it in any case.
func identifiers(r *relation) (pairs []pair) {
	for _, c := range r.columns {
		if c = c.Base(); c.Whose != nil && scalar.OneSpelling(&scalar.Ref{Column: c}) {
			pairs = append(pairs, pair{c, c.Whose})
		}
	}
	return pairs
}

// identify has columns of a UNION ALL identify its unit that do so in each branch.
func identify(r *relation) {
	if len(r.rows.branches) < 2 || !r.tagged {
		return
	}
	for i, c := range r.columns {
		if !slices.ContainsFunc(r.rows.branches, func(b *branch) bool { return !b.source.Identifies(b.targets[i]) }) {
			c.Whose = r.unit
		}
	}
}

// hintOfNobody says why a column among keys identifies no unit: it would if it were not NULL; "" if there is none.
func hintOfNobody(p *proof, keys ...scalar.Expr) string {
	unit := p.model.Unit()
	for _, x := range keys {
		if c, plain := scalar.PlainColumn(x); plain && p.Identifies(x) && !p.IsUnit(x) {
			return "Rows without a " + unit + " are no group of one " + unit + ": add WHERE " + c.Shown() +
				" IS NOT NULL, and ask for the others by themselves."
		}
	}
	return ""
}
