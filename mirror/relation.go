package mirror

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// comparing catalog names, for a stable order.
func byName(a, b catalog.Name) int { return strings.Compare(a.String(), b.String()) }

// objects returns everything that the plan wants, in the order of creation.
func (p Plan) objects(s *catalog.Schema, database string) ([]object, error) {
	types, err := p.typeObjects(s)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(p.roleObjects(), backstopObjects(), p.schemaObjects(s), p.collationObjects(s), types)
	protected := map[catalog.Name]bool{}
	for _, t := range p.Protected {
		protected[t.Name] = true
	}
	for _, n := range p.tables() {
		all = append(all, tableObject(s.Tables[n], s, protected[n]))
	}
	for _, n := range p.tables() {
		all = append(all, foreignKeyObjects(s, s.Tables[n])...)
	}
	all = append(all, p.viewObjects(s)...)
	for _, t := range p.Protected {
		all = append(all, t.commentObject(s.Tables[t.Name]))
	}
	for _, v := range p.Views {
		all = append(all, v.commentObject())
	}
	return append(all, p.grantObjects(s, database)...), nil
}

// schemas returns those of all relations, types and collations.
func (p Plan) schemas(s *catalog.Schema) []string {
	names := slices.AppendSeq(p.names(), maps.Keys(s.Types))
	for _, l := range p.usedCollations(s) {
		names = append(names, l.Name)
	}
	schemas := map[string]bool{}
	for _, n := range names {
		schemas[n.Schema] = true
	}
	delete(schemas, "pg_catalog")
	delete(schemas, reserved)
	return slices.Sorted(maps.Keys(schemas))
}

func (p Plan) schemaObjects(of *catalog.Schema) []object {
	var objects []object
	for _, s := range p.schemas(of) {
		if s == "public" {
			continue // every database has it
		}
		objects = append(objects, object{
			key:    key{"schema", s},
			create: fmt.Sprintf("CREATE SCHEMA %s AUTHORIZATION %s", quote.Ident(s), Owner),
			drop:   fmt.Sprintf("DROP SCHEMA %s", quote.Ident(s)),
			state:  fmt.Sprintf("SELECT nspowner::regrole::text, true FROM pg_namespace WHERE nspname = %s", quote.Literal(s)),
		})
	}
	return objects
}

const tableKind = "table"

func tableKey(n catalog.Name) key { return key{tableKind, n.String()} }

// tableObject is a plain table with the columns, keys and indexes of t. Its state compares
// the columns too, so that a hand-made change does not last.
func tableObject(t *catalog.Table, s *catalog.Schema, protected bool) object {
	parts, shape := make([]string, 0, len(t.Columns)), make([]string, 0, len(t.Columns))
	o := object{key: tableKey(t.Name)}
	for _, c := range t.Columns {
		parts = append(parts, columnSQL(c, protected))
		shape = append(shape, fmt.Sprintf("%s %s %t", c.Name, c.Type.Display, c.NotNull))
		o.needs = append(o.needs, neededBy(c, s)...)
	}
	for _, c := range t.Constraints {
		parts = append(parts, "CONSTRAINT "+quote.Ident(c.Name)+" "+c.Text)
	}
	name := quote.Name(t.Name)
	o.create = fmt.Sprintf("CREATE TABLE %s (\n  %s\n);\nALTER TABLE %s OWNER TO %s;\n",
		name, strings.Join(parts, ",\n  "), name, Owner)
	o.create += serialsSQL(t)
	for _, i := range t.Indexes {
		o.beside = append(o.beside, definition{"index " + i.Name, i.Text})
	}
	if protected {
		o.create += backstopSQL(t.Name)
		o.needs = append(o.needs, protectedFunction)
	}
	o.drop = fmt.Sprintf("DROP TABLE %s CASCADE", name)
	o.state = fmt.Sprintf(`SELECT c.relowner::regrole::text, c.relkind = 'r' AND c.relrowsecurity = %[2]t AND c.relforcerowsecurity = %[2]t
			AND (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid) = %[2]t::int
			AND %[3]s = coalesce((SELECT string_agg(format('%%s %%s %%s', attname, format_type(atttypid, atttypmod),
					CASE WHEN attnotnull THEN 'true' ELSE 'false' END), E'\n' ORDER BY attnum)
				FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped), '')
		FROM pg_class c WHERE c.oid = to_regclass(%[1]s) AND c.relkind <> 'v'`, quote.Literal(name), protected, quote.Literal(strings.Join(shape, "\n")))
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
		fmt.Fprintf(&sql, "CREATE SEQUENCE %[1]s AS %[2]s;\nALTER SEQUENCE %[1]s OWNER TO %[3]s;\nALTER SEQUENCE %[1]s OWNED BY %[4]s.%[5]s;\n"+
			"ALTER TABLE %[4]s ALTER %[5]s SET DEFAULT nextval(%[6]s);\n",
			sequence, typ, Owner, quote.Name(t.Name), quote.Ident(c.Name), quote.Literal(sequence))
	}
	return sql.String()
}

// neededBy returns the keys of the user types and of the collation of a column.
func neededBy(c catalog.Column, s *catalog.Schema) []key {
	keys := typesIn(c.Type.Display, s.Types)
	if s.Collations[c.Collation] != nil {
		keys = append(keys, collationKey(c.Collation))
	}
	return keys
}

// typesIn returns the keys of the user types that a type's text mentions, as itself
// or as the element of an array.
func typesIn(display string, types map[catalog.Name]*catalog.Type) []key {
	plain := strings.ReplaceAll(display, `"`, "")
	var keys []key
	for _, n := range slices.SortedFunc(maps.Keys(types), byName) {
		if mentions(plain, n) || mentions(plain, types[n].Multirange) {
			keys = append(keys, typeKey(n))
		}
	}
	return keys
}

// mentions reports whether a type's text, without quotes, begins with the name.
func mentions(display string, n catalog.Name) bool {
	rest, ok := strings.CutPrefix(display, n.String())
	return ok && (rest == "" || rest[0] == '[' || rest[0] == '(')
}

const foreignKeyKind = "foreign key"

// foreignKeyObjects are the foreign keys of t to relations of the mirror.
func foreignKeyObjects(s *catalog.Schema, t *catalog.Table) []object {
	var objects []object
	for _, f := range t.Foreign {
		target := s.Tables[f.References]
		if target == nil || !provesUnique(target, f.Target) {
			continue
		}
		name := quote.Name(t.Name)
		objects = append(objects, object{
			key:    key{foreignKeyKind, t.Name.String() + "." + f.Name},
			create: fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", name, quote.Ident(f.Name), f.Definition),
			drop:   fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", name, quote.Ident(f.Name)),
			state: fmt.Sprintf(`SELECT c.relowner::regrole::text, true FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
				WHERE c.oid = to_regclass(%s) AND k.conname = %s AND k.contype = 'f'`, quote.Literal(name), quote.Literal(f.Name)),
			needs: []key{tableKey(t.Name), tableKey(f.References)},
		})
	}
	return objects
}

// provesUnique reports whether the columns, in any order, are a key of t.
func provesUnique(t *catalog.Table, columns []string) bool {
	want := slices.Sorted(slices.Values(columns))
	return slices.ContainsFunc(t.Keys, func(k catalog.Key) bool {
		return slices.Equal(slices.Sorted(slices.Values(k.Columns)), want)
	})
}

// commentObject shows the policy where \d+ prints it.
func (t Protected) commentObject(table *catalog.Table) object {
	name := quote.Name(t.Name)
	var set strings.Builder
	fmt.Fprintf(&set, "COMMENT ON TABLE %s IS %s;\n", name, quote.Literal(t.Comment))
	for _, c := range table.Columns {
		fmt.Fprintf(&set, "COMMENT ON COLUMN %s.%s IS %s;\n", name, quote.Ident(c.Name), quote.Literal(t.Columns[c.Name].Comment))
	}
	return object{
		key: key{"comments", t.Name.String()}, create: set.String(), drop: "", needs: []key{tableKey(t.Name)},
		state: fmt.Sprintf(`SELECT relowner::regrole::text, coalesce(obj_description(oid, 'pg_class'), '') = %s
			FROM pg_class WHERE oid = to_regclass(%s)`, quote.Literal(t.Comment), quote.Literal(name)),
	}
}
