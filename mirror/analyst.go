package mirror

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// mark is the comment of the roles that Sync made: roles belong to the whole
// server and have no owner.
const mark = "made by dpproxy"

const noPowers = "NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOREPLICATION NOINHERIT"

// roleState tells a role of ours by its comment, and whether it has no powers but that it may
// take the roles of which it is a member. Nobody may take such a role.
func roleState(name string, login bool, memberOf ...string) string {
	return fmt.Sprintf(`SELECT CASE WHEN shobj_description(oid, 'pg_authid') = %s THEN %s ELSE rolname END,
			NOT (rolsuper OR rolbypassrls OR rolcreatedb OR rolcreaterole OR rolreplication OR rolinherit)
			AND rolcanlogin = %t
			AND coalesce((SELECT string_agg(g.rolname, ',') FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid WHERE m.member = r.oid
				), '') = %s
			AND NOT EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid AND (m.admin_option OR to_jsonb(m) ->> 'inherit_option' = 'true'))
			AND (%t OR NOT EXISTS (SELECT FROM pg_auth_members WHERE roleid = r.oid))
		FROM pg_roles r WHERE rolname = %s`, quote.Literal(mark), quote.Literal(Owner), login, quote.Literal(strings.Join(memberOf, ",")), len(memberOf) == 0, quote.Literal(name))
}

func roleKey(name string) key { return key{"role", name} }

func (p Plan) roleObjects() []object {
	var objects []object
	for _, a := range p.Analysts {
		name := quote.Ident(a.Name)
		objects = append(objects, object{
			key:    roleKey(a.Name),
			create: fmt.Sprintf("CREATE ROLE %s LOGIN %s; COMMENT ON ROLE %s IS %s", name, noPowers, name, quote.Literal(mark)),
			drop:   fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %s", name, name),
			state:  roleState(a.Name, true),
			adopt:  true,
		})
		objects = append(objects, a.asideObjects()...)
	}
	return objects
}

// asideObjects are the role and its right to connect.
func (a Analyst) asideObjects() []object {
	var objects []object
	for _, role := range a.aside() {
		name := quote.Ident(role.Name)
		objects = append(objects, object{
			key: roleKey(role.Name),
			create: fmt.Sprintf("CREATE ROLE %[1]s LOGIN %[2]s; COMMENT ON ROLE %[1]s IS %[3]s; GRANT %[4]s TO %[1]s",
				name, noPowers, quote.Literal(mark), quote.Ident(a.Name)),
			drop:  fmt.Sprintf("DROP OWNED BY %s; DROP ROLE %s", name, name),
			state: roleState(role.Name, true, a.Name),
			needs: []key{roleKey(a.Name)},
			adopt: true,
		})
	}
	return objects
}

func (a Analyst) asideGrants(database string) []object {
	var objects []object
	for _, role := range a.aside() {
		objects = append(objects, grantObject(role.Name, "CONNECT ON DATABASE "+quote.Ident(database), key{}, fmt.Sprintf(
			"pg_database o, aclexplode(o.datacl) x WHERE x.privilege_type = 'CONNECT' AND o.datname = %s", quote.Literal(database))))
	}
	return objects
}

// grantObjects let each analyst connect, make temporary tables, use the schemas, read
// the public tables, the views of dp and the named protected tables, and nothing else.
func (p Plan) grantObjects(of *catalog.Schema, database string) []object {
	schemas := append(p.schemas(of), reserved)
	slices.Sort(schemas)
	var objects []object
	for _, a := range p.Analysts {
		objects = append(objects, grantObject(a.Name, "CONNECT, TEMPORARY ON DATABASE "+quote.Ident(database), key{}, fmt.Sprintf(
			"pg_database o, aclexplode(o.datacl) x WHERE x.privilege_type = 'TEMPORARY' AND o.datname = %s", quote.Literal(database))))
		for _, s := range schemas {
			objects = append(objects, grantObject(a.Name, "USAGE ON SCHEMA "+quote.Ident(s), key{"schema", s}, fmt.Sprintf(
				"pg_namespace o, aclexplode(o.nspacl) x WHERE x.privilege_type = 'USAGE' AND o.nspname = %s", quote.Literal(s))))
		}
		for _, view := range stateViews() {
			objects = append(objects, grantRead(a.Name, catalog.Name{Schema: reserved, Name: viewName(view)}, view.key))
		}
		for _, n := range slices.Concat(a.Tables, p.Public) {
			objects = append(objects, grantRead(a.Name, n, p.relationKey(n)))
		}
		objects = append(objects, a.asideGrants(database)...)
	}
	return objects
}

func grantRead(analyst string, n catalog.Name, on key) object {
	name := quote.Name(n)
	return grantObject(analyst, "SELECT ON "+name, on, fmt.Sprintf(
		"pg_class o, aclexplode(o.relacl) x WHERE x.privilege_type = 'SELECT' AND o.oid = to_regclass(%s)", quote.Literal(name)))
}

func grantObject(analyst, privilege string, on key, granted string) object {
	return object{
		key:    key{"grant", privilege + " TO " + quote.Ident(analyst)},
		create: fmt.Sprintf("GRANT %s TO %s", privilege, quote.Ident(analyst)),
		drop:   fmt.Sprintf("REVOKE %s FROM %s", privilege, quote.Ident(analyst)),
		state: fmt.Sprintf("SELECT %s, true FROM %s AND x.grantee = (SELECT oid FROM pg_roles WHERE rolname = %s)",
			quote.Literal(Owner), granted, quote.Literal(analyst)),
		needs: []key{on, roleKey(analyst)},
	}
}

// A login is what the server has stored about an analyst's role.
type login struct {
	verifier string
	limit    int
	settings []string // name=value, sorted
	// everywhere says that the role has settings for all databases.
	everywhere bool
}

// keepLogin sets password, connection limit and settings where they differ. Postgres lets
// every role change its own password and settings, also where no text shows it.
func keepLogin(ctx context.Context, tx pgx.Tx, database string, a Analyst, report func(string)) error {
	var has login
	err := tx.QueryRow(ctx, `SELECT coalesce(r.rolpassword, ''), r.rolconnlimit,
		coalesce((SELECT array_agg(s ORDER BY s COLLATE "C") FROM pg_catalog.pg_db_role_setting d, unnest(d.setconfig) s
			WHERE d.setrole = r.oid AND d.setdatabase = (SELECT oid FROM pg_catalog.pg_database WHERE datname = $2)), '{}'),
		EXISTS (SELECT FROM pg_catalog.pg_db_role_setting d WHERE d.setrole = r.oid AND d.setdatabase = 0)
		FROM pg_catalog.pg_authid r WHERE r.rolname = $1`, a.Name, database).Scan(&has.verifier, &has.limit, &has.settings, &has.everywhere)
	if err != nil {
		return fmt.Errorf("role %s: %w", a.Name, err)
	}
	changes, err := a.changes(has, database)
	if err != nil || len(changes) == 0 {
		return err
	}
	report("alter role " + a.Name)
	if _, err := tx.Conn().PgConn().Exec(ctx, strings.Join(changes, ";\n")).ReadAll(); err != nil {
		return fmt.Errorf("role %s: %w", a.Name, err)
	}
	return nil
}

// changes are the statements that make the role what it should be.
func (a Analyst) changes(has login, database string) ([]string, error) {
	role := "ALTER ROLE " + quote.Ident(a.Name)
	var changes []string
	if !verifies(has.verifier, a.Password) {
		verifier, err := newVerifier(a.Password)
		if err != nil {
			return nil, err
		}
		changes = append(changes, role+" PASSWORD "+quote.Literal(verifier))
	}
	limit := a.ConnectionLimit
	if limit == 0 {
		limit = -1
	}
	if has.limit != limit {
		changes = append(changes, fmt.Sprintf("%s CONNECTION LIMIT %d", role, limit))
	}
	if has.everywhere {
		changes = append(changes, role+" RESET ALL")
	}
	role += " IN DATABASE " + quote.Ident(database)
	if want := a.settings(); !slices.Equal(has.settings, want) {
		changes = append(changes, role+" RESET ALL")
		for _, name := range slices.Sorted(maps.Keys(a.Settings)) {
			changes = append(changes, fmt.Sprintf("%s SET %s = %s", role, name, quote.Literal(a.Settings[name])))
		}
	}
	return changes, nil
}

// KeepLogin gives the role of an analyst the password and the settings that [Sync] gave it,
// if it has changed them since, and reports whether it had. A session of the role that keeps
// such a change of its own in an open transaction is ended.
//
// The connection must be a superuser's.
func KeepLogin(ctx context.Context, mirror *pgx.Conn, a Analyst) (changed bool, err error) {
	for n := 1; ; n++ {
		err = pgx.BeginFunc(ctx, mirror, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '200ms'"); err != nil {
				return err
			}
			var database string
			if err := tx.QueryRow(ctx, "SELECT pg_catalog.current_database()").Scan(&database); err != nil {
				return err
			}
			return keepLogin(ctx, tx, database, a, func(string) { changed = true })
		})
		if n == keepTries || !contended(err) {
			break
		}
		_, failed := mirror.Exec(ctx, `SELECT pg_catalog.pg_terminate_backend(a.pid, 1000) FROM pg_catalog.pg_stat_activity a JOIN pg_catalog.pg_locks l ON l.pid = a.pid
			WHERE a.usename = $1 AND l.granted AND l.mode = 'RowExclusiveLock'
				AND l.relation IN ('pg_catalog.pg_authid'::regclass, 'pg_catalog.pg_db_role_setting'::regclass)`, a.Name)
		if failed != nil {
			return changed, fmt.Errorf("mirror: %w", errors.Join(err, failed))
		}
	}
	if err != nil {
		return changed, fmt.Errorf("mirror: %w", err)
	}
	return changed, nil
}

// keepTries is how often KeepLogin tries.
const keepTries = 5

// contended reports whether another session changes the role.
func contended(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return busy(err) || ok && refused.Code == internalError // tuple concurrently updated
}

func (a Analyst) settings() []string {
	list := []string{}
	for name, value := range a.Settings {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// Parameters of the SCRAM verifiers that Sync stores; the iterations are Postgres's
// own. The password never travels to the mirror, whose log might keep it.
const (
	scramIterations = 4096
	scramSalt       = 16
)

func newVerifier(password string) (string, error) {
	salt := make([]byte, scramSalt)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	return verifier(password, salt, scramIterations)
}

// verifier computes the text that Postgres keeps in pg_authid (RFC 5803).
func verifier(password string, salt []byte, iterations int) (string, error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	mac := func(text string) []byte {
		h := hmac.New(sha256.New, salted)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(mac("Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", iterations, b64(salt), b64(stored[:]), b64(mac("Server Key"))), nil
}

// verifies reports whether the stored text is of this password.
func verifies(stored, password string) bool {
	rest, ok := strings.CutPrefix(stored, "SCRAM-SHA-256$")
	parameters, _, found := strings.Cut(rest, "$")
	count, salt, colon := strings.Cut(parameters, ":")
	iterations, err := strconv.Atoi(count)
	raw, saltErr := base64.StdEncoding.DecodeString(salt)
	if !ok || !found || !colon || err != nil || saltErr != nil || iterations < 1 {
		return false
	}
	again, err := verifier(password, raw, iterations)
	return err == nil && hmac.Equal([]byte(again), []byte(stored))
}
