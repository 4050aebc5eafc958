package planner_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// The data are made to hurt: patient 1 has more rows, groups and larger values
// than allowed; patient 2 has rows that tie in everything; others are ordinary.
// Visits without a patient belong to nobody.
const adversarial = `
CREATE TYPE place AS (ward int, bed int);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE patients (id int PRIMARY KEY, name text NOT NULL, sex text NOT NULL, birth_year int NOT NULL, region varchar(10) NOT NULL,
  smoker bool, mood mood, weight float8, notes jsonb);
CREATE TABLE visits (id int PRIMARY KEY, patient_id int, hospital_id int NOT NULL, day date NOT NULL, at timestamptz,
  diagnosis text NOT NULL, cost numeric(10,2) NOT NULL, tip numeric, score float4, steps bigint, place place);
CREATE TABLE labs (id int PRIMARY KEY, visit_id int NOT NULL, test text NOT NULL, value float8);
CREATE TABLE hospitals (id int PRIMARY KEY, name text NOT NULL, region text NOT NULL);
INSERT INTO hospitals VALUES (1, 'Mercy', 'north'), (2, 'St. Ann', 'south'), (3, 'General', 'north');
CREATE INDEX ON visits (patient_id);
CREATE INDEX ON visits (diagnosis, cost);
INSERT INTO patients SELECT g, 'n' || g, (ARRAY['f','m','x','?'])[g % 4 + 1],
  CASE WHEN g = 1 THEN 2147483647 WHEN g = 2 THEN -2147483648 ELSE 1920 + g % 90 END,
  (ARRAY['north','south','nowhere'])[g % 3 + 1], g % 3 = 0, (ARRAY['sad','ok','happy'])[g % 3 + 1]::mood,
  (ARRAY['NaN','Infinity','-Infinity','1e308','-1e-308','80.25'])[g % 6 + 1]::float8, '{}' FROM generate_series(1, 300) g;
INSERT INTO visits SELECT g, CASE WHEN g % 10 = 0 THEN NULL WHEN g <= 400 THEN 1 WHEN g <= 600 THEN 2 ELSE g % 300 + 1 END,
  g % 7, date '2020-01-01' + g % 500,
  CASE WHEN g % 5 > 0 THEN timestamptz '2020-01-01 00:00+00' + g * interval '1 hour' END,
  CASE WHEN g BETWEEN 401 AND 600 THEN 'flu' ELSE (ARRAY['asthma','flu','it''s "so"','other'])[g % 4 + 1] END,
  CASE WHEN g BETWEEN 401 AND 600 THEN 5 WHEN g <= 400 THEN 90000 + g ELSE g % 1000 END,
  (ARRAY['NaN','Infinity','-Infinity','1e100','-7.123456789','42'])[g % 6 + 1]::numeric,
  (ARRAY['NaN','Infinity','-Infinity','1e38','-0','0.5'])[g % 6 + 1]::float4,
  CASE WHEN g % 3 = 1 THEN 9223372036854775807 - g WHEN g % 3 = 2 AND g > 400 THEN -9223372036854775808 + g END,
  CASE WHEN g % 2 = 0 THEN ROW(NULL, NULL)::place END FROM generate_series(1, 2000) g;
INSERT INTO labs SELECT g, g % 2000 + 1, (ARRAY['chol','hdl','none'])[g % 3 + 1],
  (ARRAY['NaN','Infinity','-Infinity','1e308','12.5'])[g % 5 + 1]::float8
  FROM generate_series(1, 6000) g;`

// adversarialRows leaves out infinite numerics where the server has none.
func adversarialRows() string {
	if server.InfiniteNumerics() {
		return adversarial
	}
	return strings.Replace(adversarial, "'NaN','Infinity','-Infinity','1e100'", "'NaN','1e1000','-1e1000','1e100'", 1)
}

var sensitivityStatements = []string{
	"SELECT count(*) FROM patients",
	"SELECT sex, smoker, count(*), sum(birth_year), avg(weight) FROM patients GROUP BY 1, 2",
	"SELECT birth_year, sum(count(*)) OVER (ORDER BY birth_year), sum(sum(weight)) OVER (ORDER BY birth_year) FROM patients GROUP BY 1",
	"SELECT count(*) FROM visits",
	"SELECT diagnosis, count(*) FROM visits GROUP BY 1",
	"SELECT diagnosis, count(*), count(tip), sum(cost), avg(cost), sum(tip), avg(score), sum(steps) FROM visits GROUP BY diagnosis",
	"SELECT sum(cost) FROM visits WHERE diagnosis LIKE '%u%' AND hospital_id <> 3",
	"SELECT sum(score), avg(tip) FROM visits WHERE cost < 95000",
	"SELECT count(place) FROM visits", // of the values that are not NULL, some ARE NULL
	"SELECT test, avg(value), sum(value), count(value) FROM labs GROUP BY test",
	"SELECT count(*) FROM labs WHERE value > 3 OR value IS NULL",
	"SELECT hospital_id, count(*), sum(cost), avg(tip) FROM visits GROUP BY 1",
	"SELECT CASE WHEN weight > 5 THEN bpchar 'a' ELSE bpchar 'a  ' END, count(*) FROM patients GROUP BY 1", // one group, spelled twice
	"SELECT DISTINCT hospital_id FROM visits",
	"SELECT d.c > 5, d.c, count(*) FROM (SELECT id, CASE WHEN smoker THEN birth_year / 100 END AS c FROM patients) " +
		"d WHERE (d.c < 100) IS UNKNOWN GROUP BY 1, 2", // one empty list of two types
	"SELECT diagnosis, min(cost), percentile_cont(0.5) WITHIN GROUP (ORDER BY steps) FROM visits GROUP BY 1",
	"SELECT max(day), var_pop(score), stddev(cost) FILTER (WHERE hospital_id > 2) FROM visits",
	"SELECT corr(weight, birth_year), regr_count(birth_year, weight), bool_and(smoker) FROM patients",
	"SELECT diagnosis, covar_pop(cost, score), regr_slope(steps, cost) FILTER (WHERE hospital_id > 2), " +
		"regr_r2(tip, score), regr_avgx(tip, score) FROM visits GROUP BY 1",
	"SELECT covar_samp(cost, cost), regr_intercept(cost, v.cost) FROM visits v",
	"SELECT count(DISTINCT id), count(DISTINCT hospital_id), count(DISTINCT patient_id), count(DISTINCT tip) FROM visits",
	"SELECT diagnosis, count(DISTINCT id), count(DISTINCT hospital_id) FROM visits GROUP BY 1",
	"SELECT diagnosis, extract(year FROM day), count(*), sum(cost) FROM visits GROUP BY CUBE (1, 2)",
	"SELECT diagnosis, hospital_id, count(*), count(tip) FILTER (WHERE cost > 3), sum(cost), sum(tip), sum(score), avg(cost), " +
		"stddev(cost), count(DISTINCT hospital_id) FROM visits GROUP BY ROLLUP (1, 2)",
	"SELECT sex, extract(year FROM day), count(*), sum(tip) FROM visits v JOIN patients p ON p.id = v.patient_id GROUP BY CUBE (1, 2)",
	"SELECT date_trunc('month', day), count(*) FROM visits GROUP BY 1",
	"SELECT h.region, count(*), sum(v.cost * 2) FROM visits v JOIN hospitals h ON h.id = v.hospital_id GROUP BY 1",
	"SELECT h.name, count(v.id), sum(v.tip) FROM hospitals h LEFT JOIN visits v ON v.hospital_id = h.id GROUP BY 1",
	"SELECT p.sex, count(*), sum(least(v.steps, 1000)) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id " +
		"AND v.cost > 100 GROUP BY 1",
	"SELECT l.test, sum(least(greatest(v.cost / nullif(l.value, 0), 0), 100)) FILTER (WHERE l.value > 1) FROM " +
		"visits v JOIN labs l ON l.visit_id = v.id GROUP BY 1",
	"SELECT count(*) FROM visits a JOIN visits b USING (patient_id)",
	"SELECT avg(n), max(n), sum(s) FROM (SELECT patient_id, count(*) AS n, sum(least(cost, 50)) AS s FROM visits " +
		"GROUP BY 1 HAVING sum(tip) > 0) t",
	"SELECT n, count(*) FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1) t GROUP BY n",
	"SELECT d, count(*) FROM (SELECT patient_id, day AS d FROM visits UNION ALL SELECT id, CAST(NULL AS date) FROM patients) u GROUP BY 1",
	"SELECT stddev(n), corr(n, s), covar_pop(p.birth_year, n), regr_slope(n, n), avg(n) FROM patients p JOIN " +
		"(SELECT patient_id, count(*) AS n, sum(least(cost, 50)) AS s FROM visits GROUP BY 1) t ON t.patient_id = p.id",
	"SELECT sex, var_pop(n), regr_r2(n, birth_year) FROM patients p JOIN (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1) t " +
		"ON t.patient_id = p.id GROUP BY 1",
	"SELECT stddev(cost - tip), corr(day - date '2020-06-01', cost - tip), avg(day - timestamp '2020-01-01') FROM visits",
	"SELECT diagnosis, stddev(cost - tip), corr(day - date '2020-06-01', cost - tip) FILTER (WHERE hospital_id > 2), " +
		"avg(day - timestamp '2020-01-01'), covar_samp(cost * tip, cost * tip) FROM visits GROUP BY 1",
	"SELECT hospital_id, stddev(cost * tip), regr_intercept(cost + tip, score) FROM visits GROUP BY 1",
	"SELECT var_samp(birth_year - weight), corr(weight * 2, birth_year), avg(weight - birth_year) FROM patients",
	"SELECT count(*) FROM patients WHERE id IN (SELECT patient_id FROM visits WHERE cost > 500) AND NOT EXISTS " +
		"(SELECT 1 FROM labs l JOIN visits w ON w.id = l.visit_id WHERE w.patient_id = patients.id AND l.value > 20)",
}

// unboundedStatements need no bounds of values.
var unboundedStatements = []string{
	"SELECT sum(cost), avg(cost), sum(steps) FROM visits",
	"SELECT avg(steps), sum(hospital_id) FROM visits",
	"SELECT diagnosis, sum(cost), avg(cost), sum(steps), avg(hospital_id) FILTER (WHERE cost > 3) FROM visits GROUP BY 1",
	"SELECT hospital_id, sum(cost), avg(cost) FROM visits GROUP BY 1",
	"SELECT sum(cost) FILTER (WHERE cost < 0), avg(cost) FILTER (WHERE cost < 0) FROM visits",
}

// topStatements choose groups, of which patients 1 and 2 are in all, and measure those alone.
var topStatements = []string{
	"SELECT extract(month FROM day), count(*) FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
	"SELECT date_trunc('month', day), count(*), sum(cost), sum(score), count(DISTINCT patient_id) FROM visits GROUP BY 1 " +
		"ORDER BY 3 DESC LIMIT 4",
	"SELECT diagnosis, sum(steps), count(tip) FILTER (WHERE cost > 3) FROM visits GROUP BY 1 ORDER BY 3 DESC LIMIT 1",
	"SELECT extract(month FROM day), count(*), stddev(cost * tip), corr(cost * tip, tip), avg(cost) FROM visits GROUP BY 1 " +
		"ORDER BY 2 DESC LIMIT 3",
	"SELECT birth_year, sum(weight), count(*) FROM patients GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
	"SELECT extract(month FROM day), count(DISTINCT patient_id) FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 6",
}

// forced makes Postgres read the same rows in other orders.
var forced = []string{
	"SET enable_seqscan = on",
	"SET enable_seqscan = off; SET enable_bitmapscan = off",
	"SET enable_seqscan = on; SET enable_hashagg = off; SET enable_hashjoin = off",
	"SET enable_hashagg = on; SET enable_sort = off; SET enable_mergejoin = off; SET enable_nestloop = off; SET enable_hashjoin = on",
	"RESET ALL; SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; " +
		"SET min_parallel_table_scan_size = 0",
	"RESET ALL; SET work_mem = '64kB'",
}

// A reading is the result of a plan's reads, by grouping set.
type reading []*plantest.Exact

// variants are the ways to bound units that the statements are planned under.
func variants(t *testing.T) []variant {
	t.Helper()
	var out []variant
	unlimited, unbounded, bounded := unlimitedClinic(t), unlimitedClinic(t, "cost", "steps"), boundedClinic(t)
	for _, mechanism := range []string{"laplace", "gaussian"} {
		with := func(name string, cat *policy.Model, statements, orders []string, change func(*planner.Settings)) {
			out = append(out, variant{name + ", " + mechanism, cat, statements, orders, func(s *planner.Settings) {
				s.Mechanism = mechanism
				change(s)
			}})
		}
		with("the policy's numbers", clinic(t), sensitivityStatements, nil, func(*planner.Settings) {})
		with("limits chosen below the policy's", clinic(t), sensitivityStatements, nil, func(s *planner.Settings) {
			s.Contribution = planner.ChosenContribution
		})
		with("limits chosen", unlimited, sensitivityStatements, forced, func(*planner.Settings) {})
		with("bounds of expressions", bounded, boundedStatements, nil, func(*planner.Settings) {})
		with("no bounds of values", unbounded, unboundedStatements, forced, func(*planner.Settings) {})
		with("a limit of sums", unbounded, unboundedStatements, nil, func(s *planner.Settings) { s.MaxSum = big.NewRat(70_000, 1) })
	}
	for _, pure := range []bool{false, true} {
		for name, cat := range map[string]*policy.Model{"the policy's numbers": clinic(t), "limits chosen": unlimited} {
			name = fmt.Sprintf("top of groups, %s, pure: %t", name, pure)
			out = append(out, variant{name, cat, topStatements, forced, func(s *planner.Settings) {
				s.Mechanism, s.Pure, s.Top = "auto", pure, "on"
			}})
		}
	}
	return out
}

type variant struct {
	name       string
	cat        *policy.Model
	statements []string
	orders     []string // in which the same rows are read as well
	change     func(*planner.Settings)
}

// unlimitedClinic is a clinic without numbers of rows, and without the bounds of some columns of
// visits.
func unlimitedClinic(t *testing.T, unbounded ...string) *policy.Model {
	t.Helper()
	p := clinicPolicy()
	for i := range p.Tables {
		p.Tables[i].MaxRows, p.Tables[i].MaxPartitions = 0, 0
		for _, c := range unbounded {
			delete(p.Tables[i].Columns, c)
		}
	}
	return checkedBy(t, p, clinicSchema())
}

// TestSensitivity compares exact integers with and without a patient, for every limit that patients can
// be cut at.
func TestSensitivity(t *testing.T) {
	conn := connect(t)
	run(t, conn, "ANALYZE")
	nullsAddNothing(t, conn, clinic(t))
	for _, v := range variants(t) {
		t.Run(v.name, func(t *testing.T) { v.sensitivity(t, conn) })
	}
}

func (v variant) sensitivity(t *testing.T, conn *pgconn.PgConn) {
	reached := map[string]float64{}
	whole := map[string]reading{}
	plan := func(sql string) specialized { return planWith(t, conn, v.cat, sql, v.change) }
	for _, sql := range v.statements {
		p := plan(sql)
		whole[sql] = p.read(t, conn)
		for _, f := range v.orders {
			run(t, conn, f)
			same(t, sql+" under "+f, whole[sql], p.read(t, conn))
		}
		run(t, conn, "RESET ALL")
	}
	run(t, conn, "BEGIN")
	shuffle(t, conn)
	for _, sql := range v.statements {
		same(t, sql+" after the heap was shuffled", whole[sql], plan(sql).read(t, conn))
	}
	for _, unit := range []int{1, 2, 3, 17, 300} {
		run(t, conn, "SAVEPOINT s")
		removeUnit(t, conn, unit)
		for _, sql := range v.statements {
			p := plan(sql)
			p.withinSensitivity(t, fmt.Sprintf("%s without unit %d", sql, unit), whole[sql], p.read(t, conn), reached)
		}
		run(t, conn, "ROLLBACK TO s")
	}
	undo(t, conn)
	for _, kind := range slices.Sorted(maps.Keys(reached)) {
		t.Logf("reached %.4f of the declared sensitivity: %s", reached[kind], kind)
		least := 0.99
		if strings.HasSuffix(kind, "of an average") {
			least = 0.66 // weights are of levels, two in each octave
		}
		if reached[kind] < least {
			t.Errorf("no %s came near its declared sensitivity (%.3f of it): the declaration, or this "+
				"test, is too loose", kind, reached[kind])
		}
	}
}

// removeUnit deletes all rows of a patient.
func removeUnit(t *testing.T, conn *pgconn.PgConn, unit int) {
	t.Helper()
	run(t, conn, fmt.Sprintf("DELETE FROM labs WHERE visit_id IN (SELECT id FROM visits WHERE patient_id = %[1]d); "+
		"DELETE FROM visits WHERE patient_id = %[1]d; DELETE FROM patients WHERE id = %[1]d", unit))
}

// Rows without a value add nothing to a sum, not even a bound.
func nullsAddNothing(t *testing.T, conn *pgconn.PgConn, cat *policy.Model) {
	t.Helper()
	const sums = "SELECT sum(weight), avg(weight) FROM patients WHERE id > 1000"
	const tips = "SELECT sum(tip), avg(tip) FROM visits WHERE id > 10000"
	run(t, conn, "BEGIN")
	run(t, conn, "INSERT INTO patients SELECT g, 'n', 'f', 1950, 'north', NULL, NULL, 70, NULL FROM generate_series(1001, 1003) g")
	run(t, conn, "INSERT INTO visits SELECT g, g - 9000, 1, '2020-01-01', NULL, 'flu', 1, 2.5, NULL, NULL FROM "+
		"generate_series(10001, 10003) g")
	weights, tipped := plan(t, conn, cat, sums).read(t, conn), plan(t, conn, cat, tips).read(t, conn)
	run(t, conn, "INSERT INTO patients SELECT g, 'n', 'f', 1950, 'north', NULL, NULL, NULL, NULL FROM generate_series(1004, 1020) g")
	run(t, conn, "INSERT INTO visits SELECT g, 1001, 1, '2020-01-01', NULL, 'flu', 1, NULL, NULL, NULL FROM "+
		"generate_series(10004, 10010) g")
	same(t, sums+" with rows without a value", weights, plan(t, conn, cat, sums).read(t, conn))
	same(t, tips+" with rows without a value", tipped, plan(t, conn, cat, tips).read(t, conn))
	run(t, conn, "ROLLBACK")
}

// A sensitivity that is declared too small must be seen by the test above.
func TestSensitivityTwin(t *testing.T) {
	conn := connect(t)
	for _, c := range []struct{ sql, mechanism string }{
		{"SELECT var_samp(birth_year - weight), corr(weight * birth_year, birth_year) FROM patients", "gaussian"},
		{"SELECT sex, covar_pop(weight * birth_year, birth_year) FROM patients GROUP BY 1", "laplace"},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "gaussian"},
		{"SELECT diagnosis, sum(cost) FROM visits GROUP BY 1", "laplace"},
		{"SELECT avg(cost) FROM visits", "gaussian"},
		{"SELECT max(day) FROM visits", "laplace"},
		{
			"SELECT y, sum(s) OVER (ORDER BY y) FROM " +
				"(SELECT least(birth_year, 2010) AS y, sum(birth_year) AS s FROM patients GROUP BY 1) t",
			"gaussian",
		},
		{topStatements[0], "auto"},
		{topStatements[1], "exponential"},
	} {
		p := planWith(t, conn, clinic(t), c.sql, func(s *planner.Settings) { s.Mechanism, s.Top = c.mechanism, "on" })
		with := p.read(t, conn)
		run(t, conn, "BEGIN")
		removeUnit(t, conn, 1)
		n := plantest.Neighbours{Set: p.Blocks[0].Sets[0], With: with[0], Without: p.read(t, conn)[0], Reached: map[string]float64{}}
		run(t, conn, "ROLLBACK")
		if err := n.Check(); err != nil {
			t.Errorf("%s: %v", c.sql, err)
		}
		n.Declared = 0.5
		if err := n.Check(); err == nil {
			t.Errorf("%s: half of the sensitivity is enough", c.sql)
		}
	}
}

// A specialized is a plan with the values of its constants.
type specialized struct {
	*planner.Plan
	values []scalar.Value
}

func plan(t testing.TB, conn *pgconn.PgConn, cat *policy.Model, sql string) specialized {
	t.Helper()
	return planWith(t, conn, cat, sql, func(*planner.Settings) {})
}

// analyzed resolves a statement, which has no parameters.
func analyzed(t testing.TB, cat *policy.Model, sql string) *planner.Query {
	t.Helper()
	script, err := parser.Parse(sql, planner.Names(cat))
	if err != nil {
		t.Fatal(err)
	}
	q, err := planner.Analyze(nil, cat, script.Statements[0], nil)
	if err != nil {
		t.Fatalf("%.200s: %v", sql, err)
	}
	return q
}

// planWith changes the settings first.
func planWith(t testing.TB, conn *pgconn.PgConn, cat *policy.Model, sql string, change func(*planner.Settings)) specialized {
	t.Helper()
	p, err := planned(t, conn, cat, sql, change)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return p
}

// planned plans a statement that can be refused for its constants.
func planned(t testing.TB, conn *pgconn.PgConn, cat *policy.Model, sql string, change func(*planner.Settings)) (specialized, error) {
	t.Helper()
	q := analyzed(t, cat, sql)
	vals := evaluate(t, conn, q, nil, nil)
	s := planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e8, Mechanism: "laplace", Alpha: 0.05,
		Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
	}
	change(&s)
	p, err := q.Specialize(nil, vals, s)
	return specialized{p, vals}, err
}

// read runs the SQL of the plan's only block.
func (p specialized) read(t *testing.T, conn *pgconn.PgConn) reading {
	t.Helper()
	out := plantest.NewExacts(p.Blocks[0])
	for i, set := range p.Blocks[0].Sets {
		e := out[i]
		for _, r := range set.Reads {
			err := e.AddAll(r, func(st planner.Statement, formats []int16) ([][][]byte, error) {
				res := conn.ExecParams(t.Context(), st.SQL, p.params(st), nil, p.formats(st), formats).Read()
				return res.Rows, res.Err
			})
			if err != nil {
				t.Fatalf("%v\n%s", err, r.SQL)
			}
		}
	}
	return out
}

func (p specialized) params(r planner.Statement) [][]byte {
	inner, outer := plantest.Pads()
	var params [][]byte
	for _, prm := range r.Params {
		value := []byte(prm.Text)
		switch prm.Kind {
		case planner.FoldParam:
			value = p.values[prm.Fold].Bytes
		case planner.InnerPadParam:
			value = inner
		case planner.OuterPadParam:
			value = outer
		case planner.TextParam:
		}
		params = append(params, value)
	}
	return params
}

func (p specialized) formats(r planner.Statement) []int16 {
	var formats []int16
	for _, prm := range r.Params {
		format := int16(1)
		if prm.Kind == planner.TextParam || prm.Kind == planner.FoldParam && !p.values[prm.Fold].Binary {
			format = 0
		}
		formats = append(formats, format)
	}
	return formats
}

// withinSensitivity checks every statistic against its sensitivity.
func (p specialized) withinSensitivity(t *testing.T, what string, with, without reading, reached map[string]float64) {
	t.Helper()
	for i, set := range p.Blocks[0].Sets {
		n := plantest.Neighbours{Set: set, With: with[i], Without: without[i], Sampled: 100, Reached: reached}
		if err := n.Check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func same(t *testing.T, what string, a, b reading) {
	t.Helper()
	for i := range a {
		if d := a[i].Differ(b[i]); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
}

// shuffle rewrites every heap in another order.
func shuffle(t *testing.T, conn *pgconn.PgConn) {
	t.Helper()
	for _, table := range []string{"patients", "visits", "labs"} {
		run(t, conn, fmt.Sprintf("CREATE TEMP TABLE s AS SELECT * FROM %[1]s ORDER BY random(); DELETE FROM %[1]s; "+
			"INSERT INTO %[1]s SELECT * FROM s; DROP TABLE s", table))
	}
}
