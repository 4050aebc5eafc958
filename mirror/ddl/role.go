package ddl

import (
	"fmt"
	"strings"

	"dpproxy/mirror/quote"
)

// Mark is the comment of the roles of a mirror: roles belong to the whole
// server and have no owner.
const Mark = "made by dpproxy"

const noPowers = "NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION NOINHERIT"

func roleKey(name string) Key { return Key{KindRole, name} }

// Role is a login role without powers.
func Role(name string) Object {
	among := roleState(name, true)
	return Object{
		Key: roleKey(name),
		Create: fmt.Sprintf("CREATE ROLE %[1]s LOGIN %[2]s; COMMENT ON ROLE %[1]s IS %[3]s",
			quote.Ident(name), noPowers, quote.Literal(Mark)),
		Drop:  dropRole(name),
		State: among.state(),
		Among: among,
		Adopt: true,
	}
}

// MemberRole is a login role that may take another one, and has no other power.
func MemberRole(name, of string) Object {
	among := roleState(name, true, of)
	return Object{
		Key: roleKey(name),
		Create: fmt.Sprintf("CREATE ROLE %[1]s LOGIN %[2]s; COMMENT ON ROLE %[1]s IS %[3]s; GRANT %[4]s TO %[1]s",
			quote.Ident(name), noPowers, quote.Literal(Mark), quote.Ident(of)),
		Drop:  dropRole(name),
		State: among.state(),
		Among: among,
		Needs: []Key{roleKey(of)},
		Adopt: true,
	}
}

func dropRole(name string) string {
	return fmt.Sprintf("DROP OWNED BY %[1]s; DROP ROLE %[1]s", quote.Ident(name))
}

// roleState tells a role of ours by its comment, and whether it has no powers but that it may
// take the roles of which it is a member. Nobody may take such a role.
func roleState(name string, login bool, memberOf ...string) *Among {
	return &Among{
		Query: rolesSQL,
		Row:   fmt.Sprintf("%s, %t, %s", quote.Literal(name), login, quote.Literal(strings.Join(memberOf, ","))),
	}
}

// rolesSQL selects the states of roles, each by its row of name, whether it may log in, and of which it is a member.
var rolesSQL = `SELECT w.place,
		CASE WHEN d.description = ` + quote.Literal(Mark) + ` THEN ` + quote.Literal(Owner) + ` ELSE r.rolname::text END,
		NOT (r.rolsuper OR r.rolbypassrls OR r.rolcreatedb OR r.rolcreaterole OR r.rolreplication OR r.rolinherit)
		AND r.rolcanlogin = w.login
		AND coalesce((SELECT string_agg(g.rolname, ',') FROM pg_auth_members m
			JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid), '') = w.member_of
		AND NOT EXISTS (SELECT FROM pg_auth_members m
			WHERE m.member = r.oid AND (m.admin_option OR to_jsonb(m) ->> 'inherit_option' = 'true'))
		AND (w.member_of = '' OR NOT EXISTS (SELECT FROM pg_auth_members m WHERE m.roleid = r.oid))
	FROM (VALUES %s) AS w (place, name, login, member_of) JOIN pg_roles r ON r.rolname = w.name::name
	LEFT JOIN pg_shdescription d ON d.objoid = r.oid AND d.classoid = 'pg_authid'::regclass`
