package ddl

import "fmt"

// Foundation are the objects that the record of all others needs: the owner, the schema dp and its
// tables, which only superusers read. They are made once and never dropped.
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
			Key: Key{KindTable, "dp.made"},
			Create: `CREATE TABLE dp.made (seq bigint GENERATED ALWAYS AS IDENTITY, kind text, name text,
			digest text NOT NULL, remove text NOT NULL, state text NOT NULL, PRIMARY KEY (kind, name)); ` +
				`ALTER TABLE dp.made OWNER TO ` + Owner,
			State: "SELECT relowner::regrole::text, relkind = 'r' FROM pg_class WHERE oid = to_regclass('dp.made')",
		},
		{
			Key:    Key{KindTable, "dp.confirmed"},
			Create: `CREATE TABLE dp.confirmed (definition text NOT NULL); ALTER TABLE dp.confirmed OWNER TO ` + Owner,
			State:  "SELECT relowner::regrole::text, relkind = 'r' FROM pg_class WHERE oid = to_regclass('dp.confirmed')",
		},
	}
}
