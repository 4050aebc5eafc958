package suggest

import "dpproxy/mirror/introspect"

// Candidates are those of a catalogue, for tests.
func Candidates(s *introspect.Survey) []Candidate { return read(s).candidates() }

// DomainOf is domainOf, for tests.
func DomainOf(column string, checks []string) (low, high string, values []string) {
	d := domainOf(column, checks)
	return d.low, d.high, d.values
}

// Scalar is scalar, for tests.
func Scalar(s string) string { return scalar(s) }
