package mirror

import (
	"dpproxy/catalog"
	"dpproxy/mirror/ddl"
)

// SetTries changes how often Sync tries, and returns the function that undoes it.
func SetTries(n int) (undo func()) {
	old := tries
	tries = n
	return func() { tries = old }
}

// Verify is the self-test that ends Sync.
var Verify = verify

// Verifier and Verifies are the two sides of a stored password.
var (
	NewVerifier = newVerifier
	Verifies    = verifies
)

// CheckMirror takes a server_version_num.
var CheckMirror = checkMirror

// Objects is the plan as data.
func Objects(p Plan, s *catalog.Schema, database string) ([]ddl.Object, error) {
	return p.objects(s, database)
}
