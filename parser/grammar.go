package parser

import (
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// Grammar returns the version of Postgres whose grammar reads statements, such as 16.1.
func Grammar() (string, error) {
	tree, err := pg.Parse("")
	if err != nil {
		return "", fmt.Errorf("reading the grammar's version: %w", err)
	}
	return fmt.Sprintf("%d.%d", tree.GetVersion()/10_000, tree.GetVersion()%10_000), nil
}
