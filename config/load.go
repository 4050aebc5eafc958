package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// maxSize bounds the file, since it is parsed in memory and recursively. A policy of 1,000 tables with 20 columns each fits in.
const maxSize = 4 << 20

// Load reads the policy file at path.
func Load(path string) (*Policy, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return Parse(path, src)
}

// Parse reads the text of a policy file. Errors show name as the file's name; errors
// of the text are one or more *[Error], joined in the order of the file.
func Parse(name string, src []byte) (*Policy, error) {
	if len(src) > maxSize || !utf8.Valid(src) {
		return nil, fmt.Errorf("%s: a policy is UTF-8 text of at most %d bytes", name, maxSize)
	}
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	d := &decoder{src: newSource(name, src)}
	root, err := d.parse(src)
	if err != nil {
		return nil, err
	}
	p := &Policy{
		TableBudgets:  map[catalog.Name]accountant.Budget{},
		PartitionOf:   map[catalog.Name]catalog.Name{},
		Allowances:    map[catalog.Name]Allowance{},
		TableDefaults: map[catalog.Name]TableDefaults{},
		Schemas:       map[string]SchemaDefaults{},
		source:        d.src,
	}
	preset(defaultKeys, &p.Defaults)
	preset(limitKeys, &p.Limits)
	preset(answerKeys, &p.Answers)
	top := value{d: d, node: root, pos: position{1, 1}}
	decode(top, policyKeys, p)
	d.check(p)
	if len(d.faults) > 0 {
		return nil, d.src.join(d.faults)
	}
	p.complete()
	return p, nil
}

// complete derives values from other keys.
func (p *Policy) complete() {
	if p.SecretFile == "" {
		p.SecretFile = filepath.Join(p.Ledger.Dir, "secret")
	}
	l := &p.Limits
	if l.MaxJoinRows != policy.DefaultJoinRows { // what is said there makes remembered answers other ones
		p.Tables.JoinRows = l.MaxJoinRows
	}
	p.datesOfTables()
	hideUnlisted(p)
	for n, all := range map[*int]int{
		&l.AnalystConnections: l.Connections, &l.AddressConnections: l.Connections,
		&l.AnalystDataConnections: l.DataConnections, &l.AnalystDataQueue: l.DataQueue,
	} {
		if *n == 0 {
			*n = all
		}
	}
	for i, a := range p.Analysts {
		if len(a.Certificates) == 0 && p.ClientCA != "" {
			p.Analysts[i].Certificates = []string{a.Name}
		}
	}
}
