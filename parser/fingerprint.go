package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
)

// Fingerprint digests the statement without its constants, comments and spelling: two
// statements that ask for the same, of other values, have the same one.
func (s *Statement) Fingerprint() (string, error) { return pg.Fingerprint(lex.Uncommented(s.Text)) }
