package repair_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"dpproxy/parser"
	"dpproxy/parser/parsertest"
	"dpproxy/parser/repair"
)

// TestRules shows what each rule writes, in a file of its name, among what others write. Without the rule the statements are other ones:
// but for the cases that it leaves alone. A case may say at which word a statement is refused.
func TestRules(t *testing.T) {
	files, err := os.ReadDir("testdata/rules")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, f := range files {
		shown = append(shown, f.Name())
		fired := 0
		datadriven.RunTest(t, "testdata/rules/"+f.Name(), func(t *testing.T, d *datadriven.TestData) string {
			at := -1
			if d.HasArg("at") {
				var word string
				d.ScanArgs(t, "at", &word)
				at = strings.Index(d.Input, word)
			}
			ruled := func() string {
				all := repair.Ruled(d.Input, at, clinic())
				if len(all) == 0 {
					return "nothing\n"
				}
				return strings.Join(all, "\n") + "\n"
			}
			with, without := ruled(), ""
			repair.Without(f.Name(), func() { without = ruled() })
			switch left := d.HasArg("left"); {
			case left != (with == without):
				t.Errorf("%s: the rule is the reason: %t\n%s", d.Pos, left, with)
			case !left:
				fired++
			}
			return with
		})
		if fired == 0 {
			t.Errorf("%s: the rule writes nothing", f.Name())
		}
	}
	rules := repair.RuleNames()
	slices.Sort(rules)
	if !slices.Equal(rules, shown) {
		t.Errorf("%q have a file, of the rules %q", shown, rules)
	}
}

// A suggesting schema can suggest bounds of some columns. Each visit is in a hospital, and leads to a row of people by two columns too.
type suggesting struct{ repair.Schema }

func clinic() suggesting { return suggesting{parsertest.Clinic} }

// Table implements repair.Schema.
func (s suggesting) Table(schema, name string) (repair.Table, bool) {
	t, known := s.Schema.Table(schema, name)
	if name == "visits" {
		t.Parents["hospital_id"] = repair.Key{Schema: "public", Table: "hospitals", Column: "id"}
		to := repair.Key{Schema: "public", Table: "patients"}
		t.Ways = []repair.Way{{Columns: []string{"qty", "big"}, Keys: []string{"birth_year", "smoker"}, To: to}}
	}
	return t, known
}

// Suggested implements repair.Schema.
func (suggesting) Suggested(_, table, column string) (typ string, unknown bool) {
	typ = map[string]string{
		"visits.cost": "numeric(12,2)", "visits.qty": "integer", "visits.day": "date", "visits.patient_id": "integer",
		"visits.hospital_id": "integer", "patients.birth_year": "integer",
	}[table+"."+column]
	return typ, typ != "" && column != "day"
}

// TestInsteadOfNested has sub-selects in which each column is computed from all columns of the one below. The search takes no more steps
// than there are columns: with a step for each way through the columns it would not end.
func TestInsteadOfNested(t *testing.T) {
	const names = "abcdefgh"
	columns := func(of string) string {
		var list []string
		for _, name := range names {
			list = append(list, of+" AS "+string(name))
		}
		return strings.Join(list, ", ")
	}
	sql := "SELECT " + columns("diagnosis") + " FROM visits"
	for range 9 {
		sql = "SELECT " + columns("length("+strings.Join(strings.Split(names, ""), "||")+")::text") +
			" FROM (" + sql + ") t"
	}
	sql, start := "SELECT stddev(factorial(length(a))) FROM ("+sql+") t", time.Now()
	all := repair.Instead(sql, strings.Index(sql, "factorial"), clinic())
	if len(all) != 1 || time.Since(start) > 10*time.Second {
		t.Errorf("%v: %q", time.Since(start), all)
	}
}

// selectList is the list of a SELECT without brackets in it.
var selectList = regexp.MustCompile(`(?i)\bSELECT [^()]*? FROM\b`)

// TestInsteadOfAny makes statements from all statements of the tests, including attackers', and from these without SELECT lists: each
// result can be parsed.
func TestInsteadOfAny(t *testing.T) {
	var all []string
	for _, file := range []string{"../testdata/golden/*", "../testdata/statements.txt", "testdata/rules/*"} {
		names, _ := filepath.Glob(file)
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.Split(string(text), "\n")...)
		}
	}
	names, _ := filepath.Glob("../../integration/attacks/testdata/*.json")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"sql": ("(?:[^"\\\\]|\\\\.)*")`).FindAllStringSubmatch(string(text), -1) {
			if sql, err := strconv.Unquote(m[1]); err == nil {
				all = append(all, sql)
			}
		}
	}
	for _, sql := range all {
		if empty := selectList.ReplaceAllString(sql, "SELECT FROM"); empty != sql {
			all = append(all, empty)
		}
	}
	made := 0
	for _, sql := range all {
		for _, instead := range repair.Instead(sql, strings.IndexByte(sql, '('), parsertest.Shop) {
			script, err := parser.Parse(instead.String(), parsertest.Shop)
			if err != nil || len(script.Statements) != 1 {
				t.Errorf("%s\nmakes %v: %v", sql, instead, err)
			}
			made++
		}
	}
	if made < 500 {
		t.Errorf("%d statements are made of %d", made, len(all))
	}
}
