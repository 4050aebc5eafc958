package ddl

import (
	"fmt"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
	"dpproxy/pgerr"
)

var protectedKey = Key{KindFunction, "dp.protected"}

// backstopSQL makes a relation one that can be described but not read, by its owner
// neither.
func backstopSQL(n catalog.Name) string {
	name := quote.Name(n)
	return fmt.Sprintf(`ALTER TABLE %[1]s ENABLE ROW LEVEL SECURITY;
ALTER TABLE %[1]s FORCE ROW LEVEL SECURITY;
CREATE POLICY dp ON %[1]s FOR SELECT USING (dp.protected(%[2]s));
`, name, quote.Literal(n.String()))
}

// Backstop are the functions that raise: that of row security, and the one that refuses a statement.
// They are IMMUTABLE, so that the planner already fails.
func Backstop() []Object {
	return []Object{
		raising(protectedKey, "dp.protected(text)", `
			RAISE EXCEPTION USING ERRCODE = '`+pgerr.Backstop.String()+`',
				MESSAGE = pg_catalog.format('relation "%s" is protected: it cannot be read here', $1),
				HINT = 'write the aggregate in the statement itself, in the syntax of Postgres 16';`),
		raising(Key{KindFunction, "dp.raise"}, "dp.raise(text)", `
			RAISE EXCEPTION USING ERRCODE = 'PB000', MESSAGE = coalesce($1, '');`),
	}
}

func raising(k Key, signature, body string) Object {
	return Object{
		Key: k,
		Create: fmt.Sprintf(`CREATE FUNCTION %[1]s RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $dp$
		BEGIN%[2]s
		END $dp$;
ALTER FUNCTION %[1]s OWNER TO %[3]s`, signature, body, Owner),
		Drop: fmt.Sprintf("DROP FUNCTION %s CASCADE", signature),
		State: fmt.Sprintf(`SELECT proowner::regrole::text, provolatile = 'i' AND NOT prosecdef
			FROM pg_proc WHERE oid = to_regprocedure(%s)`, quote.Literal(signature)),
	}
}
