package mirror

import "time"

// FingerprintSQL is the query of FingerprintOf with the OIDs as its parameter.
const FingerprintSQL = fingerprintSQL

// SetLockTimeout changes how long Sync waits, and returns what undoes it.
func SetLockTimeout(d time.Duration) (undo func()) {
	old := lockTimeout
	lockTimeout = d
	return func() { lockTimeout = old }
}

// Verify is the self-test that ends Sync.
var Verify = verify

// Verifier and Verifies are the two sides of a stored password.
var (
	NewVerifier = newVerifier
	Verifies    = verifies
)
