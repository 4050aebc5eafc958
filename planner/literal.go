package planner

import (
	"fmt"
	"math/big"
	"strings"
)

func literalOf(n int64, whole string) string { return fmt.Sprintf("CAST(%d AS %s)", n, whole) }

const int8Type = "pg_catalog.int8"

func int8Literal(n int64) string { return fmt.Sprintf("CAST(%d AS pg_catalog.int8)", n) }

func numericLiteral(r *big.Rat) string {
	text := r.FloatString(30)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return "CAST(" + text + " AS pg_catalog.numeric)"
}
