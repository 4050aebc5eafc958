package suggest

// DomainOf is domainOf, for tests.
func DomainOf(column string, checks []string) (low, high string, values []string) {
	d := domainOf(column, checks)
	return d.low, d.high, d.values
}

// Scalar is scalar, for tests.
func Scalar(s string) string { return scalar(s) }
