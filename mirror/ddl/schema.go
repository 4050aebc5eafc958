package ddl

import (
	"fmt"

	"dpproxy/mirror/quote"
)

func schemaKey(name string) Key { return Key{KindSchema, name} }

// Schema is a schema that holds other objects.
func Schema(name string) Object {
	return Object{
		Key:    schemaKey(name),
		Create: fmt.Sprintf("CREATE SCHEMA %s AUTHORIZATION %s", quote.Ident(name), Owner),
		Drop:   fmt.Sprintf("DROP SCHEMA %s", quote.Ident(name)),
		State:  fmt.Sprintf("SELECT nspowner::regrole::text, true FROM pg_namespace WHERE nspname = %s", quote.Literal(name)),
	}
}
