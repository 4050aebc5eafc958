package faulttest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuaranteesNameTests checks that the tests that docs/ledger.md names exist,
// and that every invariant names one.
func TestGuaranteesNameTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z]+)`")
	found := named.FindAllStringSubmatch(string(text), -1)
	for _, name := range found {
		if !hasTest(t, filepath.Join("../..", name[1]), name[2]) {
			t.Errorf("there is no test %s in %s", name[2], name[1])
		}
	}
	_, invariants, _ := strings.Cut(string(text), "## Invariants")
	parts := regexp.MustCompile(`\*\*I\d+\. `).Split(invariants, -1)[1:]
	if len(parts) != 15 {
		t.Errorf("%d invariants, want 15", len(parts))
	}
	for i, part := range parts {
		if !named.MatchString(part) {
			t.Errorf("invariant I%d names no test", i+1)
		}
	}
}

// hasTest says whether a package has a test.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "func "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
