package ddl

import "fmt"

// Foundation are the objects that the record of all others needs: the owner, the schema dp, and the tables of
// [Records], which only superusers read. They are made once and never dropped.
func Foundation() []Object {
	return []Object{
		{
			Key:    roleKey(Owner),
			Create: fmt.Sprintf("CREATE ROLE %s NOLOGIN %s; COMMENT ON ROLE %s IS '%s'", Owner, noPowers, Owner, Mark),
			State:  roleState(Owner, false).state(),
		},
		{
			Key:    schemaKey(Reserved),
			Create: "CREATE SCHEMA dp AUTHORIZATION " + Owner,
			State:  "SELECT nspowner::regrole::text, true FROM pg_namespace WHERE nspname = 'dp'",
		},
		{
			Key:    schemaKey(Records),
			Create: "CREATE SCHEMA dpproxy AUTHORIZATION " + Owner,
			State:  "SELECT nspowner::regrole::text, true FROM pg_namespace WHERE nspname = 'dpproxy'",
		},
		recordTable("made", `seq bigint GENERATED ALWAYS AS IDENTITY, kind text, name text,
			digest text NOT NULL, remove text NOT NULL, state text NOT NULL, PRIMARY KEY (kind, name)`),
		recordTable("confirmed", "definition text NOT NULL"),
	}
}

// recordTable is a table of [Records]. Earlier versions had it in the schema dp, where tools listed it: it is moved.
func recordTable(name, columns string) Object {
	full := Records + "." + name
	return Object{
		Key: Key{KindTable, full},
		Create: fmt.Sprintf("ALTER TABLE IF EXISTS dp.%s SET SCHEMA %s; CREATE TABLE IF NOT EXISTS %s (%s); "+
			"ALTER TABLE %[3]s OWNER TO %[5]s", name, Records, full, columns, Owner),
		State: fmt.Sprintf("SELECT relowner::regrole::text, relkind = 'r' FROM pg_class WHERE oid = to_regclass('%s')", full),
	}
}
