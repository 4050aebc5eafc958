package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/mirror"
)

// lackingError says that dpproxy's role may not do in the protected database what it has to.
type lackingError mirror.Rights

// Error implements error.
func (e *lackingError) Error() string {
	return fmt.Sprintf("the role %q of dpproxy lacks rights in the protected database; its owner can grant them there:\n  %s",
		e.Role, strings.Join(e.Missing, "\n  "))
}

// excess says in a line each what dpproxy's role may do in the protected database and need not.
func excess(r mirror.Rights) (lines []string) {
	for _, what := range r.Excess {
		lines = append(lines, fmt.Sprintf("the role %q of dpproxy in the protected database %s: it needs SELECT alone (docs/operations.md)",
			r.Role, what))
	}
	return lines
}

// checkRights tells what dpproxy's role may do and need not; rights that it lacks are an error.
func checkRights(ctx context.Context, plan mirror.Plan, up *pgx.Conn, report func(string)) error {
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
