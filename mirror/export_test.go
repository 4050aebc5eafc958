package mirror

import "time"

// FingerprintSQL is the query of FingerprintOf with the OIDs as its parameter.
const FingerprintSQL = fingerprintSQL

// SetPatience changes how long Sync tries, and returns what undoes it.
func SetPatience(d time.Duration) (undo func()) {
	old := patience
	patience = d
	return func() { patience = old }
}

// Verify is the self-test that ends Sync.
var Verify = verify

// Verifier and Verifies are the two sides of a stored password.
var (
	NewVerifier = newVerifier
	Verifies    = verifies
)
