package truth_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/demo"
	"dpproxy/internal/needs"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/internal/tpch"
)

// epsilon is the price of a question, ρ = 0.005, whatever the policy's default is.
const epsilon = "0.1"

// A site has a session with the protected database itself, and others with dpproxy.
type site struct {
	truth   *pgx.Conn
	ours    []*session
	process *sitetest.Running
}

// A session is one with dpproxy, and all that notices have said about its last statement.
type session struct {
	*pgx.Conn
	notices []string
}

// clinic is the demonstration, with its policy.
func clinic(t *testing.T, patients int) site {
	return newSite(t, generated(t, patients), demoPolicy(t, demo.Clinic))
}

func generated(t *testing.T, patients int) demo.Source {
	t.Helper()
	g, err := demo.Generate(1, demo.Size{Patients: patients, Visits: 10 * patients, Labs: 20 * patients})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// stays is a table of visits that are as long as a lognormal law says, four hours and seldom two days, within bounds of six years.
const stays = `
SELECT setseed(0.42);
CREATE TABLE stays (id int PRIMARY KEY, patient_id int NOT NULL, arrived timestamp NOT NULL, gone timestamp NOT NULL);
INSERT INTO stays SELECT id, patient_id, day + random() * interval '1 day', day FROM visits ORDER BY id;
UPDATE stays SET gone = arrived + exp(least(` + gauss + `, 4)) * interval '4 hours';`

// stayPolicy bounds how long they are in one direction alone: what is computed in the other is as far apart as the columns are.
const stayPolicy = `  stays:
    unit: patient_id
    max_rows: auto
    columns:
      arrived: {bounds: ["2020-01-01 00:00:00", "2025-12-31 23:59:59"]}
      gone: {bounds: ["2020-01-01 00:00:00", "2025-12-31 23:59:59"]}
    derived:
      stay: {is: gone - arrived, bounds: ["0 days", "14 days"]}

  hospitals:`

// clinicWithStays is the clinic with another table.
func clinicWithStays(t *testing.T, patients int) site {
	with := strings.NewReplacer("  hospitals:", stayPolicy, "labs, hospitals]", "labs, stays, hospitals]")
	return newSite(t, generated(t, patients), with.Replace(demoPolicy(t, demo.Clinic)), stays)
}

// study is the liver study, with its policy. It skips the test where there is no R to read it from.
func study(t *testing.T) site {
	s, err := demo.OpenStudy(t.Context())
	if errors.Is(err, demo.ErrNeedsR) {
		needs.Missing(t, err.Error(), "r-base-core", "r-cran-survival")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return newSite(t, s, demoPolicy(t, demo.NAFLD))
}

// shop is the TPC-H-derived database.
func shop(t *testing.T) site {
	g, err := tpch.Generate(1, *scale)
	if err != nil {
		t.Fatal(err)
	}
	return newSite(t, g, tpch.Policy(tpch.PolicyValues{Epsilon: 9000, Verifier: "VERIFIER"}))
}

var budget = regexp.MustCompile(`budget: \{[^}]*\}`)

// demoPolicy is the policy of a demonstration, but for its addresses, and with budgets for hundreds of
// answers.
func demoPolicy(t *testing.T, d demo.Dataset) string {
	t.Helper()
	text, err := d.Policy(demo.PolicyValues{Analyst: "ana", Verifier: "VERIFIER"})
	if err != nil {
		t.Fatal(err)
	}
	_, rules, ok := strings.Cut(string(text), "\nprivacy_unit:")
	if !ok {
		t.Fatalf("no unit in\n%s", text)
	}
	return "privacy_unit:" + budget.ReplaceAllString(rules, "budget: {epsilon: 9000, delta: 1e-6}")
}

// newSite starts dpproxy before a database with the rows of a source, and what statements make of them. It remembers no answer, so
// that each has noise of its own.
func newSite(t *testing.T, source demo.Source, policy string, more ...string) site {
	t.Helper()
	data := sitetest.StartServer(t, pgtemp.Options{Settings: []string{"max_wal_size=4GB"}})
	conn := sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser))
	if err := demo.Load(t.Context(), conn, source, nil); err != nil {
		t.Fatal(err)
	}
	for _, sql := range more {
		sitetest.Exec(t, conn, sql)
	}
	return serve(t, data, policy)
}

// serve starts dpproxy before a server with rows.
func serve(t *testing.T, data *pgtemp.Server, policy string) site {
	t.Helper()
	conn := sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, conn, "VACUUM ANALYZE")
	r := sitetest.Make(t, sitetest.Options{Data: data, Policy: policy + "\nlimits: {statement_timeout: 10m, reply_grid: 0}\n"}).Run(t)
	s := site{truth: conn, process: r}
	for range *sessions {
		ours := &session{}
		ours.Conn = sitetest.DialTold(t, r.URL("ana"), func(n *pgconn.Notice) { ours.notices = append(ours.notices, noticeText(n)) })
		sitetest.Exec(t, ours.Conn, "SET dp.epsilon = "+epsilon)
		s.ours = append(s.ours, ours)
	}
	return s
}

// ask asks a question for its values and their intervals.
func (s *session) ask(ctx context.Context, q question) (reply, error) {
	s.notices = nil
	return ask(ctx, s.Conn, withEnds(q.asked), q.ignored())
}

// truthAbout asks the protected database itself.
func (s site) truthAbout(t *testing.T, q question) reply {
	t.Helper()
	truth, err := ask(t.Context(), s.truth, withoutEnds(q.truth), q.ignored())
	if err != nil {
		t.Fatalf("%s: %v\n%s", q.name, err, withoutEnds(q.truth))
	}
	return truth
}

// spent is the ρ that answers have cost.
func (s site) spent(t *testing.T) (rho float64) {
	t.Helper()
	if err := s.ours[0].QueryRow(t.Context(), "SELECT spent::float8 FROM dp.budget WHERE kind = 'unit'").Scan(&rho); err != nil {
		t.Fatal(err)
	}
	return rho
}

// noticeText is all that a notice says.
func noticeText(n *pgconn.Notice) string {
	text := n.Message
	for _, more := range []string{n.Detail, n.Hint} {
		if more != "" {
			text += " — " + more
		}
	}
	return text
}
