package mirror

// FingerprintSQL is the query of FingerprintOf with the OIDs as its parameter.
const FingerprintSQL = fingerprintSQL

// Verify is the self-test that ends Sync.
var Verify = verify

// Verifier and Verifies are the two sides of a stored password.
var (
	NewVerifier = newVerifier
	Verifies    = verifies
)
