package bench_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/demo"
	"dpproxy/internal/needs"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

var accuracy = flag.Bool("accuracy", false, "count the questions that a budget answers at a stated error")

// capRho bounds the cost of one question.
const capRho = 0.004

// generated has groups whose sizes are lognormal with median 1,000, as counts of pages or
// products are.
const generated = `
CREATE TABLE people (id int PRIMARY KEY, bucket int NOT NULL);
SELECT setseed(0.42);
CREATE TEMP TABLE sizes AS SELECT b,
  greatest(1, round(1000 * exp(sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))))::int AS n
  FROM generate_series(1, 400) AS b;
INSERT INTO people SELECT row_number() OVER (), b FROM sizes, generate_series(1, n);
CREATE INDEX ON people (bucket);
ANALYZE people;`

const generatedPolicy = `
privacy_unit: {name: person, budget: {epsilon: %d, delta: 1e-6, selection_delta: 0}}
tables:
  people: {unit: id}
analysts:
  ana: {password: VERIFIER, tables: [people]}
defaults: {epsilon: %s}
`

const studyPolicy = `
privacy_unit: {name: person, budget: {epsilon: %d, delta: 1e-6, selection_delta: 0}}
tables:
  people: {unit: id, columns: {case_id: hidden}}
  labs: {unit: person_id, max_rows: 40, max_partitions: 6}
  events: {unit: person_id, max_rows: 15, max_partitions: 8}
analysts:
  ana: {password: VERIFIER, tables: [people, labs, events]}
defaults: {epsilon: %s}
`

// dataset is a database and the questions about it.
type dataset struct {
	name, policy string
	fill         func(*testing.T, *pgx.Conn)
	questions    []string
	// median is of the answers, as an analyst may guess it.
	median float64
}

// datasets are generated counts, and counts of people in the liver study.
func datasets() []dataset {
	counts := dataset{
		name: "generated counts", policy: generatedPolicy, median: 1000,
		fill: func(t *testing.T, conn *pgx.Conn) { sitetest.Exec(t, conn, generated) },
	}
	for bucket := 1; bucket <= 400; bucket++ {
		counts.questions = append(counts.questions, fmt.Sprintf("SELECT count(*) FROM people WHERE bucket = %d", bucket))
	}
	study := dataset{name: "liver study", policy: studyPolicy, median: 1000, fill: loadStudy, questions: studyQuestions()}
	return []dataset{counts, study}
}

// loadStudy skips the test where there is no R to read the study from.
func loadStudy(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	study, err := demo.OpenStudy(t.Context())
	if errors.Is(err, demo.ErrNeedsR) {
		needs.Missing(t, err.Error(), "r-base-core", "r-cran-survival")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer study.Close()
	if err := demo.Load(t.Context(), conn, study, nil); err != nil {
		t.Fatal(err)
	}
	sitetest.Exec(t, conn, "CREATE INDEX ON labs (test); CREATE INDEX ON events (event); ANALYZE")
}

// studyQuestions count the people of the study by their attributes, in an order that no
// answer has decided.
func studyQuestions() []string {
	var questions []string
	ages := []string{"18-29", "30-39", "40-49", "50-59", "60-69", "70-79", "80+"}
	events := []string{"afib", "ang/isc", "cardiac arrest", "diabetes", "heart failure", "htn", "dyslipidemia", "MI", "nafld", "stroke"}
	tests := []string{"sbp", "smoke", "hdl", "chol", "fib4", "dbp"}
	for _, age := range ages {
		for _, more := range []string{
			"", " AND male", " AND NOT male", " AND status = 1", " AND status = 0", " AND bmi >= 30", " AND bmi < 25",
			" AND futime >= 3650",
		} {
			questions = append(questions, fmt.Sprintf("SELECT count(*) FROM people WHERE age_group = '%s'%s", age, more))
		}
		for _, test := range tests {
			questions = append(questions,
				fmt.Sprintf("SELECT count(DISTINCT person_id) FROM labs WHERE age_group = '%s' AND test = '%s'", age, test))
		}
	}
	for _, event := range events {
		for _, days := range []string{"", " AND days < 0", " AND days >= 0"} {
			questions = append(questions, fmt.Sprintf("SELECT count(DISTINCT person_id) FROM events WHERE event = '%s'%s", event, days))
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(questions), func(i, j int) { questions[i], questions[j] = questions[j], questions[i] })
	return questions
}

// psqlClient asks through psql.
type psqlClient struct {
	t    *testing.T
	addr string
}

// ask runs one statement with settings, and returns psql's output, without notices, and
// the notice.
func (p psqlClient) ask(sql string, settings ...string) (value, notice string, ok bool) {
	p.t.Helper()
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	bin, err := pgtemp.Bin()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.CommandContext(p.t.Context(), filepath.Join(bin, "psql"), "-X", "-tA", "-h", host, "-p", port, "-U", "ana",
		"-d", "postgres", "-c", sql)
	options := " -c dp.notice=full"
	for _, s := range settings {
		options += " -c " + s
	}
	cmd.Env = append(os.Environ(), "PGPASSWORD="+sitetest.Password, "PGOPTIONS="+options)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", errs.String(), false
	}
	return strings.TrimSpace(out.String()), errs.String(), true
}

var halfWidth = regexp.MustCompile(`The noise moves .* by at most ([0-9.,]+) `)

// half returns the error that a notice states.
func half(t *testing.T, notice string) float64 {
	t.Helper()
	m := halfWidth.FindStringSubmatch(notice)
	if m == nil {
		t.Fatalf("no error in %q", notice)
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// score has the success of a strategy: how many questions the budget had room for, how many of
// them reached the error as stated, and in truth.
type score struct{ asked, answered, within int }

func (s *score) add(value string, truth int, r float64, reached bool) {
	y, _ := strconv.ParseFloat(value, 64)
	s.asked++
	if !reached {
		return
	}
	s.answered++
	if math.Abs(y-float64(truth)) <= r*float64(truth) {
		s.within++
	}
}

func epsilonOf(rho float64) string { return strconv.FormatFloat(math.Sqrt(2*rho), 'f', 12, 64) }

// meets reports whether an answer is within an error of r, by the error that it states.
func meets(t *testing.T, value, notice string, r float64) bool {
	t.Helper()
	y, _ := strconv.ParseFloat(value, 64)
	return half(t, notice)*(1+r) <= r*math.Abs(y)
}

// reduction asks for the error itself. The most that a question may cost is the policy's default.
func reduction(p psqlClient, questions []question, r float64) (s score) {
	for _, q := range questions {
		value, notice, ok := p.ask(q.sql, fmt.Sprintf("dp.relative_error=%v", r))
		if !ok {
			return s
		}
		s.add(value, q.truth, r, !strings.Contains(notice, "not reached"))
	}
	return s
}

// doubling asks with twice the budget until the error suffices, at a confidence that allows
// for its looks.
func doubling(p psqlClient, questions []question, r float64) (s score) {
	const first, looks = 2e-6, 12
	for _, q := range questions {
		for rho := first; ; rho *= 2 {
			value, notice, ok := p.ask(q.sql, "dp.epsilon="+epsilonOf(math.Min(rho, capRho)),
				fmt.Sprintf("dp.confidence=%.6f", 1-0.05/looks))
			if !ok {
				return s
			}
			if reached := meets(p.t, value, notice, r); reached || rho >= capRho {
				s.add(value, q.truth, r, reached)
				break
			}
		}
	}
	return s
}

// fixed asks with the budget that a count of median size needs.
func fixed(p psqlClient, questions []question, r, median float64) (s score) {
	sigma := r / (1 + r) * median / 1.96
	for _, q := range questions {
		value, notice, ok := p.ask(q.sql, "dp.epsilon="+epsilonOf(1/(2*sigma*sigma)))
		if !ok {
			return s
		}
		s.add(value, q.truth, r, meets(p.t, value, notice, r))
	}
	return s
}

type question struct {
	sql   string
	truth int
}

// truths asks the protected database itself.
func truths(t *testing.T, s *sitetest.Site, questions []string) []question {
	t.Helper()
	conn := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	out := make([]question, len(questions))
	for i, sql := range questions {
		out[i].sql = sql
		if err := conn.QueryRow(t.Context(), sql).Scan(&out[i].truth); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return out
}

// TestAccuracyQuestions counts, through psql, how many questions a budget answers at a
// relative error: by noise reduction, by doubling, and with a fixed epsilon.
func TestAccuracyQuestions(t *testing.T) {
	if !*accuracy {
		return // a measurement, not a test: make accuracy runs it
	}
	for _, data := range datasets() {
		t.Run(data.name, func(t *testing.T) {
			for _, epsilon := range []int{1, 3} {
				countAnswers(t, data, epsilon)
			}
		})
	}
}

// countAnswers prints how many questions one budget answers.
func countAnswers(t *testing.T, data dataset, epsilon int) {
	t.Helper()
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "budget\terror\tstrategy\tasked\tanswered\twithin the error\t")
	server := sitetest.StartPostgres(t)
	data.fill(t, sitetest.Dial(t, server.URL("postgres", pgtemp.Superuser)))
	s := sitetest.Make(t, sitetest.Options{Data: server, Policy: fmt.Sprintf(data.policy, epsilon, epsilonOf(capRho))})
	questions := truths(t, s, data.questions)
	for _, r := range []float64{0.1, 0.05} {
		for _, strategy := range []struct {
			name string
			ask  func(p psqlClient) score
		}{
			{"noise reduction", func(p psqlClient) score { return reduction(p, questions, r) }},
			{"doubling", func(p psqlClient) score { return doubling(p, questions, r) }},
			{"fixed epsilon", func(p psqlClient) score { return fixed(p, questions, r, data.median) }},
		} {
			freshLedger(t, s)
			d := s.Run(t)
			got := strategy.ask(psqlClient{t, d.Addr})
			d.Stop()
			fmt.Fprintf(w, "(%d, 1e-6)\t%.0f %%\t%s\t%d\t%d\t%d\t\n", epsilon, 100*r, strategy.name, got.asked, got.answered, got.within)
		}
	}
	w.Flush()
	t.Logf("%d questions about the %s, each for at most ρ = %g\n%s", len(data.questions), data.name, capRho, &table)
}

// freshLedger gives the site a new ledger.
func freshLedger(t *testing.T, s *sitetest.Site) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(s.Dir, "ledger")); err != nil {
		t.Fatal(err)
	}
	s.Command(t, "init", s.Policy)
	s.Command(t, "sync", "--take-over", s.Policy) // with the ledger came another secret
}
