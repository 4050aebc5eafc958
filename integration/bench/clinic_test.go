package bench_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"dpproxy/internal/demo"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

var (
	clinicVisits  = flag.Int("clinic", 0, "compare the times of statements about so many visits of the demo with plain Postgres")
	clinicInOrder = flag.Bool("ordered", true, "the visits lie in the order of their patients, as they are made")
	clinicIndexed = flag.Bool("indexed", false, "an index of the visits begins with the patient and has the other columns")
	clinicMemory  = flag.Int("memory", 1024, "megabytes of limits.fold_memory")
)

// visitsOf are the visits of a patient, in the mean.
const visitsOf = 10

// TestBenchClinic asks the statements of testdata/clinic.sql about the demo, of dpproxy and of its database, in turns. Replies keep to
// no grid.
func TestBenchClinic(t *testing.T) {
	if *clinicVisits == 0 {
		return // a measurement, not a test: make bench-clinic runs it
	}
	g, err := demo.Generate(1, demo.Size{Patients: *clinicVisits / visitsOf, Visits: *clinicVisits, Labs: 2 * *clinicVisits})
	if err != nil {
		t.Fatal(err)
	}
	data := measuredPostgres(t)
	plain := sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser))
	if err := demo.Load(t.Context(), plain, g, nil); err != nil {
		t.Fatal(err)
	}
	if !*clinicInOrder {
		sitetest.Exec(t, plain, "CREATE INDEX shuffled ON visits (hashint4(id)); CLUSTER visits USING shuffled; DROP INDEX shuffled")
	}
	if *clinicIndexed {
		sitetest.Exec(t, plain, "CREATE INDEX ON visits (patient_id) INCLUDE (id, hospital_id, day, diagnosis, cost)")
	}
	sitetest.Exec(t, plain, "VACUUM ANALYZE")
	r := sitetest.Make(t, sitetest.Options{Data: data, Policy: clinicPolicy(t)}).Run(t)
	ours := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ours, "SET dp.notice = off")
	text, err := os.ReadFile("testdata/clinic.sql")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	before := load(t)
	for sql := range strings.SplitSeq(strings.TrimSpace(string(text)), ";\n") {
		sql = strings.TrimSuffix(sql, ";")
		a, b := inTurns(t, plain, ours, sql)
		line := fmt.Sprintf("| `%s` | %v | %v | %.2f |", sql, a.Round(100*time.Microsecond), b.Round(100*time.Microsecond),
			float64(b)/float64(a))
		table.WriteString(line + "\n")
		t.Log(line) // it takes long, and somebody waits
	}
	t.Logf("%d visits, in the order of patients: %v; with the index: %v; fold_memory %d; load %s before, %s behind; "+
		"at most %d MB resident\n"+
		"| statement | plain | dpproxy | ratio |\n| --- | --- | --- | --- |\n%s",
		*clinicVisits, *clinicInOrder, *clinicIndexed, *clinicMemory, before, load(t), sitetest.PeakKiB(t, r)>>10, &table)
}

var clinicBudget = regexp.MustCompile(`budget: \{[^}]*\}`)

// clinicPolicy is that of the demo, with budgets for many answers and without its addresses.
func clinicPolicy(t *testing.T) string {
	t.Helper()
	text, err := demo.Clinic.Policy(demo.PolicyValues{Analyst: "ana", Verifier: "VERIFIER"})
	if err != nil {
		t.Fatal(err)
	}
	_, rules, _ := strings.Cut(string(text), "\nprivacy_unit:")
	return "privacy_unit:" + clinicBudget.ReplaceAllString(rules, "budget: {epsilon: 9000, delta: 1e-6}") +
		fmt.Sprintf("\nlimits: {statement_timeout: 10m, reply_grid: 0, fold_memory: %d}\n", *clinicMemory)
}
