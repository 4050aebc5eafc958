package archtest_test

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// writesNames lists the functions and constants, by their files, that write the name of a relation into SQL, in packages that have
// connections to Postgres, with what executes it.
var writesNames = map[string]string{
	"mirror/rows.go copyTable":                 ofSteady,
	"mirror/rows.go rowsSQL":                   ofSteady,
	"mirror/copies.go version":                 ofSteady,
	"proxy/survey/reading.go newRead":          ofSteady,
	"cmd/dpproxy/setup/checkdata.go alongWay":  ofSteady,
	"cmd/dpproxy/setup/checkdata.go noMatch":   ofSteady,
	"cmd/dpproxy/setup/checkdata.go otherUnit": ofSteady,
	"cmd/dpproxy/setup/explain.go fewRows":     ofSteady,
	"mirror/steady/statements.go Lock":         ofSteady,
	"mirror/rows.go CountRows":                 ofMirror,
	"mirror/published.go asText":               ofMirror,
	"mirror/published.go disowned":             ofMirror,
	"mirror/published.go inTheWay":             ofMirror,
	"mirror/published.go keepReaders":          ofMirror,
	"proxy/publishing.go changed":              ofMirror,
	"mirror/repeats.go CountRepeats":           ofMirror,
	"mirror/lengths.go MeasureTexts":           ofMirror,
	"mirror/records.go formerTexts":            ofMirror,
	"mirror/records.go moveRecords":            ofMirror,
	"mirror/local.go ShowLocal":                ofMirror,
	"mirror/objectsof.go dropAnswers":          ofMirror,
	"mirror/local.go make":                     ofMirror,
	"mirror/reconcile.go lock":                 ofMirror,
	"mirror/verify.go attempts":                ofMirror,
	"proxy/concealed.go describeConcealed":     ofMirror,
	"proxy/concealed.go concealedSQL":          ofMirror,
	"proxy/forecast.go count":                  ofMirror,
	"proxy/replay/statement.go NewStatement":   ofMirror,
	"cmd/dpproxy/setup/effects.go plan":        onlyPlanned,
	"cmd/dpproxy/demo/demo.go announce":        onlyPrinted,
	"mirror/introspect/compression.go Warning": onlyPrinted,
	"advice/advice.go key":                     onlyPrinted,
	"advice/advice.go options":                 onlyPrinted,
}

// The ends of such SQL. That of the planner is a value, and only package proxy/reader executes it.
const (
	ofSteady    = "the real database, in a transaction of mirror/steady"
	ofMirror    = "the mirror"
	onlyPlanned = "the planner, as the statement of an analyst"
	onlyPrinted = "a person"
)

// opens are the files that may name how a transaction with a snapshot is opened. Packages introspect and advice, and
// sources.go and origins.go, read the catalogue alone.
var opens = []string{
	"mirror/steady/open.go", "mirror/steady/statements.go", "mirror/introspect/read.go", "mirror/introspect/survey.go", "mirror/sources.go",
	"mirror/origins.go",
	"advice/read.go",
}

// namesRelation finds the end of SQL behind which a program writes a relation.
var namesRelation = regexp.MustCompile(`\b(FROM|JOIN|COPY|TABLE|ONLY) (%(\[\d+\])?[sv]|$)`)

// TestRowsAreReadSteadily holds that rows of the real database are read by name in transactions of mirror/steady alone.
func TestRowsAreReadSteadily(t *testing.T) {
	found := map[string]bool{}
	eachFile(t, func(name, pkg string, f *ast.File) {
		if !slices.ContainsFunc([]string{"mirror", "proxy", "cmd", "suggest", "advice", "authquery"}, func(top string) bool {
			return pkg == top || strings.HasPrefix(pkg, top+"/")
		}) || pkg == "mirror/ddl" { // whose statements are the mirror's
			return
		}
		for _, d := range f.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				if opensSnapshot(n) && !slices.Contains(opens, name) {
					t.Errorf("%s opens a transaction with a snapshot: mirror/steady does", name+" "+nameOf(d))
				}
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && namesRelation.MatchString(unquoted(lit)) {
					found[name+" "+nameOf(d)] = true
				}
				return true
			})
		}
	})
	for _, place := range slices.Sorted(maps.Keys(found)) {
		if writesNames[place] == "" {
			t.Errorf("%s writes the name of a relation into SQL: say where it is executed", place)
		}
	}
	for place := range writesNames {
		if !found[place] {
			t.Errorf("%s writes no name of a relation any more", place)
		}
	}
}

// opensSnapshot reports whether a node names one of the ways to open a transaction whose statements share a snapshot.
func opensSnapshot(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		return slices.Contains([]string{"Snapshot", "RepeatableRead", "Serializable"}, n.Sel.Name)
	case *ast.BasicLit:
		return strings.Contains(n.Value, "ISOLATION LEVEL")
	}
	return false
}

// nameOf names a function, or the first value of a group of declarations.
func nameOf(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				return v.Names[0].Name
			}
		}
	}
	return "?"
}

// unquoted is the text of a literal.
func unquoted(lit *ast.BasicLit) string {
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return lit.Value
	}
	return text
}
