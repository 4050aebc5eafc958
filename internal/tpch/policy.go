package tpch

import (
	_ "embed"
	"strconv"
	"strings"
)

// PolicyValues are the blanks of the policy.
type PolicyValues struct {
	// Epsilon is that of the customer's budget, with a delta of 1e-6.
	Epsilon float64
	// Verifier is the password of the analyst ana as a SCRAM-SHA-256 verifier.
	Verifier string
}

//go:embed policy.yaml
var policy string

// Policy returns the text of a policy file that protects the customers, without the
// addresses of its servers and of its ledger.
func Policy(values PolicyValues) string {
	return strings.NewReplacer("EPSILON", strconv.FormatFloat(values.Epsilon, 'f', -1, 64), "VERIFIER", values.Verifier).Replace(policy)
}
