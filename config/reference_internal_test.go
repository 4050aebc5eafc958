package config

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tables are the lists of keys by their markers in docs/policy.md, "<!-- keys: limits -->" and
// "<!-- end -->", between which their rows stand.
var tables = map[string]string{
	"service":    rows("", policyKeys),
	"tls":        rows("tls.", tlsKeys),
	"ledger":     rows("ledger.", ledgerKeys),
	"answers":    rows("answers.", answerKeys),
	"budget":     rows("", budgetKeys),
	"unit":       rows("privacy_unit.", privacyUnitKeys),
	"table":      rows("", tableKeys),
	"analyst":    rows("", analystKeys),
	"auth_query": rows("auth_query.", authQueryKeys),
	"defaults":   rows("defaults.", defaultKeys),
	"limits":     rows("limits.", limitKeys),
}

// rows writes the keys that have a doc as a table.
func rows[T any](prefix string, keys []key[T]) string {
	text := "| key | default | meaning and limits |\n| --- | --- | --- |\n"
	for _, k := range keys {
		if k.doc == "" {
			continue
		}
		name, doc := "`"+prefix+k.name+"`", k.doc
		if strings.Contains(doc, "%s") {
			doc = fmt.Sprintf(doc, k.form.limits)
		}
		if k.former != "" {
			doc += " Formerly `" + k.former + "`, which is as good."
		}
		text += fmt.Sprintf("| %s | %s | %s |\n", name, k.usual, doc)
	}
	return text
}

// TestReference holds the tables of docs/policy.md to the lists of keys, or writes them there
// with -update.
func TestReference(t *testing.T) {
	const page = "../docs/policy.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	want := regexp.MustCompile(`(?s)<!-- keys: (\w+) -->\n.*?<!-- end -->`).ReplaceAllStringFunc(string(text), func(part string) string {
		found++
		name := regexp.MustCompile(`\w+ -->`).FindString(part)
		name = strings.TrimSuffix(name, " -->")
		if tables[name] == "" {
			t.Errorf("%s has keys of %q", page, name)
		}
		return "<!-- keys: " + name + " -->\n" + tables[name] + "<!-- end -->"
	})
	if found != 11 {
		t.Errorf("%d lists of keys in %s", found, page)
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", page, diff)
	}
}

// TestEveryKeyIsDocumented looks for keys without a doc in the rows of others.
func TestEveryKeyIsDocumented(t *testing.T) {
	for _, list := range []struct {
		names []string
		in    string
	}{
		{names(tableDefaultKeys), tables["table"]},
		{names(unitKeys), tables["table"]},
		{names(autoKeys), tables["table"]},
		{names(schemaKeys), tables["service"]},
		{names(schemaDefaultKeys), tables["service"]},
	} {
		for _, name := range list.names {
			if !strings.Contains(list.in, name) {
				t.Errorf("%s is nowhere documented", name)
			}
		}
	}
}

func names[T any](keys []key[T]) (all []string) {
	for _, k := range keys {
		all = append(all, k.name)
	}
	return all
}

// TestDefaultsAreValid reads each default as a policy would state it.
func TestDefaultsAreValid(t *testing.T) {
	n := valid(t, policyKeys) + valid(t, answerKeys) + valid(t, budgetKeys) + valid(t, tableKeys) +
		valid(t, authQueryKeys) + valid(t, defaultKeys) + valid(t, limitKeys)
	if n < 20 {
		t.Errorf("%d defaults", n)
	}
}

func valid[T any](t *testing.T, keys []key[T]) (n int) {
	t.Helper()
	for _, k := range keys {
		text, ok := k.preset()
		if !ok {
			continue
		}
		n++
		d := &decoder{src: newSource("default", []byte(text))}
		root, err := d.parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
			continue
		}
		k.form.read(value{d: d, node: root}, new(T))
		for _, f := range d.faults {
			t.Errorf("%s: its default %s: %v", k.name, text, f)
		}
	}
	return n
}
