package privacy_test

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/sitetest"
)

// thresholds are statements that use one released result as constants, each twice as dear as one question. No two count the same rows,
// though their results may be as good as equal: hospital_id is never negative.
var thresholds = []string{
	"SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits)",
	"WITH a AS (SELECT avg(cost) AS m FROM visits WHERE cost > 1) " +
		"SELECT count(*) FROM visits, a WHERE cost > a.m + 1 AND hospital_id <> -1",
	"WITH a AS (SELECT avg(cost) AS m FROM visits WHERE cost > 2) " +
		"SELECT count(*) FROM visits WHERE cost > (SELECT m FROM a) AND hospital_id <> -2",
	"SELECT count(*) FILTER (WHERE cost > (SELECT avg(cost) FROM visits WHERE cost > 3)) * 1.0 / count(*) AS share, count(*) FROM visits",
	"SELECT v.diagnosis, avg(cost) FROM visits v " +
		"JOIN (SELECT diagnosis, count(*) AS n FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 2) t " +
		"ON t.diagnosis = v.diagnosis GROUP BY v.diagnosis ORDER BY 1",
	"SELECT diagnosis, count(*) FROM visits " +
		"WHERE diagnosis IN (SELECT diagnosis FROM visits WHERE cost > 10 GROUP BY 1 ORDER BY count(*) DESC LIMIT 1) " +
		"GROUP BY 1",
	"SELECT count(*) FROM visits " +
		"WHERE cost > 1 AND diagnosis = ANY (SELECT diagnosis FROM visits WHERE cost > 17 GROUP BY 1 HAVING count(*) > 10)",
	"SELECT count(*) FROM visits " +
		"WHERE cost > 1 AND diagnosis <> ALL (SELECT diagnosis FROM visits WHERE cost > 18 GROUP BY 1 ORDER BY count(*) DESC LIMIT 1)",
	"SELECT count(*) FROM visits " +
		"WHERE diagnosis NOT IN (SELECT diagnosis FROM visits WHERE cost > 11 GROUP BY 1 ORDER BY count(*) DESC LIMIT 1)",
	"SELECT v.diagnosis, count(*) FROM visits v JOIN (SELECT diagnosis, avg(cost) AS m FROM visits WHERE cost > 12 GROUP BY 1) t " +
		"ON t.diagnosis = v.diagnosis WHERE v.cost > 1.5 * t.m GROUP BY 1",
	"SELECT count(*) FROM visits WHERE diagnosis IN (SELECT diagnosis FROM visits WHERE cost > 13 GROUP BY 1 HAVING 10 / count(*) < 100)",
	"SELECT count(*) FROM patients WHERE birth_year < (SELECT min(extract(year FROM day)) - 60 FROM visits)",
	"SELECT count(*) FROM visits v WHERE cost > (SELECT avg(cost) FROM visits w WHERE w.cost > 14 AND w.diagnosis = v.diagnosis)",
	"WITH m AS (SELECT diagnosis, avg(cost) AS mean FROM visits WHERE cost > 15 GROUP BY 1) " +
		"SELECT count(*), sum(cost - (SELECT mean FROM m WHERE m.diagnosis = v.diagnosis)) FROM visits v WHERE cost > 0.15",
	"SELECT count(*) FROM visits " +
		"WHERE cost > (SELECT avg(cost) FROM visits WHERE cost > 16) OR cost < (SELECT avg(cost) FROM visits WHERE cost > 16) / 2",
	"SELECT q, count(*) FROM (SELECT ntile(4) OVER (ORDER BY cost) AS q FROM visits) t GROUP BY q ORDER BY q",
	"SELECT avg(spent) FROM (SELECT sum(cost) AS spent, ntile(2) OVER (ORDER BY least(sum(cost), 900) DESC) AS q " +
		"FROM visits GROUP BY patient_id) t WHERE q = 1",
	"SELECT diagnosis, count(*) FROM (SELECT diagnosis, ntile(3) OVER w AS q " +
		"FROM visits WINDOW w AS (PARTITION BY diagnosis ORDER BY cost)) t WHERE q = 2 GROUP BY diagnosis",
	"SELECT count(*) FROM patients p JOIN (SELECT birth_year, sex, count(*) AS n FROM patients GROUP BY 1, 2) t " +
		"ON t.birth_year = p.birth_year AND t.sex = p.sex WHERE t.n > 3",
	"SELECT h.name, count(*) FROM visits v JOIN hospitals h ON h.id = v.hospital_id " +
		"JOIN (SELECT hospital_id, avg(cost) AS m FROM visits WHERE cost > 24 GROUP BY 1 ORDER BY count(*) DESC LIMIT 2) t " +
		"ON t.hospital_id = h.id WHERE v.cost > t.m GROUP BY h.name",
	"SELECT count(*) FROM visits WHERE cost > 100 / ((SELECT max(cost) FROM visits WHERE cost > 25) - 1)",
	"SELECT count(*), count(*) FILTER (WHERE r > 0.9) FROM (SELECT cume_dist() OVER (ORDER BY cost) AS r FROM visits WHERE cost > 19) t",
}

// twoReleases is the price of two statements at ε = 0.2, each ε²/2, in 10⁻¹²; and what rounding of noise saves of it at most.
const twoReleases, saved = 40_000_000_000, 20_000_000

// TestThresholds asks for the result of a query of which another one's released result is a constant: both are paid for, one after the
// other, and the same statement is free, in both protocols. A refusal costs nothing, also where the first part alone would be answered.
func TestThresholds(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, strings.Replace(sitetest.ClinicPolicy, "epsilon: 9000", "epsilon: 5000, delta: 1e-6", 1)+
		"\nanswers: {epoch: first}\n")
	r := s.Run(t)
	conn := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, conn, "SET dp.epsilon = 0.2; SET dp.notice = off")
	for _, sql := range thresholds {
		before, spentBefore := sitetest.Charges(t, s)
		first := shown(t, conn, sql, pgx.QueryExecModeSimpleProtocol)
		after, spent := sitetest.Charges(t, s)
		if cost := spent - spentBefore; after-before != 2 || cost > twoReleases || cost < twoReleases-saved {
			t.Errorf("%s: %d charges of %d", sql, after-before, cost)
		}
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheDescribe} {
			if again := shown(t, conn, sql, mode); again != first {
				t.Errorf("%s: %q, then %q", sql, first, again)
			}
		}
		plan := shown(t, conn, "EXPLAIN "+sql, pgx.QueryExecModeSimpleProtocol)
		if !strings.Contains(plan, "then, with that result") || strings.Count(plan, "cost: nothing") != 3 {
			t.Errorf("EXPLAIN of what is known: %s", plan)
		}
		if n, again := sitetest.Charges(t, s); n != after || again != spent {
			t.Errorf("%s costs again", sql)
		}
	}
	t.Run("groups", func(t *testing.T) { testThresholdGroups(t, conn) })
	t.Run("refused", func(t *testing.T) { testThresholdRefusals(t, s, conn) })
	t.Run("spend", func(t *testing.T) { testThresholdSpend(t, s, conn) })
	t.Run("within", func(t *testing.T) { testThresholdWithin(t, s, conn) })
	t.Run("forms", func(t *testing.T) { testThresholdForms(t, s, conn) })
	t.Run("failed", func(t *testing.T) { testThresholdFailed(t, s, conn) })
	t.Run("ranks", func(t *testing.T) { testRanks(t, conn) })
}

// testThresholdFailed asks for one value of several groups: that there are several is known when they are released. The error says that
// their charge stays, and they are remembered.
func testThresholdFailed(t *testing.T, s *sitetest.Site, conn *pgx.Conn) {
	const sql = "SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits WHERE cost > 23 GROUP BY diagnosis)"
	n, _ := sitetest.Charges(t, s)
	for _, detail := range []string{"What the statement uses was released before it, and its charge stays.", ""} {
		_, err := conn.Exec(t.Context(), sql)
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || refused.Code != "21000" || refused.Detail != detail {
			t.Errorf("%v, %+v", err, refused)
		}
	}
	if after, _ := sitetest.Charges(t, s); after != n+1 {
		t.Errorf("%d charges", after-n)
	}
}

// testThresholdGroups: the groups of a statement are those of the list that its rows are restricted to.
func testThresholdGroups(t *testing.T, conn *pgx.Conn) {
	for i, groups := range map[int]int{4: 2, 5: 1} {
		if out := shown(t, conn, thresholds[i], pgx.QueryExecModeSimpleProtocol); strings.Count(out, "\n") != 2*groups {
			t.Errorf("%s: %q", thresholds[i], out)
		}
	}
	sitetest.Exec(t, conn, "SET dp.epsilon = 20")
	defer sitetest.Exec(t, conn, "SET dp.epsilon = 0.2")
	for sql, want := range map[string]int{
		// 364 groups of three columns, of which 80 have 12 or 13 patients and the others none
		"SELECT count(*) FROM patients p WHERE (SELECT count(*) FROM patients q " +
			"WHERE q.birth_year = p.birth_year AND q.sex = p.sex AND q.region = p.region) > 6": 1000,
		"SELECT count(*) FROM patients p JOIN (SELECT birth_year, sex, region, count(*) AS n FROM patients GROUP BY 1, 2, 3) t " +
			"USING (birth_year, sex, region) WHERE t.n > 6": 1000,
		// 697 days, each with a sum of its own
		"SELECT count(*) FROM visits v WHERE (SELECT sum(cost) FROM visits w WHERE w.day = v.day AND w.day < '2021-11-28') > -5000": 3985,
	} {
		out := strings.TrimSpace(shown(t, conn, sql, pgx.QueryExecModeSimpleProtocol))
		if n, err := strconv.Atoi(out); err != nil || n < want-20 || n > want+20 {
			t.Errorf("%s: %s", sql, out)
		}
	}
}

// manyConstants is a statement with more constants than it can have: no more than that are taken from the mirror.
const manyConstants = "SELECT count(*) FROM visits v " +
	"JOIN (SELECT s.d, g FROM (SELECT diagnosis AS d, count(*) FROM visits WHERE cost > 30 GROUP BY 1) s, " +
	"generate_series(1, 1000000) g) t " +
	"ON t.g = v.hospital_id AND t.d = v.diagnosis"

// testThresholdRefusals: EXPLAIN tells both prices and their sum, and costs nothing, like what is refused.
func testThresholdRefusals(t *testing.T, s *sitetest.Site, conn *pgx.Conn) {
	n, spent := sitetest.Charges(t, s)
	sitetest.Exec(t, conn, "SET dp.price = loss")
	plan := shown(t, conn, "EXPLAIN "+strings.Replace(thresholds[0], "FROM visits)", "FROM visits WHERE cost > 5)", 1),
		pgx.QueryExecModeSimpleProtocol)
	var prices []float64
	for _, m := range regexp.MustCompile(`cost: ρ=([0-9.]+) of unit`).FindAllStringSubmatch(plan, -1) {
		price, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		prices = append(prices, price)
	}
	if len(prices) != 3 || math.Abs(prices[0]+prices[1]-prices[2]) > 1e-12 || !strings.Contains(plan, "planned here without that result") {
		t.Errorf("EXPLAIN: %v in %s", prices, plan)
	}
	scaled := "/* dp: error=1000000 */ SELECT sum(cost * (SELECT count(*) FROM visits WHERE cost > 6)) FROM visits"
	plan = shown(t, conn, "EXPLAIN "+scaled, pgx.QueryExecModeSimpleProtocol)
	if !strings.Contains(plan, "cost: known when all results are") {
		t.Errorf("EXPLAIN has a price that the result changes: %s", plan)
	}
	_, err := conn.Exec(t.Context(), "EXPLAIN "+manyConstants)
	if sitetest.SQLState(err) != "54000" || !strings.Contains(err.Error(), "more than 1000 rows") {
		t.Error(err)
	}
	for _, sql := range []string{
		manyConstants,
		"SELECT count(*) FROM visits WHERE diagnosis < ANY (SELECT diagnosis FROM visits WHERE cost > 31 GROUP BY 1)",
		"SELECT count(*) FROM visits WHERE md5(cost::text) > (SELECT max(diagnosis) FROM visits)",
		"SELECT stddev(id) FROM visits WHERE cost > (SELECT avg(cost) - 3 FROM visits)",
		"SELECT count(*) FROM visits v WHERE cost > (SELECT avg(cost) FROM visits w WHERE w.diagnosis < v.diagnosis)",
		"SELECT count(*) FROM visits v WHERE cost > (SELECT avg(cost) FROM visits w WHERE w.diagnosis = v.diagnosis LIMIT 1)",
		"SELECT patient_id FROM visits WHERE cost > (SELECT avg(cost) - 4 FROM visits)",
		"SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits WHERE cost > (SELECT stddev(id) FROM visits))",
		"SELECT count(*) FROM visits v WHERE (SELECT count(*) FROM visits w WHERE w.id = v.hospital_id) = 0",
	} {
		if _, err := conn.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s is answered", sql)
		}
	}
	told := shown(t, conn, "SELECT item FROM dp.plan($$"+thresholds[0]+"$$)", pgx.QueryExecModeSimpleProtocol)
	sitetest.Exec(t, conn, "PREPARE prior(numeric) AS SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) - $1 FROM visits)")
	for _, plan := range []string{told, shown(t, conn, "EXPLAIN EXECUTE prior(9)", pgx.QueryExecModeSimpleProtocol)} {
		if !strings.Contains(plan, "together") {
			t.Errorf("the plan of all: %s", plan)
		}
	}
	if after, again := sitetest.Charges(t, s); after != n || again != spent {
		t.Error("EXPLAIN or refusals have cost something")
	}
}

// TestGroupsThatNoneMeets asks for groups of a public list of which none meets the condition, beside totals or alone.
func TestGroupsThatNoneMeets(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	conn := sitetest.Dial(t, s.Run(t).URL("ana"))
	sitetest.Exec(t, conn, "SET dp.notice = off; SET dp.small_groups = show")
	const from, sexes = " FROM visits WHERE diagnosis = 'nope' GROUP BY ", " UNION ALL SELECT sex, count(*) FROM patients GROUP BY sex"
	for sql, rows := range map[string]int{
		"SELECT diagnosis, count(*)" + from + "ROLLUP (diagnosis)":                                          1,
		"SELECT diagnosis, count(*), avg(cost), dp.error(count(*))" + from + "CUBE (diagnosis)":             1,
		"SELECT diagnosis, sum(cost)" + from + "ROLLUP (diagnosis) HAVING count(*) > -1000000":              1,
		"/* dp: consistent=on */ SELECT diagnosis, count(*)" + from + "ROLLUP (diagnosis)":                  1,
		"/* dp: columns=errors */ SELECT diagnosis, count(*)" + from + "ROLLUP (diagnosis)":                 1,
		"SELECT diagnosis, count(*), avg(cost)" + from + "diagnosis":                                        0,
		"SELECT diagnosis, percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)" + from + "ROLLUP (diagnosis)": 1,
		"SELECT diagnosis, percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)" + from + "diagnosis" + sexes:  2,
		"/* dp: error=5000 */ SELECT diagnosis, count(*)" + from + "diagnosis" + sexes:                      2,
		"/* dp: consistent=on */ SELECT diagnosis, count(*)" + from + "diagnosis" + sexes:                   2,
		"/* dp: error=5000 */ SELECT diagnosis, count(*)" + from + "ROLLUP (diagnosis)":                     1,
	} {
		for range 2 {
			tag, err := conn.Exec(t.Context(), sql)
			if err != nil || int(tag.RowsAffected()) != rows {
				t.Errorf("%s: %d rows, %v", sql, tag.RowsAffected(), err)
			}
		}
	}
}

// testThresholdSpend: with dp.spend the price that is shown is that of all parts, and one consent is enough.
func testThresholdSpend(t *testing.T, s *sitetest.Site, conn *pgx.Conn) {
	defer sitetest.Exec(t, conn, "RESET dp.spend")
	sql := strings.Replace(thresholds[0], "FROM visits)", "FROM visits WHERE cost > 6) AND hospital_id <> -6", 1)
	n, spent := sitetest.Charges(t, s)
	for _, mode := range []string{"never", "never", "confirmed"} {
		sitetest.Exec(t, conn, "SET dp.spend = "+mode)
		if _, err := conn.Exec(t.Context(), sql); sitetest.SQLState(err) != "PB018" || !strings.Contains(err.Error(), "ρ=0.0399") {
			t.Errorf("dp.spend = %s: %v", mode, err)
		}
	}
	twice := regexp.MustCompile(`costs ρ=0\.0(399|4 )`)
	for _, sql := range []string{ // nobody knows whether a row meets the condition
		"SELECT count(*) FROM visits WHERE cost BETWEEN 100 - (SELECT avg(cost) FROM visits WHERE cost > 21) AND 50",
		"SELECT diagnosis, count(*) FROM visits WHERE diagnosis = " +
			"(SELECT mode() WITHIN GROUP (ORDER BY diagnosis) FROM visits WHERE cost > 22) GROUP BY 1",
	} {
		if _, err := conn.Exec(t.Context(), sql); sitetest.SQLState(err) != "PB018" || !twice.MatchString(err.Error()) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if after, again := sitetest.Charges(t, s); after != n || again != spent {
		t.Error("what was not wanted has cost something")
	}
	first := shown(t, conn, sql, pgx.QueryExecModeSimpleProtocol)
	if after, _ := sitetest.Charges(t, s); after != n+2 {
		t.Errorf("%d charges", after-n)
	}
	sitetest.Exec(t, conn, "SET dp.spend = never")
	if again := shown(t, conn, sql, pgx.QueryExecModeSimpleProtocol); again != first {
		t.Errorf("%q, then %q", first, again)
	}
}

// testThresholdWithin asks for a threshold that itself has one: three releases, in their order, of which a part that is known is free.
func testThresholdWithin(t *testing.T, s *sitetest.Site, conn *pgx.Conn) {
	const inner = "SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits WHERE cost > 20) AND hospital_id <> -20"
	sql := "SELECT count(*) FROM visits WHERE cost * 1000 > (" + strings.Replace(inner, "count(*)", "sum(cost)", 1) + ")"
	n, spent := sitetest.Charges(t, s)
	first := shown(t, conn, sql, pgx.QueryExecModeSimpleProtocol)
	after, paid := sitetest.Charges(t, s)
	if after != n+3 || paid-spent > twoReleases*3/2 || paid-spent < twoReleases*3/2-2*saved {
		t.Errorf("%d charges of %d", after-n, paid-spent)
	}
	if again := shown(t, conn, sql, pgx.QueryExecModeCacheDescribe); again != first {
		t.Errorf("%q, then %q", first, again)
	}
	shown(t, conn, inner, pgx.QueryExecModeSimpleProtocol)
	if last, _ := sitetest.Charges(t, s); last != after+1 {
		t.Errorf("%d charges of what is known but for one part", last-after)
	}
}

// testThresholdForms asks in the other forms of statements, and with errors beside the columns.
func testThresholdForms(t *testing.T, s *sitetest.Site, conn *pgx.Conn) {
	n, _ := sitetest.Charges(t, s)
	want := shown(t, conn, thresholds[0], pgx.QueryExecModeSimpleProtocol)
	sitetest.Exec(t, conn, "BEGIN; CREATE TEMP TABLE kept AS "+thresholds[0]+"; DECLARE c CURSOR FOR "+thresholds[0])
	for _, sql := range []string{"SELECT * FROM kept", "FETCH 1 FROM c"} {
		if got := shown(t, conn, sql, pgx.QueryExecModeSimpleProtocol); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
	sitetest.Exec(t, conn, "COMMIT; PREPARE p(numeric) AS "+strings.Replace(thresholds[0], "avg(cost)", "avg(cost) + $1", 1))
	if got := shown(t, conn, "EXECUTE p(0)", pgx.QueryExecModeSimpleProtocol); got != want {
		t.Errorf("EXECUTE: %q, want %q", got, want)
	}
	if got := shown(t, conn, "/* dp: columns=errors */ "+thresholds[0], pgx.QueryExecModeSimpleProtocol); strings.Count(got, "\n") != 2 {
		t.Errorf("with errors: %q", got)
	}
	if after, _ := sitetest.Charges(t, s); after != n {
		t.Errorf("the same question costs %d times in other forms", after-n)
	}
}

// testRanks asks for tiles and ranks with little noise: of 5,000 visits 50 have each cost from 0 to 99, and those of a patient are alike.
// Their bounds leave each bucket of the percentiles one value. Cuts are amid the visits of a value: between two of them noise decides.
func testRanks(t *testing.T, conn *pgx.Conn) {
	sitetest.Exec(t, conn, "SET dp.epsilon = 20")
	defer sitetest.Exec(t, conn, "SET dp.epsilon = 0.2")
	for sql, want := range map[string][]float64{
		"SELECT q, count(*) FROM (SELECT ntile(3) OVER (ORDER BY least(cost, 99)) AS q FROM visits) t GROUP BY q ORDER BY q": {
			1, 1700, 2, 1650, 3, 1650,
		},
		"SELECT avg(cost)::float8, count(*) FROM (SELECT cost, ntile(12) OVER (ORDER BY least(cost, 99) DESC, id) FROM visits) t " +
			"WHERE ntile = 1": {95, 450},
		"SELECT count(*), count(*) FILTER (WHERE r BETWEEN 0.205 AND 0.605) FROM " +
			"(SELECT percent_rank() OVER (ORDER BY least(cost, 99) DESC) AS r FROM visits) t WHERE r <= 0.805": {4050, 2000},
		"SELECT f, m, count(*) FROM (SELECT ntile(2) OVER (ORDER BY least(sum(cost), 500)) AS f, ntile(2) OVER w AS m FROM visits " +
			"GROUP BY patient_id WINDOW w AS (ORDER BY least(max(cost), 99) DESC)) t GROUP BY 1, 2 ORDER BY 1, 2": {
			1, 1, 0, 1, 2, 500, 2, 1, 500, 2, 2, 0,
		},
		"SELECT count(*) FROM (SELECT cume_dist() OVER (ORDER BY least(cost, 99)) AS r FROM visits) t WHERE r <= 0.499": {2450},
		"SELECT sex, q, count(*) FROM (SELECT sex, ntile(2) OVER (PARTITION BY sex ORDER BY birth_year) AS q FROM patients) t " +
			"WHERE q IS NOT NULL GROUP BY 1, 2 ORDER BY 1 DESC, 2": {
			math.NaN(), 1, 250, math.NaN(), 2, 250, math.NaN(), 1, 250, math.NaN(), 2, 250,
		},
	} {
		cells := strings.Fields(shown(t, conn, sql, pgx.QueryExecModeCacheDescribe))
		if len(cells) != len(want) {
			t.Fatalf("%s: %q", sql, cells)
		}
		for i, cell := range cells {
			got, err := strconv.ParseFloat(cell, 64)
			if !math.IsNaN(want[i]) && (err != nil || math.Abs(got-want[i]) > 15) {
				t.Errorf("%s: %q, want %v", sql, cells, want)
				break
			}
		}
	}
}

// shown returns all cells of an answer.
func shown(t *testing.T, conn *pgx.Conn, sql string, mode pgx.QueryExecMode) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, mode)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			fmt.Fprint(&b, v, "\n")
		}
	}
	if rows.Err() != nil {
		t.Fatalf("%s: %v", sql, rows.Err())
	}
	return b.String()
}
