package archtest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpproxy/internal/shape"
)

// The limits, each with how it is measured.
const (
	mostMethods    = 40 // of one type
	mostTypeFiles  = 6  // with methods of one type
	mostCircle     = 60 // percent of a package's files that all use each other; an exception counts files
	mostWhats      = 3  // of 1,000 words of a package's comments, which name their subjects with nouns
	mostLongLines  = 0  // of a package, above 140 columns
	smallPackage   = 5  // files; they are read as one, in whatever order
	mostLooseness  = 5  // percent by which the number of an exception may be larger than measured, and one more
	ruleMethods    = "methods"
	ruleTypeFiles  = "files with methods"
	ruleCircle     = "files in one circle"
	ruleWhats      = `"what" in 1,000 words of comments`
	ruleLongLines  = "lines above 140 columns"
	exceptionsFile = "internal/archtest/exceptions_test.go"
)

// exception lets a package, or a type of a package, be beyond a limit.
type exception struct {
	of   string // "planner", "planner.source"
	rule string
	most int
	why  string
}

var measured = sync.OnceValues(func() ([]shape.Package, error) { return shape.Measure(context.Background(), "../..") })

func measure(t *testing.T) []shape.Package {
	t.Helper()
	packages, err := measured()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// place is a package or a type under one of the rules.
type place struct{ of, rule string }

// beyond has every place that is beyond its limit, with its number.
func beyond(packages []shape.Package) map[place]int {
	found := map[place]int{}
	note := func(of, rule string, n, limit int) {
		if n > limit {
			found[place{of, rule}] = n
		}
	}
	for _, p := range packages {
		for _, typ := range p.Types {
			note(p.Path+"."+typ.Name, ruleMethods, typ.Methods, mostMethods)
			note(p.Path+"."+typ.Name, ruleTypeFiles, typ.Files, mostTypeFiles)
		}
		if len(p.Files) > smallPackage && p.CircleShare() > mostCircle {
			note(p.Path, ruleCircle, len(p.Circle), 0)
		}
		note(p.Path, ruleWhats, (1000*p.Whats+p.Words-1)/max(1, p.Words), mostWhats)
		note(p.Path, ruleLongLines, p.LongLines, mostLongLines)
	}
	return found
}

// TestShape keeps the walls inside packages: types that fit on a page, files that can be read
// in some order, words that are the field's.
func TestShape(t *testing.T) {
	for _, complaint := range judge(beyond(measure(t)), exceptions) {
		t.Error(complaint)
	}
}

// judge compares the places beyond a limit with the exceptions.
func judge(found map[place]int, exceptions []exception) (complaints []string) {
	complain := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	listed := map[place]bool{}
	for _, e := range exceptions {
		n := found[place{e.of, e.rule}]
		switch {
		case e.why == "" || listed[place{e.of, e.rule}]:
			complain("%s: %s: an exception has a reason and is listed once", e.of, e.rule)
		case n == 0:
			complain("%s: %s: within the limit now: take its line out of %s", e.of, e.rule, exceptionsFile)
		case n > e.most:
			complain("%s: %d %s, at most %d: an exception can only shrink", e.of, n, e.rule, e.most)
		case 100*e.most > (100+mostLooseness)*n+100:
			complain("%s: %d %s: its exception says %d: lower that in %s", e.of, n, e.rule, e.most, exceptionsFile)
		}
		listed[place{e.of, e.rule}] = true
	}
	for p, n := range found {
		if !listed[p] {
			complain("%s: %d %s, beyond the limit, and no exception in %s", p.of, n, p.rule, exceptionsFile)
		}
	}
	slices.Sort(complaints)
	return complaints
}

func TestJudge(t *testing.T) {
	found := map[place]int{{"a", "x"}: 100}
	for _, c := range []struct {
		most int
		of   string
		want string
	}{
		{100, "a", ""},
		{106, "a", ""},
		{107, "a", "lower"},
		{99, "a", "only shrink"},
		{100, "b", "no exception"},
	} {
		got := strings.Join(judge(found, []exception{{c.of, "x", c.most, "reason"}}), "\n")
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s %d: %q, want %q", c.of, c.most, got, c.want)
		}
	}
	if got := judge(nil, []exception{{"a", "x", 1, "reason"}}); len(got) != 1 || !strings.Contains(got[0], "within the limit") {
		t.Errorf("an exception that nobody needs: %q", got)
	}
	if got := judge(found, []exception{{"a", "x", 100, ""}}); len(got) != 1 || !strings.Contains(got[0], "reason") {
		t.Errorf("an exception without a reason: %q", got)
	}
}

// TestFoldersFormNoCircle looks at the folders of the top, which packages of several may share:
// Go forbids circles of packages alone.
func TestFoldersFormNoCircle(t *testing.T) {
	edges := map[string][]string{}
	for _, p := range measure(t) {
		from := folder(p.Path)
		if from == "cmd" || from == "integration" {
			continue // they put everything together
		}
		edges[from] = append(edges[from], nil...)
		for _, imp := range p.Imports {
			if to := folder(imp); to != from {
				edges[from] = append(edges[from], to)
			}
		}
	}
	for _, circle := range shape.Circles(edges) {
		t.Errorf("folders that import each other: %s", strings.Join(circle, " "))
	}
	if len(edges) < 10 {
		t.Errorf("only %v", slices.Sorted(maps.Keys(edges)))
	}
}

// TestPackagesAreReached keeps nothing on a shelf: a package is linked into the command, or
// serves tests, or internal/kept names its use.
func TestPackagesAreReached(t *testing.T) {
	packages := measure(t)
	reached := map[string]bool{}
	for _, p := range packages {
		if p.Path == "cmd/dpproxy" || p.Path == "internal/kept" {
			for _, pkg := range p.Reaches {
				reached[pkg] = true
			}
		}
	}
	if !reached["proxy"] || !reached["accountant/pld"] {
		t.Fatalf("commands reach %v", slices.Sorted(maps.Keys(reached)))
	}
	for _, p := range packages {
		forTests := folder(p.Path) == "integration" || strings.HasPrefix(p.Path, "internal/") || strings.HasSuffix(p.Path, "test")
		if !reached[p.Path] && !forTests && !p.Command {
			t.Errorf("%s: no command reaches it", p.Path)
		}
	}
}

// folder is the part of a package's path that names its subject.
func folder(pkg string) string {
	first, rest, _ := strings.Cut(pkg, "/")
	if first == "internal" {
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
}
