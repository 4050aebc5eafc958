package bench_test

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestNAFLD asks ten questions about the liver study through psql, and prints the answers
// beside the truth, which the same text has on the protected database. The data are R's,
// and no part of this repository: without them there is nothing to ask.
func TestNAFLD(t *testing.T) {
	d := sitetest.StartDemo(t, "--data", "nafld")
	files, err := filepath.Glob("testdata/nafld/*.sql")
	if err != nil || len(files) != 10 {
		t.Fatalf("%d questions, %v", len(files), err)
	}
	var table bytes.Buffer
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			askNAFLD(t, d, &table, string(text))
		})
	}
	t.Logf("\n%s", &table)
}

// askNAFLD compares the answer to a question with the truth, and the charge with the
// cost that the question states.
func askNAFLD(t *testing.T, d *sitetest.Demo, table *bytes.Buffer, question string) {
	before := budgetSpent(t, d)
	answer, notice := runPsql(t, d.Analyst, question)
	after := budgetSpent(t, d)
	truth, _ := runPsql(t, d.Data, question)
	bars := readBars(t, notice)
	if len(bars) == 0 || len(answer) != len(truth) || !slices.Equal(answer[0], truth[0]) {
		t.Fatalf("the answer is\n%v\nthe truth is\n%v\n%s", answer, truth, notice)
	}
	checkCharges(t, question, before, after)

	keys := len(answer[0]) - len(bars)
	title, _, _ := strings.Cut(strings.TrimPrefix(question, "-- "), "\n")
	cost, _, _ := strings.Cut(notice, ";")
	fmt.Fprintf(table, "%s\n%s\n", title, cost)
	w := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  group\tvalue\tanswer\tstated error\ttruth")
	for i, row := range answer[1:] {
		if !slices.Equal(row[:keys], truth[i+1][:keys]) {
			t.Fatalf("row %d is of group %v, and in truth of %v", i+1, row[:keys], truth[i+1][:keys])
		}
		for j, bar := range bars {
			got, want := readNumbers(t, row[keys+j]), readNumbers(t, truth[i+1][keys+j])
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", strings.Join(row[:keys], ", "), answer[0][keys+j], brief(got), bar.said, brief(want))
			for k := range want {
				if miss := bar.miss(t, d, question, got[k], want[k], k); !(miss <= 3*bar.error) {
					t.Errorf("%v: %s is %s, in truth %s: more than three times the stated error %s", row[:keys],
						answer[0][keys+j], row[keys+j], truth[i+1][keys+j], bar.said)
				}
			}
		}
	}
	w.Flush()
	fmt.Fprintln(table)

	again, notice := runPsql(t, d.Analyst, question)
	if !slices.EqualFunc(again, answer, slices.Equal) || !strings.Contains(notice, "cost nothing") {
		t.Errorf("asked again, the answer is\n%v\n%s", again, notice)
	}
}

// runPsql returns rows of CSV, the names of the columns first, and the notices of psql.
func runPsql(t *testing.T, conninfo, script string) (rows [][]string, notice string) {
	t.Helper()
	bin, err := pgtemp.Bin()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "psql"), "--no-psqlrc", "--csv", "--set=ON_ERROR_STOP=1", conninfo)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PGOPTIONS=-c dp.notice=full")
	cmd.Stdin = strings.NewReader(script)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("psql: %v\n%s", err, &said)
	}
	if rows, err = csv.NewReader(&out).ReadAll(); err != nil {
		t.Fatal(err)
	}
	return rows, strings.TrimPrefix(said.String(), "NOTICE:  ")
}

// A bar is the stated error of an aggregate: of its value, or of the rank of a percentile of a column.
type bar struct {
	said   string
	error  float64
	column string
}

// readBars returns the stated error of each aggregate, the widest over all groups.
func readBars(t *testing.T, notice string) []bar {
	t.Helper()
	var bars []bar
	for _, m := range stated.FindAllStringSubmatch(notice, -1) {
		far := readNumbers(t, strings.ReplaceAll(cmp.Or(m[2], m[1], m[4]), ",", ""))[0]
		said := "± "
		if m[3] != "" {
			said = "rank within "
		}
		bars = append(bars, bar{said + brief([]float64{far}), far, m[3]})
	}
	return bars
}

var (
	stated = regexp.MustCompile(`The noise moves .* by at most (\S+) (?:in the best group and (\S+) in the worst )?\(|` +
		`Of percentile_\w+\((\w+)\) .*: rank within (\d+) rows`)
	fractions = regexp.MustCompile(`percentile_\w+\((?:ARRAY\[([^\]]*)\]|([0-9.]+))\) WITHIN GROUP \(ORDER BY (\w+)\)`)
)

// miss is how far an answer is from the truth, the k-th of an array: as numbers, or as ranks among all rows.
func (b bar) miss(t *testing.T, d *sitetest.Demo, question string, got, want float64, k int) float64 {
	t.Helper()
	if b.column == "" {
		return math.Abs(got - want)
	}
	for _, m := range fractions.FindAllStringSubmatch(question, -1) {
		if m[3] != b.column {
			continue
		}
		rows, _ := runPsql(t, d.Data, fmt.Sprintf("SELECT count(%[1]s) FILTER (WHERE %[1]s < %[2]g), "+
			"count(%[1]s) FILTER (WHERE %[1]s <= %[2]g), count(%[1]s) FROM people", b.column, got))
		below, upTo, all := readNumbers(t, rows[1][0])[0], readNumbers(t, rows[1][1])[0], readNumbers(t, rows[1][2])[0]
		rank := readNumbers(t, strings.ReplaceAll(m[1]+m[2], " ", ""))[k] * all
		return max(0, below-rank, rank-upTo)
	}
	t.Fatalf("no percentile of %s in the question", b.column)
	return 0
}

// spending is the spent part of each budget, of ρ and of δ.
type spending map[string][2]float64

func budgetSpent(t *testing.T, d *sitetest.Demo) spending {
	t.Helper()
	rows, err := d.Conn.Query(t.Context(), "SELECT scope, spent::float8, delta_spent::float8 FROM dp.budget")
	if err != nil {
		t.Fatal(err)
	}
	spent := spending{}
	var scope string
	var amounts [2]float64
	if _, err := pgx.ForEachRow(rows, []any{&scope, &amounts[0], &amounts[1]}, func() error {
		spent[scope] = amounts
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return spent
}

// checkCharges holds that a question has the cost in its comment, ρ = ε²/2, or up to a
// hundredth less, of the person, the analyst and the tables that it names, and δ only where
// its groups are private.
func checkCharges(t *testing.T, question string, before, after spending) {
	t.Helper()
	m := regexp.MustCompile(`dp: epsilon=([0-9.]+)`).FindStringSubmatch(question)
	if m == nil {
		t.Fatal("the question does not say what it spends")
	}
	epsilon := readNumbers(t, m[1])[0]
	private := strings.Contains(question, "GROUP BY test")
	for scope := range after {
		name, isTable := strings.CutPrefix(scope, "public.")
		charged := !isTable || regexp.MustCompile(`(FROM|JOIN) `+name+`\b`).MatchString(question)
		rho, delta := after[scope][0]-before[scope][0], after[scope][1]-before[scope][1]
		most, least := 0.0, 0.0
		if charged {
			most = epsilon * epsilon / 2
			least = 0.99 * most
		}
		if rho < least-1e-12 || rho > most+1e-12 || (delta > 0) != (charged && private) {
			t.Errorf("%s was charged ρ=%g δ=%g, for a question of ρ=%g", scope, rho, delta, most)
		}
	}
}

// readNumbers reads a number or an array of them.
func readNumbers(t *testing.T, cell string) []float64 {
	t.Helper()
	var list []float64
	for text := range strings.SplitSeq(strings.Trim(cell, "{}"), ",") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// brief writes numbers with four digits, or with all digits before the point.
func brief(list []float64) string {
	var words []string
	for _, x := range list {
		digits := max(4, len(strconv.Itoa(int(math.Abs(x)))))
		words = append(words, strconv.FormatFloat(x, 'g', digits, 64))
	}
	return strings.Join(words, ", ")
}
