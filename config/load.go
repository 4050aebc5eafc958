package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"dpproxy/accountant"
	"dpproxy/catalog"
)

// maxSize bounds the file, since it is parsed in memory and recursively.
const maxSize = 1 << 20

// Load reads the policy file at path.
func Load(path string) (*Policy, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return Parse(path, src)
}

// Parse reads the text of a policy file. Errors show name as the file's name; those
// about the text are one or more *[Error], joined in the order of the file.
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
		Listen:        "127.0.0.1:6432",
		TableBudgets:  map[catalog.Name]accountant.Budget{},
		PartitionOf:   map[catalog.Name]catalog.Name{},
		Allowances:    map[catalog.Name]Allowance{},
		TableDefaults: map[catalog.Name]TableDefaults{},
		Defaults:      Defaults{EpsilonPico: defaultEpsilon, Mechanism: "auto", Confidence: 0.95, DeltaAtto: defaultDelta, TargetFraction: 1, Refine: true},
		Limits: Limits{
			StatementTimeout: 30 * time.Second, Connections: 100, DataConnections: 8, DataQueue: 1000,
			FailedLogins: 20, IdleSession: 24 * time.Hour, IdleTransaction: time.Hour,
			MaxPublicFanout: 1000, MaxWork: 1_000_000, ReplyGrid: 20 * time.Millisecond,
		},
		Answers: Answers{Remember: true, Keep: 10_000, Refresh: 24 * time.Hour},
		source:  d.src,
	}
	top := value{d: d, node: root, pos: position{1, 1}}
	p.read(top)
	d.check(top, p)
	if len(d.faults) > 0 {
		return nil, d.src.join(d.faults)
	}
	p.complete()
	return p, nil
}

// complete fills in what follows from other keys.
func (p *Policy) complete() {
	if p.SecretFile == "" {
		p.SecretFile = filepath.Join(p.Ledger.Dir, "secret")
	}
	l := &p.Limits
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

// parse returns the root of the only document.
func (d *decoder) parse(src []byte) (ast.Node, error) {
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil, d.syntax(err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, d.src.fault(position{1, 1}, "a policy is one YAML document")
	}
	return file.Docs[0].Body, nil
}

// syntax turns an error of the parser into ours: the parser's own excerpt, which
// has the lines around the fault, may show secrets.
func (d *decoder) syntax(err error) error {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return d.src.fault(position{1, 1}, "this is not YAML")
	}
	place := at(e.GetToken())
	if d.src.secretNear(place.line) {
		fault := d.src.fault(place, quotedText.ReplaceAllString(e.GetMessage(), `"..."`))
		fault.excerpt = withheld
		return fault
	}
	return d.src.show(d.src.fault(place, e.GetMessage()))
}

// read fills the policy; each key of the file has its line here.
func (p *Policy) read(v value) {
	v.object(fields{
		"listen":               func(v value) { p.Listen = v.address() },
		"health":               func(v value) { p.Health = v.address() },
		"tls":                  func(v value) { v.tls(p) },
		"data":                 func(v value) { p.Data = v.connection() },
		"data_password_file":   func(v value) { p.DataPasswordFile = v.text() },
		"mirror":               func(v value) { p.Mirror = v.connection() },
		"mirror_admin":         func(v value) { p.MirrorAdmin = v.connection() },
		"mirror_password_file": func(v value) { p.MirrorPasswordFile = v.text() },
		"ledger":               func(v value) { p.Ledger = v.ledger() },
		"secret_file":          func(v value) { p.SecretFile = v.text() },
		"privacy_unit":         func(v value) { p.Tables.Unit, p.Unit = v.unit() },
		"tables":               func(v value) { v.tables(p) },
		"analysts":             func(v value) { p.Analysts = v.analysts() },
		"auth_query":           func(v value) { p.AuthQuery = v.authQuery() },
		"defaults":             func(v value) { v.defaults(&p.Defaults) },
		"limits":               func(v value) { v.limits(&p.Limits) },
		"answers":              func(v value) { v.answers(&p.Answers) },
		"brdp":                 func(v value) { p.Recycling = v.bool() },
	})
}
