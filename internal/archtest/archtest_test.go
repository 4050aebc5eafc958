package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "dpproxy/"

// allowed is the whole import policy: a package may import these of ours, and no
// other. A package that is not listed fails the test.
var allowed = map[string]string{
	"dp":                        "",
	"pgerr":                     "",
	"pgerr/gen":                 "pgerr",
	"catalog":                   "",
	"mechanisms":                "dp internal/gausssum",
	"brdp":                      "dp mechanisms internal/gausssum",
	"brdp/papertest":            "brdp internal/gausssum",
	"contribution":              "dp mechanisms",
	"accountant":                "dp mechanisms brdp",
	"accountant/history":        "dp accountant",
	"internal/memledger":        "dp accountant accountant/history",
	"accountant/pld":            "dp mechanisms brdp internal/gausssum",
	"accountant/realized":       "dp accountant",
	"accountant/papertest":      "accountant mechanisms",
	"estimate":                  "dp mechanisms",
	"estimate/population":       "mechanisms accountant/realized",
	"accountant/logledger":      "dp accountant accountant/history internal/durable",
	"accountant/redisledger":    "dp accountant accountant/history accountant/logledger internal/durable",
	"accountant/accountanttest": "dp accountant accountant/history",
	"accountant/witness":        "dp accountant accountant/history internal/durable",
	"accountant/faulttest":      "",
	"answers":                   "",
	"core":                      "",
	"fold":                      "",
	"authquery":                 "",
	"advice":                    "catalog",
	"suggest":                   "catalog mirror/introspect parser parser/ast planner/constraint planner/pgtype suggest/words",
	"suggest/words":             "",
	"parser":                    "pgerr parser/ast parser/lex parser/pattern parser/pgtree",
	"parser/pattern":            "",
	"parser/ast":                "pgerr",
	"parser/lex":                "pgerr",
	"parser/pgtree":             "parser/lex",
	"parser/marks":              "parser/pgtree",
	"parser/repair":             "parser/ast parser/lex parser/pgtree",
	"parser/parsertest":         "parser/ast parser/repair",
	"planner": "dp pgerr catalog parser parser/ast parser/marks mechanisms brdp contribution estimate fold planner/pgtype planner/policy " +
		"planner/scalar planner/source planner/sqltext planner/work",
	"planner/source": "core pgerr catalog parser parser/ast planner/pgtype planner/policy planner/scalar planner/sqltext " +
		"planner/work",
	"planner/plannertest": "pgerr catalog planner/policy planner/scalar planner/work internal/pgtemp",
	"planner/pgtype":      "catalog parser/ast",
	"planner/constraint":  "catalog parser parser/ast planner/pgtype planner/scalar",
	"planner/policy":      "pgerr catalog parser parser/ast parser/repair planner/constraint planner/pgtype planner/scalar",
	"planner/sqltext":     "",
	"planner/scalar":      "pgerr catalog parser/ast planner/pgtype planner/work",
	"planner/work":        "pgerr",
	"wire":                "pgerr internal/frugal",
	"mirror":              "pgerr catalog mirror/ddl mirror/introspect mirror/quote mirror/steady",
	"mirror/ddl":          "pgerr catalog mirror/quote",
	"mirror/introspect":   "catalog mirror/quote",
	"mirror/quote":        "catalog",
	"mirror/steady":       "catalog mirror/introspect mirror/quote",
	"mirror/mirrortest":   "catalog internal/pgtemp",
	"proxy": "dp pgerr catalog parser parser/ast parser/lex parser/repair mechanisms brdp estimate accountant answers planner " +
		"planner/pgtype planner/policy planner/scalar planner/work wire mirror proxy/cashier proxy/flight proxy/memory proxy/reader " +
		"proxy/publication proxy/release proxy/replay proxy/settings proxy/survey",
	"proxy/cashier":     "dp pgerr catalog accountant planner planner/policy",
	"proxy/flight":      "answers",
	"proxy/memory":      "answers catalog dp mechanisms planner proxy/release",
	"proxy/release":     "dp contribution mechanisms planner proxy/reader",
	"proxy/publication": "catalog accountant",
	"proxy/replay":      "contribution estimate parser parser/ast parser/lex parser/marks planner",
	"proxy/reader": "dp pgerr catalog parser parser/ast contribution fold mechanisms planner planner/policy planner/scalar " +
		"mirror/introspect mirror/steady internal/frugal",
	"proxy/survey": "dp pgerr catalog parser parser/ast mechanisms accountant accountant/realized survey planner/pgtype planner/policy " +
		"planner/scalar mirror mirror/introspect mirror/steady",
	"survey":            "pgerr parser parser/ast mechanisms accountant accountant/realized estimate/population internal/durable",
	"proxy/settings":    "dp pgerr answers parser planner",
	"config":            "dp catalog answers parser planner planner/policy accountant",
	"cmd/dpproxy":       anything + " cmd/dpproxy/demo cmd/dpproxy/serve cmd/dpproxy/setup cmd/dpproxy/local cmd/dpproxy/ledger",
	"cmd/dpproxy/demo":  anything + " cmd/dpproxy/serve cmd/dpproxy/ledger cmd/dpproxy/listing",
	"cmd/dpproxy/serve": anything + " cmd/dpproxy/local cmd/dpproxy/ledger cmd/dpproxy/drift cmd/dpproxy/auth cmd/dpproxy/site",
	"cmd/dpproxy/setup": anything + " cmd/dpproxy/local cmd/dpproxy/ledger cmd/dpproxy/drift cmd/dpproxy/auth cmd/dpproxy/site " +
		"cmd/dpproxy/listing",
	"cmd/dpproxy/local":    anything + " cmd/dpproxy/ledger cmd/dpproxy/site",
	"cmd/dpproxy/ledger":   anything + " cmd/dpproxy/site cmd/dpproxy/listing",
	"cmd/dpproxy/drift":    anything + " cmd/dpproxy/site",
	"cmd/dpproxy/auth":     anything + " cmd/dpproxy/site",
	"cmd/dpproxy/site":     anything,
	"cmd/dpproxy/listing":  "",
	"internal/archtest":    "internal/shape",
	"internal/await":       "",
	"internal/shape":       "",
	"internal/shape/print": "internal/shape",
	"internal/stattest":    "",
	"internal/durable":     "",
	"internal/frugal":      "",
	"internal/gausssum":    "",
	"internal/pgtemp":      "",
	"internal/redistemp":   "internal/await",
	"internal/kept": "mechanisms brdp accountant accountant/pld " +
		"estimate/population internal/pgtemp proxy/flight",
	"internal/logtest":       "",
	"internal/needs":         "",
	"internal/plantest":      "catalog contribution dp fold mechanisms parser planner planner/policy",
	"internal/wiretest":      "",
	"internal/demo":          "",
	"internal/tpch":          "internal/demo",
	"internal/sqlgen":        "",
	"internal/sitetest":      anything,
	"integration/protocol":   anything,
	"integration/attacks":    anything,
	"integration/privacy":    anything,
	"integration/operations": anything,
	"integration/faults":     anything,
	"integration/bench":      anything,
	"integration/corpora":    anything,
	"integration/truth":      anything,
	"integration/property":   anything,
	"integration/splicing":   anything,
	"integration/clients":    anything,
	"integration/local":      anything,
	"integration/versions":   anything,
}

// anything marks the places where the packages are put together. Packages of the command import those of each other that they list.
const anything = "*"

// onlyImporter names the third-party modules that one package alone may import.
var onlyImporter = map[string]string{
	"github.com/pganalyze/pg_query_go": "parser parser/lex parser/marks parser/pgtree parser/repair",
	"github.com/goccy/go-yaml":         "config suggest/words",
	"github.com/xdg-go/scram":          "wire",
	"github.com/alecthomas/kong":       "cmd/dpproxy cmd/dpproxy/demo",
}

// repeatable packages make up data and statements, serve tests, or draw replicas of released values: they draw no noise of exact values.
var repeatable = []string{"internal/demo", "internal/sqlgen", "internal/stattest", "proxy/replay"}

// core packages know no Postgres.
var core = []string{
	"dp", "mechanisms", "brdp", "estimate", "estimate/population", "accountant", "accountant/pld", "accountant/realized",
	"accountant/history", "accountant/logledger", "accountant/redisledger", "accountant/witness", "internal/memledger",
	"catalog", "planner", "planner/constraint", "planner/pgtype", "planner/policy", "planner/scalar", "planner/source", "planner/sqltext",
}

func TestImports(t *testing.T) {
	eachFile(t, func(name, pkg string, f *ast.File) {
		may, ok := allowed[pkg]
		if !ok {
			t.Errorf("%s: not in the import policy", pkg)
			return
		}
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			dep, ours := strings.CutPrefix(imp, module)
			free := strings.HasPrefix(may, anything) && !strings.HasPrefix(dep, "cmd/")
			if ours && !free && !slices.Contains(strings.Fields(may), dep) {
				t.Errorf("%s: package %s must not import %s", name, pkg, dep)
			}
			for mod, only := range onlyImporter {
				if strings.HasPrefix(imp, mod) && !slices.Contains(strings.Fields(only), pkg) {
					t.Errorf("%s: only package %s may import %s", name, only, mod)
				}
			}
			if strings.HasPrefix(imp, "github.com/jackc/pgx") && slices.Contains(core, pkg) {
				t.Errorf("%s: package %s knows no Postgres", name, pkg)
			}
			if strings.HasPrefix(imp, "math/rand") && !slices.Contains(repeatable, pkg) {
				t.Errorf("%s: noise comes from crypto/rand through mechanisms.Source", name)
			}
		}
	})
}

// TestMechanismsAreFew keeps to two packages the decision how an exact value is
// released: the method Sample(*big.Int, Source) of a mechanisms.Mechanism. Package plantest, which
// is for tests alone, has one without noise.
func TestMechanismsAreFew(t *testing.T) {
	found := map[string]bool{}
	eachFile(t, func(name, pkg string, f *ast.File) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "Sample" || !takesSource(fn) {
				continue
			}
			if pkg == "internal/plantest" {
				continue
			}
			found[pkg] = true
			if pkg != "mechanisms" && pkg != "brdp" {
				t.Errorf("%s: package %s must not draw noise for exact values", name, pkg)
			}
		}
	})
	if len(found) != 2 {
		t.Errorf("mechanisms in %v", found)
	}
}

// takesSource reports whether the last parameter of a function is a Source.
func takesSource(fn *ast.FuncDecl) bool {
	params := fn.Type.Params.List
	if len(params) == 0 {
		return false
	}
	switch t := params[len(params)-1].Type.(type) {
	case *ast.Ident:
		return t.Name == "Source"
	case *ast.SelectorExpr:
		return t.Sel.Name == "Source"
	}
	return false
}

func TestPackageComments(t *testing.T) {
	comments := map[string]int{}
	eachFile(t, func(_, pkg string, f *ast.File) {
		if f.Doc != nil {
			comments[pkg]++
		} else {
			comments[pkg] += 0
		}
	})
	for pkg, n := range comments {
		if n != 1 {
			t.Errorf("%s: %d package comments, want one", pkg, n)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	eachFile(t, func(name, _ string, f *ast.File) {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Name.IsExported() && fn.Doc == nil && !strings.HasPrefix(fn.Name.Name, "Pos") {
				t.Errorf("%s: %s has no doc comment", name, fn.Name.Name)
			}
		}
	})
}

// TestSkipsAreFew keeps skips of tests to one package.
func TestSkipsAreFew(t *testing.T) {
	found := 0
	walkAll(t, func(name string, src []byte) {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) {
				found++
				if path.Dir(name) != "internal/needs" {
					t.Errorf("%v: package %s must not skip a test: internal/needs does", fset.Position(s.Pos()), path.Dir(name))
				}
			}
			return true
		})
	})
	if found == 0 {
		t.Error("no test skips")
	}
}

// TestDeparseIsRare keeps the texts of clients as they are: SQL is edited, and not written anew from its tree. The exception is the name
// under which answers of surveys are kept for good, which must not depend on how a question is spelled.
func TestDeparseIsRare(t *testing.T) {
	const exception = "parser/row_expression.go"
	found := 0
	walk(t, func(name string, src []byte) {
		if strings.Contains(string(src), "Deparse(") {
			found++
			if name != exception {
				t.Errorf("%s writes SQL from a tree", name)
			}
		}
	})
	if found != 1 {
		t.Errorf("%d files write SQL from trees", found)
	}
}

// TestParserKnowsNoUnits keeps the judgment of whose rows are in one place: the parser finds forms, and asks ast.Bonds. Hints may name the
// column of the unit, so that the statements of package repair may too.
func TestParserKnowsNoUnits(t *testing.T) {
	words := regexp.MustCompile(`[A-Z]?[a-z]+`)
	read := 0
	eachFile(t, func(name, pkg string, f *ast.File) {
		if !slices.Contains([]string{"parser", "parser/ast", "parser/lex", "parser/pattern", "parser/pgtree"}, pkg) {
			return
		}
		read++
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if ok && slices.ContainsFunc(words.FindAllString(id.Name, -1), ofPrivacy) {
				t.Errorf("%s: the parser has the name %s", name, id.Name)
			}
			return true
		})
	})
	if read < 60 {
		t.Errorf("only %d files", read)
	}
}

// ofPrivacy reports whether a word is one of the model of privacy.
func ofPrivacy(word string) bool {
	return slices.Contains([]string{"unit", "units", "owner", "owners", "privacy"}, strings.ToLower(word))
}

func TestLengths(t *testing.T) {
	const longestFile, longestFunction = 600, 70
	fset := token.NewFileSet()
	walk(t, func(name string, src []byte) {
		if n := strings.Count(string(src), "\n"); n > longestFile {
			t.Errorf("%s: %d lines, at most %d", name, n, longestFile)
		}
		f, err := parser.ParseFile(fset, name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > longestFunction {
					t.Errorf("%s: %s has %d lines, at most %d", name, fn.Name.Name, n, longestFunction)
				}
			}
		}
	})
}

func TestArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 200 {
		t.Errorf("ARCHITECTURE.md has %d lines, at most 200", n)
	}
	for pkg := range allowed {
		if pkg != "brdp" && !strings.Contains(string(text), "`"+pkg+"`") {
			t.Errorf("ARCHITECTURE.md does not name `%s`", pkg)
		}
	}
}

// TestDocsNameFilesThatExist looks for the source files that documents name with
// their folder.
func TestDocsNameFilesThatExist(t *testing.T) {
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	path := regexp.MustCompile("`([a-z]+(?:/[a-z]+)*/[a-z_]+\\.go)`")
	found := 0
	for _, doc := range append(docs, "../../ARCHITECTURE.md", "../../README.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range path.FindAllStringSubmatch(string(text), -1) {
			found++
			if _, err := os.Stat("../../" + m[1]); err != nil {
				t.Errorf("%s names %s: %v", doc, m[1], err)
			}
		}
	}
	if found == 0 {
		t.Error("no document names a file")
	}
}

// pronoun begins a sentence that should begin with its subject.
var pronoun = regexp.MustCompile(`(?:^|[.:!?]\s+)(?:What|Who|Those)\b[^.]*`)

// TestCommentsNameSubjects reads the comments of code and tests: none has a sentence that begins
// with a pronoun in the place of a noun, which a search would find.
func TestCommentsNameSubjects(t *testing.T) {
	walkAll(t, func(name string, src []byte) {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range f.Comments {
			for _, sentence := range pronoun.FindAllString(group.Text(), -1) {
				t.Errorf("%s: the subject of a sentence is a noun: %q", fset.Position(group.Pos()), sentence)
			}
		}
	})
}

// TestGlossary holds that docs/glossary.md names declarations as they are.
func TestGlossary(t *testing.T) {
	text, err := os.ReadFile("../../docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| (?:[^|]+\\|){2} `([a-z/_]+\\.go)` `(\\w+)` \\|$").FindAllStringSubmatch(string(text), -1)
	if want := strings.Count(string(text), ".go`"); len(rows) != want || want == 0 {
		t.Errorf("%d rows of %d name a declaration", len(rows), want)
	}
	for _, m := range rows {
		src, err := os.ReadFile("../../" + m[1])
		if declared := regexp.MustCompile(`(?m)^\s*(?:type |func (?:\([^)]*\) )?)?` + m[2] + `\b`); err != nil || !declared.Match(src) {
			t.Errorf("%s does not declare %s (%v)", m[1], m[2], err)
		}
	}
}

// eachFile parses every file that is no test.
func eachFile(t *testing.T, visit func(name, pkg string, f *ast.File)) {
	t.Helper()
	walk(t, func(name string, src []byte) {
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		visit(name, path.Dir(name), f)
	})
}

// walk reads every file that is no test.
func walk(t *testing.T, visit func(name string, src []byte)) {
	t.Helper()
	walkAll(t, func(name string, src []byte) {
		if !strings.HasSuffix(name, "_test.go") {
			visit(name, src)
		}
	})
}

// walkAll reads every file of this module.
func walkAll(t *testing.T, visit func(name string, src []byte)) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "tools/") || strings.HasPrefix(name, "bench/") ||
			strings.HasPrefix(name, "integration/clients/suites/") {
			return err
		}
		src, err := fs.ReadFile(root, name)
		if err == nil {
			visit(name, src)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
