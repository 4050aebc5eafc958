package archtest_test

import (
	"flag"
	"go/ast"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "draw the picture in ARCHITECTURE.md anew")

// TestPicture holds that the picture in ARCHITECTURE.md is of the imports: an arrow from each folder of the top whose packages
// ship to each folder that they import, without arrows that follow from others.
func TestPicture(t *testing.T) {
	const document, begin, end = "../../ARCHITECTURE.md", "```mermaid\n", "```\n"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	drawn, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no picture", document)
	}
	want := picture(folders(shipped(t)))
	if *rewrite {
		if err := os.WriteFile(document, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if drawn != want {
		t.Errorf("the picture in %s is not of the imports; "+
			"draw it with: go test ./internal/archtest -run TestPicture -rewrite\n%s", document, want)
	}
}

// shipped returns the imports of each package that the command links.
func shipped(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	eachFile(t, func(_, pkg string, f *ast.File) {
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if dep, ours := strings.CutPrefix(imp, module); ours && !slices.Contains(all[pkg], dep) {
				all[pkg] = append(all[pkg], dep)
			}
		}
	})
	linked := map[string][]string{}
	var link func(pkg string)
	link = func(pkg string) {
		if _, done := linked[pkg]; done || strings.HasPrefix(pkg, "internal/") {
			return
		}
		linked[pkg] = slices.DeleteFunc(slices.Clone(all[pkg]), func(dep string) bool { return strings.HasPrefix(dep, "internal/") })
		for _, dep := range linked[pkg] {
			link(dep)
		}
	}
	link("cmd/dpproxy")
	return linked
}

// folders joins the packages of a folder of the top.
func folders(imports map[string][]string) map[string][]string {
	all := map[string][]string{}
	for pkg, deps := range imports {
		from := folder(pkg)
		all[from] = append(all[from], nil...)
		for _, dep := range deps {
			if to := folder(dep); to != from && !slices.Contains(all[from], to) {
				all[from] = append(all[from], to)
			}
		}
	}
	return all
}

// picture draws a graph as Mermaid, without the arrows that follow from others.
func picture(imports map[string][]string) string {
	var b strings.Builder
	b.WriteString("graph TD\n")
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		var arrows []string
		for _, dep := range slices.Sorted(slices.Values(imports[pkg])) {
			longer := slices.ContainsFunc(imports[pkg], func(other string) bool { return other != dep && reaches(imports, other, dep) })
			if !longer {
				arrows = append(arrows, dep)
			}
		}
		if arrows != nil {
			b.WriteString("  " + pkg + " --> " + strings.Join(arrows, " & ") + "\n")
		}
	}
	return b.String()
}

// reaches reports whether a package imports another, if only through others.
func reaches(imports map[string][]string, from, to string) bool {
	return from == to || slices.ContainsFunc(imports[from], func(dep string) bool { return reaches(imports, dep, to) })
}
