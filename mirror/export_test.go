package mirror

// Verify is the self-test that ends Sync.
var Verify = verify

// Verifier and Verifies are the two sides of a stored password.
var (
	NewVerifier = newVerifier
	Verifies    = verifies
)
