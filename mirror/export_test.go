package mirror

import (
	"context"

	"github.com/jackc/pgx/v5"

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

// ChangeRecord writes another record.
func ChangeRecord(ctx context.Context, tx pgx.Tx) error {
	r, err := recordOf(ctx, tx)
	if err != nil {
		return err
	}
	r.Site += "another"
	_, err = r.write(ctx, tx)
	return err
}
