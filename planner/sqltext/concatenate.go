package sqltext

import "strings"

// Concatenated joins SQL of bytes. Many parts are joined in halves, so that Postgres does not copy the same bytes once for each part.
func Concatenated(parts []string) string {
	const few = 16
	if n := len(parts) / 2; len(parts) > few {
		return "(" + Concatenated(parts[:n]) + ") || (" + Concatenated(parts[n:]) + ")"
	}
	return strings.Join(parts, " || ")
}
