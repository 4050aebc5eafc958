// Package suites is a module of its own, so that the test suites of the drivers pgx
// and lib/pq can be run from their own sources, with the versions that it names.
package suites

import (
	_ "github.com/jackc/pgx/v5"
	_ "github.com/lib/pq"
)
