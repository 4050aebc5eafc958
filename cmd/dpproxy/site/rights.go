package site

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/mirror"
)

// lackingError says that dpproxy's role lacks rights that it needs in the protected database.
type lackingError mirror.Rights

// Error implements error.
func (e *lackingError) Error() string {
	return fmt.Sprintf("the role %q of dpproxy lacks rights in the protected database; its owner can grant them there:\n  %s",
		e.Role, strings.Join(e.Missing, "\n  "))
}

// excess has a line for each right in the protected database that dpproxy's role does not need.
func excess(r mirror.Rights) (lines []string) {
	for _, what := range r.Excess {
		lines = append(lines, fmt.Sprintf("the role %q of dpproxy in the protected database %s: it needs SELECT alone (docs/operations.md)",
			r.Role, what))
	}
	return lines
}

// CheckRights reports the rights that dpproxy's role does not need; rights that it lacks are an error.
func CheckRights(ctx context.Context, plan mirror.Plan, up *pgx.Conn, report func(string)) error {
	rights, err := mirror.ReadRights(ctx, up, plan)
	if err != nil {
		return err
	}
	for _, line := range excess(rights) {
		report(mirror.Warning + line)
	}
	if len(rights.Missing) > 0 {
		return (*lackingError)(&rights)
	}
	return nil
}
