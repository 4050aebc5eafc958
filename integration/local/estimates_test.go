package local_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant/realized"
	"dpproxy/estimate/population"
	"dpproxy/internal/sitetest"
)

// TestEstimates has estimates from all answers agree with those of the likelihood from the answers as the mirror shows them, and hold
// the truth, where many have not answered any more.
func TestEstimates(t *testing.T) {
	s := sitetest.Make(t, sitetest.Options{
		Database: "clinic", Schema: schema, Policy: strings.Replace(policy, "model: local", "model: local\n    values_change: never", 1),
	})
	r := s.Run(t)
	conn := sitetest.Dial(t, r.URL("ana"))
	for _, sql := range []string{
		"SELECT * FROM dp.survey('people', 'bmi', 1.5, 'b1')", "SELECT * FROM dp.survey('people', 'bmi * 2', 1.5, 'b2')",
		"SELECT * FROM dp.survey('people', 'smoker', 1.25, 's1')", "SELECT * FROM dp.survey('people', 'smoker', 1.2, 's2')",
		`SELECT * FROM dp.survey('people', 'sex', 0.01, 'x1', 'region = ''north''')`,
	} {
		sitetest.Exec(t, conn, sql)
	}
	before := sitetest.Rows(t, conn, everything)
	smokers, bmi := ofAnswers(t, conn)
	type row struct {
		value                  string
		estimate, lower, upper float64
		remark                 *string
	}
	rows := func(sql string, args ...any) []row {
		t.Helper()
		found, err := conn.Query(t.Context(), sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(found, func(c pgx.CollectableRow) (r row, err error) {
			err = c.Scan(&r.value, &r.estimate, &r.lower, &r.upper, &r.remark)
			return r, err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	agree := func(name string, got row, want population.Estimate, truth float64) {
		t.Helper()
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }
		if !near(got.estimate, want.Value) || !near(got.lower, want.Low) || !near(got.upper, want.High) {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
		if !(got.lower <= truth && truth <= got.upper) && testing.Verbose() {
			t.Logf("%s does not hold %g", name, truth) // as one of many may
		}
		if got.remark == nil || !strings.Contains(*got.remark, "without x1: only some were asked") {
			t.Errorf("%s: the remark is %v", name, got.remark)
		}
	}
	shares := rows("SELECT * FROM dp.local_histogram('people', 'smoker', 0.999999) ORDER BY value")
	if len(shares) != 2 || shares[0].value != "false" || shares[1].value != "true" {
		t.Fatalf("the shares are %+v", shares)
	}
	agree("the share of smokers", shares[1], smokers, 1./3)
	means := rows("SELECT 'bmi', m.* FROM dp.local_mean($1, $2, 0.999999) AS m", "people", "bmi")
	agree("the mean of bmi", means[0], bmi, 29.5)
	if wide := means[0].upper - means[0].lower; wide > 6 {
		t.Errorf("the interval of bmi is %g wide", wide)
	}
	const joined = `WITH h AS (SELECT * FROM dp.local_histogram('people', 'smoker', 0.9))
		SELECT h.value || ' ' || (count(*) > 0 AND (SELECT lower <= upper FROM dp.local_mean('people', 'bmi + 1')))
		FROM h JOIN local.people AS p ON p.s1 = h.value::boolean GROUP BY h.value ORDER BY h.value`
	if got := sitetest.Rows(t, conn, joined); !strings.Contains(got, "false true") || !strings.Contains(got, "true true") {
		t.Errorf("joined with answers, they are %s", got)
	}
	if after := sitetest.Rows(t, conn, everything); after != before {
		t.Errorf("the answers were %s, and are %s", before, after)
	}
	testEstimatesForms(t, conn)
	testEstimatesRefused(t, conn, sitetest.Dial(t, r.URL("eve")))
}

// ofAnswers estimates from local.people.
func ofAnswers(t *testing.T, conn *pgx.Conn) (smokers, bmi population.Estimate) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	d, err := realized.NewDomain(realized.Column{Low: 10, High: 50}, realized.Column{Values: 2})
	must(err)
	questions := make([]realized.Question, 4)
	const pico = 1e12
	column := realized.ColumnOf(0)
	questions[0], err = d.Score(column, 10, 50, 0x1p-31, 1.5*pico)
	must(err)
	questions[1], err = d.Score(realized.Mul(column, realized.Constant(2)), 20, 100, 0x1p-31, 1.5*pico)
	must(err)
	questions[2], err = d.Response(1, 1.25*pico)
	must(err)
	questions[3], err = d.Response(1, 1.2*pico)
	must(err)
	p, err := population.New(d, questions, realized.Never)
	must(err)
	rows, err := conn.Query(t.Context(), "SELECT b1 = 50, b2 = 100, s1, s2 FROM local.people")
	must(err)
	defer rows.Close()
	refused := 0
	for rows.Next() {
		var cells [4]*bool
		must(rows.Scan(&cells[0], &cells[1], &cells[2], &cells[3]))
		answers := make([]realized.Answer, 4)
		for i, c := range cells {
			switch {
			case c == nil:
				answers[i].Value = realized.Unasked
				refused++
			case *c:
				answers[i].Value = 1
			}
		}
		must(p.Add(answers, 1))
	}
	must(rows.Err())
	if refused < 1000 {
		t.Fatalf("only %d answers are lacking", refused)
	}
	h, err := p.Histogram(1, 0.999999)
	must(err)
	bmi, err = p.Mean(column, 0.999999)
	must(err)
	return h[1], bmi
}

// testEstimatesForms has statements of every form find the same estimate, and a session none that was made before a survey.
func testEstimatesForms(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	const sql = "SELECT share FROM dp.local_histogram('people', 'smoker') WHERE value = 'true'"
	want := sitetest.Rows(t, conn, sql, pgx.QueryExecModeSimpleProtocol)
	sitetest.Exec(t, conn, "PREPARE shares AS "+sql)
	sitetest.Exec(t, conn, "BEGIN; DECLARE shares CURSOR FOR "+sql)
	sitetest.Exec(t, conn, "CREATE TEMP TABLE shares AS "+sql)
	for _, form := range []string{"EXECUTE shares", "FETCH ALL FROM shares", "TABLE shares", "WITH s AS (" + sql + ") TABLE s"} {
		if got := sitetest.Rows(t, conn, form, pgx.QueryExecModeSimpleProtocol); got != want {
			t.Errorf("%s: %s, want %s", form, got, want)
		}
	}
	sitetest.Exec(t, conn, "COMMIT")
	sitetest.Exec(t, conn, "SELECT * FROM dp.survey('people', 'smoker', 0.3, 's3')")
	for _, form := range []string{"EXECUTE shares", sql} {
		if got := sitetest.Rows(t, conn, form, pgx.QueryExecModeSimpleProtocol); got == want {
			t.Errorf("%s: after a survey the estimate is the same", form)
		}
	}
}

// testEstimatesRefused refuses what nothing is known of, with the place in the statement.
func testEstimatesRefused(t *testing.T, conn, stranger *pgx.Conn) {
	t.Helper()
	for sql, want := range map[string]string{
		"SELECT * FROM dp.local_histogram('people', '^age')":          "PB004 a histogram is of a column with values",
		"SELECT * FROM dp.local_histogram('people', '^ward')":         `PB004 no survey has asked all objects about "ward"`,
		"SELECT * FROM dp.local_histogram('people', '^smoker + sex')": "PB004 the values of this column are no numbers",
		"SELECT * FROM dp.local_mean('people', '^smoker')":            "PB004 the values of this column are no numbers",
		"SELECT * FROM dp.local_mean('people', '^bmi + age')":         `no survey has asked all objects about "age"`,
		"SELECT * FROM dp.local_mean('people', '^ln(bmi - 10)')":      "the question has no bounds",
		"SELECT * FROM dp.local_mean('people', 'bmi + ^note')":        `no private column "note" can be asked about`,
		"SELECT * FROM dp.local_mean('^visits', 'cost')":              "22023 no table of the local model is called",
		"SELECT * FROM ^dp.local_mean('people', 'bmi', 1)":            "22023 a confidence is from 0.5 to 0.999999",
		"SELECT * FROM dp.local_mean('people', note) FROM pg_class":   "42601",
		"SELECT dp.local_mean('people', 'bm' || 'i')":                 "0A000 dp.local_mean has no estimate of these arguments",
	} {
		at := strings.Index(sql, "^") + 1
		_, err := conn.Exec(t.Context(), strings.Replace(sql, "^", "", 1), pgx.QueryExecModeSimpleProtocol)
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		text := refused.Code + " " + refused.Message
		if !strings.Contains(text, want) || refused.Code != "42601" && refused.Hint == "" || at > 0 && int(refused.Position) != at {
			t.Errorf("%s: %s (%s) at %d, want %s at %d", sql, text, refused.Hint, refused.Position, want, at)
		}
	}
	many := "SELECT 1" + strings.Repeat(", dp.local_mean('people', 'bmi')", 21)
	_, err := conn.Exec(t.Context(), many, pgx.QueryExecModeSimpleProtocol)
	sitetest.Fails(t, err, "54001", "a statement has more than 20 estimates")
	for _, sql := range []string{"SELECT * FROM dp.local_histogram('people', 'smoker')", "SELECT * FROM dp.local_mean('people', 'bmi')"} {
		_, err := stranger.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		sitetest.Fails(t, err, "42501", "permission denied for table people")
	}
}
