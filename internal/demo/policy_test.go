package demo_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"dpproxy/internal/demo"
)

// values has characters that a template without quoting would stumble over.
var values = demo.PolicyValues{
	Listen:    "127.0.0.1:6432",
	Data:      `host=/tmp/a dbname=clinic user=dpproxy_reader password='it''s "x": #1\ '`,
	Mirror:    "postgres://dpproxy_mirror@127.0.0.1:5432/mirror?sslmode=disable",
	LedgerDir: "/tmp/a folder/ledger",
	Analyst:   "ana",
	Verifier:  "SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy",
}

type policy struct {
	Listen, Data, Mirror string
	Ledger               struct{ Dir string }
	PrivacyUnit          struct {
		Name   string
		Budget budget
	} `yaml:"privacy_unit"`
	Tables   map[string]tablePolicy
	Analysts map[string]struct {
		Password string
		Tables   []string
		Budget   budget
		Publish  bool
	}
	Defaults struct{ Epsilon, Confidence float64 }
}

type budget struct{ Epsilon, Delta float64 }

type tablePolicy struct {
	Public        bool
	Unit          any
	Budget        budget
	MaxRows       any            `yaml:"max_rows"` // a number, or auto
	MaxPartitions int            `yaml:"max_partitions"`
	Columns       map[string]any // "hidden", or a map with bounds, with values or with nothing
}

// declared returns a column's public keys as text; none means that it has none.
func (p tablePolicy) declared(column string) []string {
	options, _ := p.Columns[column].(map[string]any)
	list, _ := options["values"].([]any)
	texts := make([]string, len(list))
	for i, value := range list {
		texts[i] = fmt.Sprint(value)
	}
	return texts
}

func readPolicy(t *testing.T, d demo.Dataset) policy {
	t.Helper()
	text, err := d.Policy(values)
	if err != nil {
		t.Fatal(err)
	}
	var p policy
	if err := yaml.UnmarshalWithOptions(text, &p, yaml.Strict()); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func source(t *testing.T, d demo.Dataset) demo.Source {
	t.Helper()
	if d == demo.Clinic {
		return small(t, 1)
	}
	return inventedStudy(t)
}

var datasets = []demo.Dataset{demo.Clinic, demo.NAFLD}

func TestPolicyHoldsItsValues(t *testing.T) {
	for _, d := range datasets {
		p := readPolicy(t, d)
		got := demo.PolicyValues{
			Listen: p.Listen, Data: p.Data, Mirror: p.Mirror, LedgerDir: p.Ledger.Dir,
			Analyst: values.Analyst, Verifier: p.Analysts[values.Analyst].Password,
		}
		if diff := cmp.Diff(values, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", d, diff)
		}
	}
}

func TestPolicyOfUnknownDataset(t *testing.T) {
	if text, err := demo.Dataset("taxi").Policy(values); err == nil {
		t.Errorf("there is a policy:\n%s", text)
	}
}

// TestPolicyNamesEveryColumn compares the policies with the loaded tables: a column that
// only one of them knows is a mistake.
func TestPolicyNamesEveryColumn(t *testing.T) {
	for _, d := range datasets {
		p := readPolicy(t, d)
		for _, table := range source(t, d).Tables() {
			rules, found := p.Tables[table.Name]
			delete(p.Tables, table.Name)
			if !found || rules.Public {
				if table.Name != "hospitals" {
					t.Errorf("%s: %s is not protected", d, table.Name)
				}
				continue
			}
			names := make([]string, len(table.Columns))
			for i, c := range table.Columns {
				names[i] = c.Name
			}
			slices.Sort(names)
			known := make([]string, 0, len(rules.Columns))
			for name := range rules.Columns {
				known = append(known, name)
			}
			slices.Sort(known)
			if diff := cmp.Diff(names, known); diff != "" {
				t.Errorf("%s: columns of %s (-table +policy):\n%s", d, table.Name, diff)
			}
			stated := rules.MaxRows != nil && (rules.MaxRows == "auto") == (rules.MaxPartitions == 0)
			if !stated || rules.Budget.Epsilon == 0 || rules.Unit == nil {
				t.Errorf("%s: %s lacks a unit, a cap or a budget", d, table.Name)
			}
		}
		if len(p.Tables) != 0 {
			t.Errorf("%s: the policy has tables that are not loaded: %v", d, p.Tables)
		}
	}
}

func TestPolicyDeclaresTheKeys(t *testing.T) {
	for _, d := range datasets {
		expectDeclaredKeys(t, d, source(t, d))
	}
}

// expectDeclaredKeys fails if a column with declared values holds another one: its
// rows would silently be in no group.
func expectDeclaredKeys(t *testing.T, d demo.Dataset, s demo.Source) {
	t.Helper()
	p := readPolicy(t, d)
	keys := map[string][]string{}
	for name, rules := range p.Tables {
		for column := range rules.Columns {
			keys[name+"."+column] = rules.declared(column)
		}
	}
	stray := map[string]bool{}
	eachRow(t, s, func(table demo.Table, row []any) {
		for i, c := range table.Columns {
			if k := keys[table.Name+"."+c.Name]; len(k) > 0 && row[i] != nil && !slices.Contains(k, fmt.Sprint(row[i])) {
				stray[fmt.Sprintf("%s.%s %v", table.Name, c.Name, row[i])] = true
			}
		}
	})
	if len(stray) > 0 {
		t.Errorf("%s: not declared: %v", d, stray)
	}
	if column := map[demo.Dataset]string{demo.Clinic: "labs.test", demo.NAFLD: "events.event"}[d]; len(keys[column]) == 0 {
		t.Errorf("%s: the policy declares no values of %s", d, column)
	}
}

// TestPolicyBoundsFitTheClinic: a value that a bound cuts off would make the
// demonstration's true answers differ from the noisy ones by more than noise.
func TestPolicyBoundsFitTheClinic(t *testing.T) {
	p, checked := readPolicy(t, demo.Clinic), 0
	eachRow(t, small(t, 1), func(table demo.Table, row []any) {
		for i, c := range table.Columns {
			options, _ := p.Tables[table.Name].Columns[c.Name].(map[string]any)
			bounds, _ := options["bounds"].([]any)
			value, isNumber := number(row[i])
			if bounds == nil || !isNumber {
				continue
			}
			checked++
			lo, _ := number(bounds[0])
			hi, _ := number(bounds[1])
			if value < lo || value > hi {
				t.Errorf("%s.%s: %v is outside %v", table.Name, c.Name, value, bounds)
			}
		}
	})
	if want := demo.SmallSize.Patients + demo.SmallSize.Visits; checked <= want {
		t.Errorf("only %d values have bounds, want more than %d", checked, want)
	}
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int32:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
