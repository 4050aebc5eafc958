package ddl

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// GrantSession lets a role connect and make temporary tables.
func GrantSession(role, database string) Object {
	return grant(role, "CONNECT, TEMPORARY ON DATABASE "+quote.Ident(database), fmt.Sprintf(
		"pg_database o, aclexplode(o.datacl) x WHERE x.privilege_type = 'TEMPORARY' AND o.datname = %s", quote.Literal(database)))
}

// GrantConnect lets a role connect.
func GrantConnect(role, database string) Object {
	return grant(role, "CONNECT ON DATABASE "+quote.Ident(database), fmt.Sprintf(
		"pg_database o, aclexplode(o.datacl) x WHERE x.privilege_type = 'CONNECT' AND o.datname = %s", quote.Literal(database)))
}

// GrantUsage lets a role name the objects of a schema.
func GrantUsage(role, schema string) Object {
	return grant(role, "USAGE ON SCHEMA "+quote.Ident(schema), fmt.Sprintf(
		"pg_namespace o, aclexplode(o.nspacl) x WHERE x.privilege_type = 'USAGE' AND o.nspname = %s", quote.Literal(schema)),
		schemaKey(schema))
}

// GrantRead lets a role read a table or view, which the object of the key is.
func GrantRead(role string, n catalog.Name, on Key) Object {
	name := quote.Name(n)
	return grant(role, "SELECT ON "+name, fmt.Sprintf(
		"pg_class o, aclexplode(o.relacl) x WHERE x.privilege_type = 'SELECT' AND o.oid = to_regclass(%s)", quote.Literal(name)), on)
}

// grant is a privilege of a role; granted is FROM and WHERE of those that are there.
func grant(role, privilege, granted string, needs ...Key) Object {
	return Object{
		Key:    Key{KindGrant, privilege + " TO " + quote.Ident(role)},
		Create: GrantTo(privilege, []string{role}),
		Drop:   fmt.Sprintf("REVOKE %s FROM %s", privilege, quote.Ident(role)),
		State: fmt.Sprintf("SELECT %s, true FROM %s AND x.grantee = (SELECT oid FROM pg_roles WHERE rolname = %s)",
			quote.Literal(Owner), granted, quote.Literal(role)),
		Needs: append(slices.Clip(needs), roleKey(role)),
		Share: &Share{privilege, role, "SELECT r.rolname FROM " + strings.Replace(granted, " WHERE ",
			" JOIN pg_roles r ON r.oid = x.grantee WHERE ", 1)},
	}
}
