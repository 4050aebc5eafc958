package truth_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/needs"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// silentSchema has people with many rows, few people who add to a sum, and many small groups.
const silentSchema = `
CREATE TABLE many (id int PRIMARY KEY, person int NOT NULL, n int NOT NULL);
INSERT INTO many SELECT i, i % 1000, i % 2 FROM generate_series(1, 200000) AS i;
CREATE TABLE sales (id int PRIMARY KEY, person int NOT NULL, day int NOT NULL, x int NOT NULL, key int NOT NULL);
INSERT INTO sales SELECT i, i % 20000, i % 60, i % 97, i % 36250 FROM generate_series(1, 200000) AS i;
CREATE TABLE pays (id int PRIMARY KEY, person int NOT NULL, k int NOT NULL, x numeric(12,2) NOT NULL);
INSERT INTO pays SELECT i, i, i, CASE WHEN i <= 1000 THEN 18000 ELSE 0 END FROM generate_series(1, 30000) AS i;`

const silentPolicy = `privacy_unit: {name: person, budget: {epsilon: 9000, delta: 1e-6}}
tables:
  many: {unit: person, columns: {n: {bounds: [0, 9]}}}
  sales: {unit: person, columns: {day: {bounds: [0, 59]}, x: {bounds: [0, 100]}}}
  pays: {unit: person, columns: {k: {bounds: [0, 40000]}, x: {bounds: [0, 20000]}}}
analysts:
  ana: {password: VERIFIER, tables: [many, sales, pays]}
`

// A silent question is one whose answer is easily far off while its stated error is small. Its column v is the value, and e its
// error. If v is computed of released values, the notice says that its error is unknown.
type silent struct{ name, sql string }

const revenue = "(SELECT day, sum(x) AS revenue, count(*) AS n FROM sales GROUP BY day) t"

var silents = []silent{
	{"people with 200 rows each", "SELECT count(*) AS v, dp.error(count(*)) AS e FROM many WHERE n = 1"},
	{"people with 200 rows each, by group", "SELECT v, e FROM (SELECT n, count(*) AS v, dp.error(count(*)) AS e FROM many GROUP BY n) t " +
		"WHERE n = 1"},
	{"sum of groups", "SELECT sum(revenue) AS v FROM " + revenue},
	{"maximum of groups", "SELECT max(revenue) AS v FROM " + revenue},
	{"minimum of groups", "SELECT min(n) AS v FROM " + revenue},
	{"running total", "SELECT v FROM (SELECT day, sum(revenue) OVER (ORDER BY day) AS v FROM " + revenue + ") u " +
		"WHERE day = 59"},
	{"ratio", "SELECT revenue::numeric / n AS v FROM " + revenue + " WHERE day = 5"},
	{"moving average", "SELECT v FROM (SELECT day, avg(n) OVER (ORDER BY day ROWS 6 PRECEDING) AS v FROM " + revenue + ") u " +
		"WHERE day = 30"},
	{"difference of two queries", "SELECT (SELECT count(*) FROM sales WHERE day < 30) - " +
		"(SELECT count(*) FROM sales WHERE day >= 30) AS v"},
	{"largest group", "SELECT n AS v, e FROM (SELECT day, count(*) AS n, dp.error(count(*)) AS e FROM sales GROUP BY day) t " +
		"ORDER BY v DESC LIMIT 1"},
	{"few people, FILTER", "SELECT sum(x) FILTER (WHERE k BETWEEN 956 AND 1000) AS v, " +
		"dp.error(sum(x) FILTER (WHERE k BETWEEN 956 AND 1000)) AS e FROM pays"},
	{"few people, CASE", "SELECT sum(CASE WHEN k BETWEEN 956 AND 1000 THEN x ELSE 0 END) AS v, " +
		"dp.error(sum(CASE WHEN k BETWEEN 956 AND 1000 THEN x ELSE 0 END)) AS e FROM pays"},
	{"few people, COALESCE", "SELECT sum(coalesce(CASE WHEN k BETWEEN 956 AND 1000 THEN x END, 0)) AS v, " +
		"dp.error(sum(coalesce(CASE WHEN k BETWEEN 956 AND 1000 THEN x END, 0))) AS e FROM pays"},
	{"few people, UNION ALL", "SELECT sum(x) AS v, dp.error(sum(x)) AS e FROM (SELECT person, x FROM pays WHERE k BETWEEN 956 AND 1000 " +
		"UNION ALL SELECT person, x FROM pays WHERE k > 1000) u"},
	{"20 people, WHERE", "SELECT sum(x) AS v, dp.error(sum(x)) AS e FROM pays WHERE k BETWEEN 981 AND 1000"},
	{"45 people, WHERE", "SELECT sum(x) AS v, dp.error(sum(x)) AS e FROM pays WHERE k BETWEEN 956 AND 1000"},
	{"number of groups", "SELECT count(*) AS v FROM (SELECT DISTINCT key FROM sales) t"},
	{"number of groups, HAVING", "SELECT count(*) AS v FROM (SELECT key FROM sales GROUP BY key HAVING count(*) > 0) t"},
	{"number of groups, list", "SELECT cardinality(array_agg(key)) AS v FROM (SELECT key, count(*) FROM sales GROUP BY key) t"},
	{"number of groups, window", "SELECT max(i) AS v FROM (SELECT row_number() OVER () AS i FROM sales GROUP BY key) t"},
	{"number of keys", "SELECT count(DISTINCT key) AS v, dp.error(count(DISTINCT key)) AS e FROM sales"},
}

// silentDraws are how often each question is asked.
const silentDraws = 20

// TestNothingIsSilentlyWrong asks such questions: each answer is within its error, or is NULL, or has an unknown error, or is refused.
func TestNothingIsSilentlyWrong(t *testing.T) {
	needs.Asked(t, *draws > 0, "truth")
	data := sitetest.StartServer(t, pgtemp.Options{})
	sitetest.Exec(t, sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser)), silentSchema)
	s := serve(t, data, silentPolicy)
	var table strings.Builder
	for _, q := range silents {
		if !regexp.MustCompile(*only).MatchString(q.name) {
			continue
		}
		var within, unknown, null, refused, off int
		var mean float64
		truth, _, err := valueAndError(t.Context(), s.truth, strings.ReplaceAll(q.sql, "dp.error", "abs"))
		if err != nil {
			t.Fatalf("%s: %v", q.sql, err)
		}
		for range silentDraws {
			ours := s.ours[0]
			ours.notices = nil
			v, e, err := valueAndError(t.Context(), ours.Conn, q.sql)
			switch said := strings.Join(ours.notices, " "); {
			case err != nil:
				refused++
			case math.IsNaN(v):
				null++
			case strings.Contains(said, "v of unknown error"), math.IsInf(e, 1), math.IsNaN(e):
				unknown++
			case math.Abs(v-truth) <= e:
				within++
			default:
				off++
			}
			if !math.IsNaN(v) {
				mean += v / silentDraws
			}
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %d | %d | %d | %d | %d |\n",
			q.name, digits(truth), digits(mean), within, unknown, null, refused, off)
		if off > 5 { // of 20 at 95 %, by chance one in 100,000
			t.Errorf("%s: %d of %d answers are off by more than they say", q.name, off, silentDraws)
		}
	}
	t.Logf("%d answers to each, ε = %s\n| question | truth | mean | within | unknown | NULL | refused | off |\n"+
		"| --- | --- | --- | --- | --- | --- | --- | --- |\n%s", silentDraws, epsilon, &table)
}

// valueAndError are the columns v and e of an answer of one row, NaN where one is NULL or not there.
func valueAndError(ctx context.Context, conn *pgx.Conn, sql string) (v, e float64, err error) {
	v, e = math.NaN(), math.NaN()
	res := conn.PgConn().ExecParams(ctx, sql, nil, nil, nil, nil).Read()
	if res.Err != nil {
		return v, e, res.Err
	}
	for _, row := range res.Rows {
		for i, f := range res.FieldDescriptions {
			x, err := strconv.ParseFloat(string(row[i]), 64)
			switch {
			case err != nil:
			case f.Name == "v":
				v = x
			case f.Name == "e":
				e = x
			}
		}
	}
	return v, e, nil
}
