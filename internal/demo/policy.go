package demo

import (
	"bytes"
	"embed"
	"fmt"
	"strconv"
	"text/template"
)

// A Dataset names the data of a demonstration, as its command line does.
type Dataset string

const (
	// Clinic is the generated data set.
	Clinic Dataset = "clinic"
	// NAFLD is the liver study.
	NAFLD Dataset = "nafld"
)

// PolicyValues are the addresses and files of a demonstration's policy.
type PolicyValues struct {
	// Listen is the address that analysts connect to, host:port.
	Listen string
	// Data and Mirror are connection strings of the two databases.
	Data, Mirror string
	// LedgerDir is the folder of the ledger.
	LedgerDir string
	// Analyst is the one analyst's name.
	Analyst string
	// Verifier is the analyst's password as a SCRAM-SHA-256 verifier.
	Verifier string
}

//go:embed clinic.yaml nafld.yaml
var policyFiles embed.FS

// Policy returns the text of the policy file that protects the data set. All values
// are quoted for YAML.
func (d Dataset) Policy(values PolicyValues) ([]byte, error) {
	policies, err := template.New("").
		Funcs(template.FuncMap{"quote": strconv.Quote}). // every escape of Go's is one of YAML's
		ParseFS(policyFiles, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	var text bytes.Buffer
	if err := policies.ExecuteTemplate(&text, string(d)+".yaml", values); err != nil {
		return nil, fmt.Errorf("demo: the policy of %q: %w", d, err)
	}
	return text.Bytes(), nil
}
