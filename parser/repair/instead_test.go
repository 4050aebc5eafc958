package repair_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"dpproxy/parser"
	"dpproxy/parser/parsertest"
	"dpproxy/parser/repair"
	"dpproxy/pgerr"
)

// TestInstead shows the statements that are found. The last line of a case may say at which byte a statement is refused.
func TestInstead(t *testing.T) {
	datadriven.RunTest(t, "testdata/instead", func(t *testing.T, d *datadriven.TestData) string {
		at := -1
		if d.HasArg("at") {
			d.ScanArgs(t, "at", &at)
		}
		all := repair.Instead(d.Input, at, suggesting{parsertest.Clinic})
		if len(all) == 0 {
			return "nothing\n"
		}
		return strings.Join(all, "\n") + "\n"
	})
}

// A suggesting schema can suggest bounds of all columns but texts.
type suggesting struct{ parsertest.Schema }

func (suggesting) SuggestBounds(_, table, column string) (string, *pgerr.Error) {
	return "SELECT max(" + column + ") AS lower FROM public." + table, nil
}

func (suggesting) SuggestedType(_, table, column string) (typ string, unknown bool) {
	typ = map[string]string{
		"visits.cost": "numeric(12,2)", "visits.qty": "integer", "visits.day": "date", "visits.patient_id": "integer",
		"patients.birth_year": "integer",
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
	all := repair.Instead(sql, strings.Index(sql, "factorial"), suggesting{parsertest.Clinic})
	if len(all) != 1 || time.Since(start) > 10*time.Second {
		t.Errorf("%v: %q", time.Since(start), all)
	}
}

// TestInsteadOfAny makes statements from all statements of the tests, including attackers': each result can be parsed.
func TestInsteadOfAny(t *testing.T) {
	var all []string
	for _, file := range []string{"../testdata/golden/*", "../testdata/statements.txt"} {
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
	made := 0
	for _, sql := range all {
		for _, instead := range repair.Instead(sql, strings.IndexByte(sql, '('), parsertest.Shop) {
			script, err := parser.Parse(instead, parsertest.Shop)
			if err != nil || len(script.Statements) != 1 {
				t.Errorf("%s\nmakes %s: %v", sql, instead, err)
			}
			made++
		}
	}
	if made < 500 {
		t.Errorf("%d statements are made of %d", made, len(all))
	}
}
