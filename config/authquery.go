package config

// An AuthQuery finds the verifiers of analysts who have none in the policy.
type AuthQuery struct {
	// Connection is a URL without a password; or [AuthData] or [AuthMirror], the connection
	// of that key.
	Connection string
	// PasswordFile holds the password of a connection of its own, where it does not come
	// from the environment.
	PasswordFile string
	// Query is one SELECT: the verifier of the role $1, and the time until which it is
	// valid, or the verifier alone.
	Query string
}

// The connections of the policy that [AuthQuery] can share.
const (
	AuthData   = "data"
	AuthMirror = "mirror"
)

// defaultAuthQuery leaves out roles that may not log in, as pg_shadow does.
const defaultAuthQuery = "SELECT passwd, valuntil FROM pg_catalog.pg_shadow WHERE usename = $1"

func (v value) authQuery() *AuthQuery {
	q := &AuthQuery{Query: defaultAuthQuery}
	v.object(fields{
		"connection": func(v value) {
			if s, _ := scalarText(v.node); s == AuthData || s == AuthMirror {
				q.Connection = s
			} else {
				q.Connection = v.connection()
			}
		},
		"password_file": func(v value) { q.PasswordFile = v.text() },
		"query":         func(v value) { q.Query = v.sql() },
	})
	v.need("connection")
	switch q.Connection {
	case AuthMirror:
		v.need("query") // the roles there have passwords of dpproxy's own
		fallthrough
	case AuthData:
		if q.PasswordFile != "" {
			v.fail("password_file belongs to a connection of its own: %s has one", q.Connection)
		}
	}
	return q
}
