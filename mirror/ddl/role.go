package ddl

import (
	"fmt"
	"strings"

	"dpproxy/mirror/quote"
)

// mark is the comment of the roles of a mirror: roles belong to the whole
// server and have no owner.
const mark = "made by dpproxy"

const noPowers = "NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION NOINHERIT"

func roleKey(name string) Key { return Key{KindRole, name} }

// Role is a login role without powers.
func Role(name string) Object {
	return Object{
		Key: roleKey(name),
		Create: fmt.Sprintf("CREATE ROLE %[1]s LOGIN %[2]s; COMMENT ON ROLE %[1]s IS %[3]s",
			quote.Ident(name), noPowers, quote.Literal(mark)),
		Drop:  dropRole(name),
		State: roleState(name, true),
		Adopt: true,
	}
}

// MemberRole is a login role that may take another one, and has no other power.
func MemberRole(name, of string) Object {
	return Object{
		Key: roleKey(name),
		Create: fmt.Sprintf("CREATE ROLE %[1]s LOGIN %[2]s; COMMENT ON ROLE %[1]s IS %[3]s; GRANT %[4]s TO %[1]s",
			quote.Ident(name), noPowers, quote.Literal(mark), quote.Ident(of)),
		Drop:  dropRole(name),
		State: roleState(name, true, of),
		Needs: []Key{roleKey(of)},
		Adopt: true,
	}
}

func dropRole(name string) string {
	return fmt.Sprintf("DROP OWNED BY %[1]s; DROP ROLE %[1]s", quote.Ident(name))
}

// roleState tells a role of ours by its comment, and whether it has no powers but that it may
// take the roles of which it is a member. Nobody may take such a role.
func roleState(name string, login bool, memberOf ...string) string {
	return fmt.Sprintf(`SELECT CASE WHEN shobj_description(oid, 'pg_authid') = %s THEN %s ELSE rolname END,
			NOT (rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolreplication OR rolinherit)
			AND rolcanlogin = %t
			AND coalesce((SELECT string_agg(g.rolname, ',') FROM pg_auth_members m `+
		`JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid
				), '') = %s
			AND NOT EXISTS (SELECT FROM pg_auth_members m `+
		`WHERE m.member = r.oid AND (m.admin_option OR to_jsonb(m) ->> 'inherit_option' = 'true'))
			AND (%t OR NOT EXISTS (SELECT FROM pg_auth_members WHERE roleid = r.oid))
		FROM pg_roles r WHERE rolname = %s`,
		quote.Literal(mark), quote.Literal(Owner), login,
		quote.Literal(strings.Join(memberOf, ",")), len(memberOf) == 0, quote.Literal(name))
}
