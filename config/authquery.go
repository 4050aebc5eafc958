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
