package ddl

import "fmt"

// Foundation are the objects that all others need: the owner and the schema dp. They are made once and never dropped.
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
	}
}
