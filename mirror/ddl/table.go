package ddl

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// Table is a plain table with the columns, keys and indexes of t. Its state compares
// the columns too, so that a hand-made change does not last.
func Table(t *catalog.Table, s *catalog.Schema, protected bool) Object {
	parts, shape := make([]string, 0, len(t.Columns)), make([]string, 0, len(t.Columns))
	o := Object{Key: tableKey(t.Name)}
	for _, c := range t.Columns {
		parts = append(parts, columnSQL(c, protected))
		shape = append(shape, fmt.Sprintf("%s %s %t", c.Name, c.Type.Display, c.NotNull))
		o.Needs = append(o.Needs, columnNeeds(c, s)...)
	}
	for _, c := range t.Constraints {
		parts = append(parts, "CONSTRAINT "+quote.Ident(c.Name)+" "+c.Text)
	}
	name := quote.Name(t.Name)
	o.Create = fmt.Sprintf("CREATE TABLE %s (\n  %s\n);\nALTER TABLE %s OWNER TO %s;\n",
		name, strings.Join(parts, ",\n  "), name, Owner)
	o.Create += serialsSQL(t)
	for _, i := range t.Indexes {
		o.Beside = append(o.Beside, Definition{"index " + i.Name, i.Text})
	}
	if protected {
		o.Create += backstopSQL(t.Name)
		o.Needs = append(o.Needs, protectedKey)
	}
	o.Drop = fmt.Sprintf("DROP TABLE %s CASCADE", name)
	o.State = fmt.Sprintf(`SELECT c.relowner::regrole::text, c.relkind = 'r' AND c.relrowsecurity = %[2]t AND c.relforcerowsecurity = %[2]t
			AND (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid) = %[2]t::int
			AND %[3]s = coalesce((SELECT string_agg(format('%%s %%s %%s', attname, format_type(atttypid, atttypmod),
					CASE WHEN attnotnull THEN 'true' ELSE 'false' END), E'\n' ORDER BY attnum)
				FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped), '')
		FROM pg_class c WHERE c.oid = to_regclass(%[1]s) AND c.relkind <> 'v'`,
		quote.Literal(name), protected, quote.Literal(strings.Join(shape, "\n")))
	return o
}

// columnSQL leaves out the expression of a generated column, which may hold values. Where
// there are rows to copy the column is a plain one: they bring its values along.
func columnSQL(c catalog.Column, protected bool) string {
	sql := quote.Ident(c.Name) + " " + c.Type.Display
	if c.Collation != (catalog.Name{}) {
		sql += " COLLATE " + quote.Name(c.Collation)
	}
	if c.NotNull {
		sql += " NOT NULL"
	}
	if c.Identity != "" {
		sql += " GENERATED " + c.Identity + " AS IDENTITY"
	}
	if c.Generated && protected {
		sql += " GENERATED ALWAYS AS (CAST(NULL AS " + c.Type.Display + ")) STORED"
	}
	return sql
}

// serialsSQL makes the sequences of serial columns anew: they begin at 1, whatever the real
// ones have come to.
func serialsSQL(t *catalog.Table) string {
	var sql strings.Builder
	for _, c := range t.Columns {
		if c.Serial == "" {
			continue
		}
		sequence := quote.Name(catalog.Name{Schema: t.Name.Schema, Name: c.Serial})
		typ := c.Type.Display
		if !slices.Contains([]string{"smallint", "integer", "bigint"}, typ) {
			typ = "bigint"
		}
		fmt.Fprintf(&sql, "CREATE SEQUENCE %[1]s AS %[2]s;\nALTER SEQUENCE %[1]s OWNER TO %[3]s;\n"+
			"ALTER SEQUENCE %[1]s OWNED BY %[4]s.%[5]s;\n"+
			"ALTER TABLE %[4]s ALTER %[5]s SET DEFAULT nextval(%[6]s);\n",
			sequence, typ, Owner, quote.Name(t.Name), quote.Ident(c.Name), quote.Literal(sequence))
	}
	return sql.String()
}
