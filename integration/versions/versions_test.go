package versions_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpproxy/internal/needs"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror"
	"dpproxy/mirror/introspect"
)

var (
	versions = flag.Bool("versions", false, "run the tests on all versions (make versions)")
	only     = flag.String("only", "", "pairs of versions to run on, such as 13/18,18/15; empty: all")
	ofSuites = flag.String("suites", "", "suites to run, such as mirror,reader; empty: all")
)

// A pair is the version of the protected database and that of its mirror.
type pair struct{ data, mirror int }

func (p pair) String() string { return fmt.Sprintf("%d/%d", p.data, p.mirror) }

// pairs are the tested ones: each version with itself where a mirror can have it, and versions
// that are far apart.
var pairs = []pair{{13, 15}, {13, 18}, {14, 15}, {14, 18}, {15, 15}, {16, 16}, {17, 17}, {18, 15}, {18, 18}}

// A suite is the tests of a package that are run.
type suite struct{ name, folder, tests string }

// suites are of all packages whose tests start a server, but for those in elsewhere.
var suites = []suite{
	{"mirror", "mirror", "."},
	{"introspection", "mirror/introspect", "."},
	{"types", "planner/pgtype", "."},
	{"constraints", "planner/constraint", "."},
	{"expressions", "planner/scalar", "."},
	{"planner", "planner", "."},
	{"source", "planner/source", "."},
	{"sqltext", "planner/sqltext", "."},
	{"proxy", "proxy", "."},
	{"reader", "proxy/reader", "."},
	{"splice", "parser", "^(TestOracle|TestVariants)$"},
	{"advice", "advice", "."},
	{"attacks", "integration/attacks", "^TestAttacks$"},
	{"recipes", "integration/attacks", "Recipes$"},
	{"conversations", "integration/protocol", "^TestConversations$"},
	{"catalogue", "integration/clients", "^TestCatalogue$"},
	{"properties", "integration/property", "^(TestSensitivity|TestEquivalence)$"},
}

// elsewhere are the packages whose tests start a server and are no suite, each with the reason.
var elsewhere = map[string]string{
	"cmd/dpproxy/site":       "certificates for connections that fail; no Postgres",
	"authquery":              "a query of the administrator's, on whatever Postgres",
	"wire":                   "conversations with messages of one version; those of integration/protocol are a suite",
	"integration/bench":      "times",
	"integration/corpora":    "fates of statements, which follow from the policy; those of plans are suites",
	"integration/faults":     "faults of machines and processes",
	"integration/local":      "files of answers; what surveys read is plain columns",
	"integration/operations": "the administrator's commands",
	"integration/privacy":    "laws of noise, and hidden columns, which the suite mirror has too",
	"integration/truth":      "errors of answers, which are asked for",
	"integration/splicing":   "statements on a mirror, as those of the suite splice",
	"internal/demo":          "data of the demo",
	"internal/pgtemp":        "the servers themselves",
	"internal/sqlgen":        "statements of the suite properties",
	"internal/tpch":          "data of a benchmark",
	"suggest":                "catalogues of example schemas, as the suite mirror reads them",
}

const root = "../.."

// harnesses start servers for tests.
var harnesses = []string{"dpproxy/internal/pgtemp", "dpproxy/internal/sitetest", "dpproxy/mirror/mirrortest"}

// TestSuites holds that a package whose tests start a server is a suite, or says why it is none.
func TestSuites(t *testing.T) {
	const format = `{{.ImportPath}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}`
	out, err := command(t, root, "go", "list", "-f", format, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		folder := strings.TrimPrefix(fields[0], "dpproxy/")
		starts := slices.ContainsFunc(fields[1:], func(imported string) bool { return slices.Contains(harnesses, imported) })
		if !starts || folder == "integration/versions" {
			continue
		}
		found++
		listed := slices.ContainsFunc(suites, func(s suite) bool { return s.folder == folder })
		if listed == (elsewhere[folder] != "") {
			t.Errorf("%s is a suite: %t; elsewhere: %q", folder, listed, elsewhere[folder])
		}
	}
	if found < len(elsewhere) {
		t.Errorf("%d packages start servers", found)
	}
}

// TestPairs holds that every version that is served is tested on both sides, and no other.
func TestPairs(t *testing.T) {
	var data, mirrors, wantData, wantMirrors []int
	for _, p := range pairs {
		data, mirrors = append(data, p.data), append(mirrors, p.mirror)
	}
	for v := introspect.Oldest; v <= introspect.Newest; v++ {
		wantData = append(wantData, v)
	}
	for v := mirror.Oldest; v <= introspect.Newest; v++ {
		wantMirrors = append(wantMirrors, v)
	}
	for _, list := range [][2][]int{{data, wantData}, {mirrors, wantMirrors}} {
		if slices.Sort(list[0]); !slices.Equal(slices.Compact(list[0]), list[1]) {
			t.Errorf("tested %v, served %v", list[0], list[1])
		}
	}
}

// TestDocument holds that the table in docs/operations.md is of these pairs and suites, and that
// the text there names the versions that are served.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	document := string(text)
	for _, want := range []string{
		fmt.Sprintf("Postgres %d to %d", introspect.Oldest, introspect.Newest),
		fmt.Sprintf("Postgres %d to %d", mirror.Oldest, introspect.Newest), header(pairs),
	} {
		if !strings.Contains(document, want) {
			t.Errorf("docs/operations.md lacks %q", want)
		}
	}
	_, table, _ := strings.Cut(document, header(pairs))
	for _, s := range suites {
		if !strings.Contains(table, "\n| "+s.name+" | ") {
			t.Errorf("the table in docs/operations.md lacks %q", s.name)
		}
	}
}

func header(pairs []pair) string {
	row := "| DATA/mirror |"
	for _, p := range pairs {
		row += " " + p.String() + " |"
	}
	return row
}

// TestVersions runs the suites on all pairs, and prints the table: how many tests passed, and
// how many did not.
func TestVersions(t *testing.T) {
	needs.Asked(t, *versions, "versions")
	chosen, run := choose(t), chooseSuites(t)
	programs := compile(t, run)
	table := []string{header(chosen), strings.Repeat("| --- ", len(chosen)+1) + "|"}
	for _, s := range run {
		row := "| " + s.name + " |"
		for _, p := range chosen {
			cell, failed := s.run(t, programs[s.folder], p)
			if failed != "" {
				t.Errorf("%s on %v:\n%s", s.name, p, failed)
			}
			t.Logf("%s on %v: %s", s.name, p, cell)
			row += " " + cell + " |"
		}
		table = append(table, row)
	}
	t.Logf("tests passed:\n%s", strings.Join(table, "\n"))
}

func choose(t *testing.T) []pair {
	t.Helper()
	if *only == "" {
		return pairs
	}
	names := strings.Split(*only, ",")
	chosen := slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool { return !slices.Contains(names, p.String()) })
	if len(chosen) != len(names) {
		t.Fatalf("%s: the pairs are %v", *only, pairs)
	}
	return chosen
}

func chooseSuites(t *testing.T) []suite {
	t.Helper()
	if *ofSuites == "" {
		return suites
	}
	names := strings.Split(*ofSuites, ",")
	chosen := slices.DeleteFunc(slices.Clone(suites), func(s suite) bool { return !slices.Contains(names, s.name) })
	if len(chosen) != len(names) {
		t.Fatalf("%s: the suites are %v", *ofSuites, suites)
	}
	return chosen
}

// compile makes the test programs of the suites, by folder.
func compile(t *testing.T, suites []suite) map[string]string {
	t.Helper()
	dir, programs := t.TempDir(), map[string]string{}
	for _, s := range suites {
		if programs[s.folder] != "" {
			continue
		}
		program := filepath.Join(dir, strings.ReplaceAll(s.folder, "/", "-"))
		out, err := command(t, root, "go", "test", "-c", "-o", program, "./"+s.folder).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", s.folder, err, out)
		}
		programs[s.folder] = program
	}
	return programs
}

func command(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	return cmd
}

var outcome = regexp.MustCompile(`(?m)^--- (PASS|FAIL|SKIP): (\S+)`)

// run runs the suite, and returns how many tests passed, with the output of the others.
func (s suite) run(t *testing.T, program string, p pair) (cell, failed string) {
	t.Helper()
	cmd := command(t, filepath.Join(root, s.folder), program, "-test.v", "-test.timeout=60m", "-test.run="+s.tests)
	cmd.Env = append(os.Environ(), pgtemp.DataBin+"="+programs(t, p.data), pgtemp.MirrorBin+"="+programs(t, p.mirror))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	count := map[string]int{}
	for _, m := range outcome.FindAllStringSubmatch(out.String(), -1) {
		count[m[1]]++
	}
	cell = strconv.Itoa(count["PASS"])
	if err == nil && count["PASS"] > 0 {
		return cell, ""
	}
	if _, ended := errors.AsType[*exec.ExitError](err); !ended && err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s, %d failed", cell, max(1, count["FAIL"])), out.String()
}

// programs returns the folder with the programs of a version.
func programs(t *testing.T, version int) string {
	t.Helper()
	dir, err := filepath.Abs(fmt.Sprintf("node_modules/postgres%d/native/bin", version))
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "initdb"))
	}
	if err != nil {
		t.Fatalf("Postgres %d is not installed (make versions installs it): %v", version, err)
	}
	return dir
}
