package privacy_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

var clockPairs = flag.Int("clock", 0, "measure so many times what one attribute of one person adds to the time of a statement")

const (
	// clockRows are the visits, of five to a patient.
	clockRows = 100_000
	// patientsRows is how many rows the patient in question has in all tables.
	patientsRows = 11
)

var clockSchema = fmt.Sprintf(`
CREATE TABLE patients (id int PRIMARY KEY, smoker bool NOT NULL, birth_year int NOT NULL);
CREATE TABLE visits (id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, cost int NOT NULL, diagnosis text NOT NULL);
CREATE TABLE labs (id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, value int NOT NULL);
INSERT INTO patients SELECT g, false, 1950 FROM generate_series(1, %[1]d / 5) g;
INSERT INTO visits SELECT g, g %% (%[1]d / 5) + 1, 10, 'flu' FROM generate_series(1, %[1]d) g;
INSERT INTO labs SELECT g, g %% (%[1]d / 5) + 1, 10 FROM generate_series(1, %[1]d) g;
CREATE INDEX ON labs (patient_id);
ANALYZE;`, clockRows)

const clockPolicy = `
privacy_unit: {name: patient, budget: {epsilon: 9000, delta: 1e-6}}
tables:
  patients: {unit: id, columns: {birth_year: {bounds: [1920, 2010]}}}
  visits: {unit: patient_id, max_rows: 5, max_partitions: 2, columns: {cost: {bounds: [0, 1000]}, diagnosis: {values: [flu, asthma]}}}
  labs: {unit: patient_id, max_rows: 5, max_partitions: 2, columns: {value: {bounds: [0, 300]}}}
analysts:
  ana: {password: VERIFIER, tables: [patients, visits, labs]}
answers: {remember: false}
limits: {reply_grid: 0}
`

// differentYears has a sort, windows and hashes of an order, whose work begins with a row.
const differentYears = "SELECT count(DISTINCT p.birth_year) FILTER (WHERE p.smoker) FROM patients p JOIN visits v ON v.patient_id = p.id"

// clocked are conditions that patient 107 alone meets, and only while they smoke.
var clocked = []string{
	"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id " +
		"WHERE CASE WHEN p.id = 107 AND p.smoker THEN true ELSE p.birth_year = -1 END",
	"SELECT count(*) FROM patients p JOIN labs l ON l.patient_id = p.id WHERE p.smoker",
	"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id WHERE p.smoker",
	"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id JOIN labs l ON l.patient_id = p.id WHERE p.smoker",
	differentYears,
	"SELECT count(*) FROM (SELECT p.id, p.smoker AS s FROM patients p JOIN visits v ON v.patient_id = p.id) t WHERE t.s",
	"SELECT count(*) FROM patients p WHERE p.smoker AND EXISTS (SELECT 1 FROM labs l WHERE l.patient_id = p.id)",
	"SELECT v.diagnosis, count(*), sum(v.cost) FROM patients p JOIN visits v ON v.patient_id = p.id WHERE p.smoker GROUP BY v.diagnosis",
	"SELECT v.diagnosis, avg(v.cost) FILTER (WHERE p.smoker) FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY v.diagnosis",
	"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY v.cost) FILTER (WHERE p.smoker) " +
		"FROM patients p JOIN visits v ON v.patient_id = p.id",
	"SELECT v.cost, count(*) FROM patients p JOIN visits v ON v.patient_id = p.id WHERE p.smoker GROUP BY v.cost",
	"SELECT stddev(v.cost), corr(v.cost, p.birth_year) FROM patients p JOIN visits v ON v.patient_id = p.id WHERE p.smoker",
}

// TestClockOfPairs measures, through real connections and without the grid of replies, what an attribute of one
// patient adds to the time of a statement, in alternation with the same without it. Plain Postgres shows what
// the clock can tell.
func TestClockOfPairs(t *testing.T) {
	if *clockPairs == 0 {
		return // a measurement of a machine that does nothing else: make clock runs it
	}
	s := sitetest.New(t, clockSchema, clockPolicy)
	plain := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	for _, sql := range []string{
		"VACUUM ANALYZE", "ALTER SYSTEM SET max_parallel_workers_per_gather = 0", "SELECT pg_reload_conf()",
		"SET application_name = 'plain'",
	} {
		sitetest.Exec(t, plain, sql)
	}
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, "SET dp.notice = off; SET dp.epsilon = 0.001")
	both := func() time.Duration { return spent(t, plain, "dpproxy") + processorOf(t, r.Cmd.Process.Pid) }
	const all = "SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id JOIN labs l ON l.patient_id = p.id"
	perRow := timeOf(t, ana, all) / clockRows
	table := timeOf(t, ana, "SELECT count(*) FROM visits")
	t.Logf("all rows of a patient take %v by design, a whole table %v", patientsRows*perRow, table)
	for _, sql := range clocked {
		wall, processor := measure(t, ana, plain, both, sql)
		t.Logf("%s\nby the clock:     %v\nby the processor: %v", sql, wall, processor)
		if least := processor.least(); least > patientsRows*perRow+visible {
			t.Errorf("one attribute of one person takes %v: %s", least, sql)
		}
	}
	sitetest.Exec(t, plain, "UPDATE patients SET smoker = true WHERE id = 108")
	wall, processor := measure(t, ana, plain, both, differentYears)
	t.Logf("beside another who smokes, %s\nby the clock:     %v\nby the processor: %v", differentYears, wall, processor)
	sitetest.Exec(t, plain, "UPDATE patients SET smoker = false WHERE id = 108")
	wall, processor = measure(t, plain, plain, func() time.Duration { return spent(t, plain, "plain") }, clocked[0])
	t.Logf("plain Postgres, %s\nby the clock:     %v\nby the processor: %v", clocked[0], wall, processor)
	if processor.least() < 4*visible {
		t.Error("the cliff of plain Postgres is not seen")
	}
}

// visible is a difference of processor time that other work on the machine does not make.
const visible = 500 * time.Microsecond

// timeOf returns the median time of a statement.
func timeOf(t *testing.T, conn *pgx.Conn, sql string) time.Duration {
	t.Helper()
	var all []time.Duration
	for range 9 {
		all = append(all, once(t, conn, sql))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func once(t *testing.T, conn *pgx.Conn, sql string) time.Duration {
	t.Helper()
	start := time.Now()
	sitetest.Exec(t, conn, sql)
	return time.Since(start)
}

// A paired measurement has the times with the attribute and without, of each pair.
type paired struct{ with, without []time.Duration }

// measure takes the members of a pair one after the other, in either order by turns, so that other work on the machine meets
// both. Beside the clock it reads what processor time is spent, which is without the waiting for others.
func measure(t *testing.T, conn, super *pgx.Conn, spent func() time.Duration, sql string) (wall, processor paired) {
	t.Helper()
	set := func(smoker bool) {
		sitetest.Exec(t, super, fmt.Sprintf("UPDATE patients SET smoker = %t WHERE id = 107", smoker))
	}
	for i := range *clockPairs + 2 {
		var took, busy [2]time.Duration
		for turn := range 2 {
			with := (i + turn) % 2
			set(with == 1)
			before := spent()
			took[with] = once(t, conn, sql)
			busy[with] = spent() - before
		}
		if i > 1 { // the first ones fill caches
			wall.without, wall.with = append(wall.without, took[0]), append(wall.with, took[1])
			processor.without, processor.with = append(processor.without, busy[0]), append(processor.with, busy[1])
		}
	}
	set(false)
	return wall, processor
}

// spent is the processor time of an application's sessions on the protected database, as Linux counts it.
func spent(t *testing.T, super *pgx.Conn, application string) (all time.Duration) {
	t.Helper()
	rows, err := super.Query(t.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = $1", application)
	if err != nil {
		t.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		all += processorOf(t, pid)
	}
	return all
}

// processorOf is that of all threads of a process.
func processorOf(t *testing.T, pid int) (all time.Duration) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("process %d has %d threads: %v", pid, len(threads), err)
	}
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all += time.Duration(ns)
	}
	return all
}

// differences are those of pairs, in order.
func (p paired) differences() []time.Duration {
	out := make([]time.Duration, len(p.with))
	for i := range p.with {
		out[i] = p.with[i] - p.without[i]
	}
	slices.Sort(out)
	return out
}

// interval has the median difference of pairs in it, but for one time in a thousand: it is between two of the differences (the
// sign test), whatever their distribution.
func (p paired) interval() (low, high time.Duration) {
	d := p.differences()
	off := int(math.Ceil(3.3 * math.Sqrt(float64(len(d))) / 2))
	return d[max(0, len(d)/2-off)], d[min(len(d)-1, len(d)/2+off)]
}

// least is the least size of the median difference that the pairs are consistent with.
func (p paired) least() time.Duration {
	low, high := p.interval()
	return max(0, low, -high)
}

// String implements fmt.Stringer.
func (p paired) String() string {
	without, with, d := slices.Clone(p.without), slices.Clone(p.with), p.differences()
	slices.Sort(without)
	slices.Sort(with)
	low, high := p.interval()
	var mean time.Duration
	for _, x := range d[len(d)/10 : len(d)-len(d)/10] {
		mean += x
	}
	mean /= time.Duration(len(d) - 2*(len(d)/10))
	us := func(d time.Duration) int64 { return d.Microseconds() }
	return fmt.Sprintf("median %6d µs and %6d µs with it: %+d µs; of pairs median %+d (%+d to %+d), trimmed mean %+d µs",
		us(without[len(d)/2]), us(with[len(d)/2]), us(with[len(d)/2]-without[len(d)/2]), us(d[len(d)/2]), us(low), us(high), us(mean))
}
