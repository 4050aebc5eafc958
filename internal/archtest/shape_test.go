package archtest_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpproxy/internal/shape"
)

// The limits of a package, each with how it is measured.
const (
	mostMethods   = 40 // of one type
	mostTypeFiles = 6  // with methods of one type
	mostCircle    = 60 // percent of the files, all of which use each other
	mostUnnamed   = 40 // files of a package whose comment does not name all of them
	mostAgainst   = 25 // percent of the uses of a file by another, against the order in which the package's comment names all files
	mostWhats     = 3  // of 1,000 words of comments, which name their subjects with nouns
)

var measured = sync.OnceValues(func() ([]shape.Package, error) { return shape.Measure(context.Background(), "../..") })

func measure(t *testing.T) []shape.Package {
	t.Helper()
	packages, err := measured()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// TestShape keeps the walls inside packages: types that fit on a page, files that can be read
// in some order, words that are the field's.
func TestShape(t *testing.T) {
	for _, p := range measure(t) {
		limit := func(of, what string, n, most int) {
			if n > most {
				t.Errorf("%s: %d %s, at most %d", of, n, what, most)
			}
		}
		for _, typ := range p.Types {
			limit(p.Path+"."+typ.Name, "methods", typ.Methods, mostMethods)
			limit(p.Path+"."+typ.Name, "files with methods", typ.Files, mostTypeFiles)
		}
		unnamed := p.Unordered()
		if len(p.Files) > mostUnnamed && len(unnamed) > 0 {
			t.Errorf("%s has %d files: its comment names them from the ground up, but for %v", p.Path, len(p.Files), unnamed)
		}
		if len(p.Order) > 0 && len(unnamed) == 0 {
			limit(p.Path, "percent of uses against the order of its files", p.AgainstShare(), mostAgainst)
		} else {
			limit(p.Path, "percent of its files in one circle", p.CircleShare(), mostCircle)
		}
		limit(p.Path, `"what" in 1,000 words of comments`, (1000*p.Whats+p.Words-1)/max(1, p.Words), mostWhats)
		limit(p.Path, "lines above 140 columns", p.LongLines, 0)
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
