package planner_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/dp"
	"dpproxy/internal/pgtemp"
	"dpproxy/parser"
	"dpproxy/planner"
)

// The data are made to hurt: patient 1 has more rows, groups and larger values
// than allowed; patient 2 has rows that tie in everything; others are ordinary.
// Visits without a patient belong to nobody.
const adversarial = `
CREATE TYPE place AS (ward int, bed int);
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE patients (id int PRIMARY KEY, name text NOT NULL, sex text NOT NULL, birth_year int NOT NULL, region varchar(10) NOT NULL,
  smoker bool, mood mood, weight float8, notes jsonb);
CREATE TABLE visits (id int PRIMARY KEY, patient_id int, hospital_id int NOT NULL, day date NOT NULL, at timestamptz, diagnosis text NOT NULL,
  cost numeric(10,2) NOT NULL, tip numeric, score float4, steps bigint, place place);
CREATE TABLE labs (id int PRIMARY KEY, visit_id int NOT NULL, test text NOT NULL, value float8);
CREATE INDEX ON visits (patient_id);
CREATE INDEX ON visits (diagnosis, cost);
INSERT INTO patients SELECT g, 'n' || g, (ARRAY['f','m','x','?'])[g % 4 + 1], CASE WHEN g = 1 THEN 2147483647 WHEN g = 2 THEN -2147483648 ELSE 1920 + g % 90 END,
  (ARRAY['north','south','nowhere'])[g % 3 + 1], g % 3 = 0, (ARRAY['sad','ok','happy'])[g % 3 + 1]::mood,
  (ARRAY['NaN','Infinity','-Infinity','1e308','-1e-308','80.25'])[g % 6 + 1]::float8, '{}' FROM generate_series(1, 300) g;
INSERT INTO visits SELECT g, CASE WHEN g % 10 = 0 THEN NULL WHEN g <= 400 THEN 1 WHEN g <= 600 THEN 2 ELSE g % 300 + 1 END, g % 7, date '2020-01-01' + g % 500,
  CASE WHEN g % 5 > 0 THEN timestamptz '2020-01-01 00:00+00' + g * interval '1 hour' END,
  CASE WHEN g BETWEEN 401 AND 600 THEN 'flu' ELSE (ARRAY['asthma','flu','it''s "so"','other'])[g % 4 + 1] END,
  CASE WHEN g BETWEEN 401 AND 600 THEN 5 WHEN g <= 400 THEN 90000 + g ELSE g % 1000 END,
  (ARRAY['NaN','Infinity','-Infinity','1e100','-7.123456789','42'])[g % 6 + 1]::numeric,
  (ARRAY['NaN','Infinity','-Infinity','1e38','-0','0.5'])[g % 6 + 1]::float4,
  CASE WHEN g % 3 > 0 THEN 9223372036854775807 - g END,
  CASE WHEN g % 2 = 0 THEN ROW(NULL, NULL)::place END FROM generate_series(1, 2000) g;
INSERT INTO labs SELECT g, g % 2000 + 1, (ARRAY['chol','hdl','none'])[g % 3 + 1], (ARRAY['NaN','Infinity','-Infinity','1e308','12.5'])[g % 5 + 1]::float8
  FROM generate_series(1, 6000) g;`

var sensitivityStatements = []string{
	"SELECT count(*) FROM patients",
	"SELECT sex, smoker, count(*), sum(birth_year), avg(weight) FROM patients GROUP BY 1, 2",
	"SELECT count(*) FROM visits",
	"SELECT diagnosis, count(*) FROM visits GROUP BY 1",
	"SELECT diagnosis, count(*), count(tip), sum(cost), avg(cost), sum(tip), avg(score), sum(steps) FROM visits GROUP BY diagnosis",
	"SELECT sum(cost) FROM visits WHERE diagnosis LIKE '%u%' AND hospital_id <> 3",
	"SELECT sum(score), avg(tip) FROM visits WHERE cost < 95000",
	"SELECT count(place) FROM visits", // of the values that are not NULL, some ARE NULL
	"SELECT test, avg(value), sum(value), count(value) FROM labs GROUP BY test",
	"SELECT count(*) FROM labs WHERE value > 3 OR value IS NULL",
}

// forced makes Postgres read the same rows in other orders.
var forced = []string{
	"SET enable_seqscan = on",
	"SET enable_seqscan = off; SET enable_bitmapscan = off",
	"SET enable_seqscan = on; SET enable_hashagg = off; SET enable_hashjoin = off",
	"SET enable_hashagg = on; SET enable_sort = off; SET enable_mergejoin = off; SET enable_nestloop = off; SET enable_hashjoin = on",
	"RESET ALL; SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0",
	"RESET ALL; SET work_mem = '64kB'",
}

// vector is what one block's SQL returns: measures by partition.
type vector map[string][]*big.Int

func TestSensitivity(t *testing.T) {
	cat := clinic(t)
	srv, err := pgtemp.Start(t.Context(), pgtemp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop()
	conn, err := pgx.Connect(t.Context(), srv.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	run(t, conn, adversarial)
	run(t, conn, "ANALYZE")
	reached := map[string]float64{}
	whole := map[string]vector{}
	for _, sql := range sensitivityStatements {
		whole[sql] = readBlock(t, conn, plan(t, cat, sql))
		for _, f := range forced {
			run(t, conn, f)
			same(t, sql+" under "+f, whole[sql], readBlock(t, conn, plan(t, cat, sql)))
		}
		run(t, conn, "RESET ALL")
	}
	nullsAddNothing(t, conn, cat)
	shuffle(t, conn)
	for _, sql := range sensitivityStatements {
		same(t, sql+" after the heap was shuffled", whole[sql], readBlock(t, conn, plan(t, cat, sql)))
	}
	for _, unit := range []int{1, 2, 3, 17, 300} {
		run(t, conn, "BEGIN")
		run(t, conn, fmt.Sprintf("DELETE FROM labs WHERE visit_id IN (SELECT id FROM visits WHERE patient_id = %[1]d); DELETE FROM visits WHERE patient_id = %[1]d; DELETE FROM patients WHERE id = %[1]d", unit))
		for _, sql := range sensitivityStatements {
			p := plan(t, cat, sql)
			bounded(t, fmt.Sprintf("%s without unit %d", sql, unit), p, whole[sql], readBlock(t, conn, p), reached)
		}
		run(t, conn, "ROLLBACK")
	}
	for _, kind := range []string{"count", "sum"} {
		if reached[kind] < 0.99 {
			t.Errorf("no %s came near its declared sensitivity (%.3f of it): the declaration, or this test, is too loose", kind, reached[kind])
		}
	}
}

// Rows without a value add nothing to a sum, not even a bound.
func nullsAddNothing(t *testing.T, conn *pgx.Conn, cat *planner.Catalog) {
	t.Helper()
	const sums = "SELECT sum(weight), avg(weight) FROM patients WHERE id > 1000"
	const tips = "SELECT sum(tip), avg(tip) FROM visits WHERE id > 10000"
	run(t, conn, "BEGIN")
	run(t, conn, "INSERT INTO patients SELECT g, 'n', 'f', 1950, 'north', NULL, NULL, 70, NULL FROM generate_series(1001, 1003) g")
	run(t, conn, "INSERT INTO visits SELECT g, g - 9000, 1, '2020-01-01', NULL, 'flu', 1, 2.5, NULL, NULL FROM generate_series(10001, 10003) g")
	weights, tipped := readBlock(t, conn, plan(t, cat, sums)), readBlock(t, conn, plan(t, cat, tips))
	run(t, conn, "INSERT INTO patients SELECT g, 'n', 'f', 1950, 'north', NULL, NULL, NULL, NULL FROM generate_series(1004, 1020) g")
	run(t, conn, "INSERT INTO visits SELECT g, 1001, 1, '2020-01-01', NULL, 'flu', 1, NULL, NULL, NULL FROM generate_series(10004, 10010) g")
	same(t, sums+" with rows without a value", weights, readBlock(t, conn, plan(t, cat, sums)))
	same(t, tips+" with rows without a value", tipped, readBlock(t, conn, plan(t, cat, tips)))
	run(t, conn, "ROLLBACK")
}

// A sensitivity that is declared too small must be seen by the test above.
func TestSensitivityTwin(t *testing.T) {
	seven, one := []*big.Int{big.NewInt(7)}, []*big.Int{big.NewInt(1)}
	if within(vector{"1": seven, "2": one}, vector{"1": one, "2": one}, dp.Sensitivity{L0: 1, LInf: 5}, 0) == nil {
		t.Error("a change of 6 fits a sensitivity of 5")
	}
	if within(vector{"1": seven, "2": seven}, vector{}, dp.Sensitivity{L0: 1, LInf: 7}, 0) == nil {
		t.Error("changes in two partitions fit l0 = 1")
	}
	if err := within(vector{"1": seven}, vector{"1": one}, dp.Sensitivity{L0: 1, LInf: 6}, 0); err != nil {
		t.Error(err)
	}
}

func plan(t *testing.T, cat *planner.Catalog, sql string) *planner.Plan {
	t.Helper()
	script, err := parser.Parse(sql, cat)
	if err != nil {
		t.Fatal(err)
	}
	q, err := planner.Analyze(cat, script.Statements[0])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var oids []uint32
	var vals []planner.Value
	for _, f := range q.Folds() {
		v := planner.Value{OID: 23, Bytes: []byte(literal(f.SQL))}
		switch {
		case strings.Contains(f.SQL, "float8"):
			v.OID, v.Bytes = 701, []byte(strings.Fields(strings.TrimPrefix(f.SQL, "CAST("))[0])
		case strings.Contains(f.SQL, "'"):
			v.OID = 25
		}
		oids, vals = append(oids, v.OID), append(vals, v)
	}
	tm, err := q.Compile(oids)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	p, err := tm.Bind(vals, planner.Settings{EpsilonPico: dp.PicoPerUnit, Mechanism: "laplace", Alpha: 0.05})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	foldValues = vals
	return p
}

// foldValues are the constants of the plan made last.
var foldValues []planner.Value

// readBlock runs the SQL of the plan's only block.
func readBlock(t *testing.T, conn *pgx.Conn, p *planner.Plan) vector {
	t.Helper()
	b := p.Blocks[0]
	pad := sha256.Sum256([]byte("a secret"))
	var params [][]byte
	var formats []int16
	for _, prm := range b.Params {
		value, format := []byte(prm.Text), int16(0)
		switch prm.Kind {
		case planner.FoldParam:
			value = foldValues[prm.Fold].Bytes
		case planner.InnerPadParam, planner.OuterPadParam:
			value, format = pad[:], 1
		case planner.TextParam:
		}
		params, formats = append(params, value), append(formats, format)
	}
	res := conn.PgConn().ExecParams(t.Context(), b.SQL, params, nil, formats, nil).Read()
	if res.Err != nil {
		t.Fatalf("%v\n%s", res.Err, b.SQL)
	}
	return vectorOf(res, b.Keys())
}

func vectorOf(res *pgconn.Result, keys int) vector {
	v := vector{}
	for _, row := range res.Rows {
		var key []string
		for _, k := range row[:keys] {
			key = append(key, string(k))
		}
		var cells []*big.Int
		for _, c := range row[keys:] {
			n, _ := new(big.Int).SetString(string(c), 10)
			cells = append(cells, n)
		}
		v[strings.Join(key, ",")] = cells
	}
	return v
}

// bounded checks every measure against the sensitivity of its mechanism.
func bounded(t *testing.T, what string, p *planner.Plan, with, without vector, reached map[string]float64) {
	t.Helper()
	for i, m := range p.Blocks[0].Mechanisms {
		s := m.Event().(dp.LaplaceEvent).Sensitivity
		if err := within(with, without, s, i); err != nil {
			t.Errorf("%s, measure %d: %v", what, i+1, err)
		}
		kind := "count"
		if s.LInf > 1000 {
			kind = "sum"
		}
		for k := range with {
			change, _ := new(big.Float).SetInt(difference(with, without, k, i)).Float64()
			reached[kind] = max(reached[kind], change/float64(s.LInf))
		}
	}
}

func within(with, without vector, s dp.Sensitivity, measure int) error {
	touched := int64(0)
	keys := map[string]bool{}
	for k := range with {
		keys[k] = true
	}
	for k := range without {
		keys[k] = true
	}
	for k := range keys {
		d := difference(with, without, k, measure)
		if d.Sign() > 0 {
			touched++
		}
		if d.Cmp(big.NewInt(s.LInf)) > 0 {
			return fmt.Errorf("partition %s changes by %v, more than %d", k, d, s.LInf)
		}
	}
	if touched > s.L0 {
		return fmt.Errorf("%d partitions change, more than %d", touched, s.L0)
	}
	return nil
}

func difference(with, without vector, key string, measure int) *big.Int {
	at := func(v vector) *big.Int {
		if cells, ok := v[key]; ok {
			return cells[measure]
		}
		return new(big.Int)
	}
	d := new(big.Int).Sub(at(with), at(without))
	return d.Abs(d)
}

func same(t *testing.T, what string, a, b vector) {
	t.Helper()
	if len(a) != len(b) {
		t.Errorf("%s: %d partitions, then %d", what, len(a), len(b))
	}
	for k := range a {
		for i := range a[k] {
			if difference(a, b, k, i).Sign() != 0 {
				t.Errorf("%s: partition %s, measure %s differs", what, k, strconv.Itoa(i+1))
			}
		}
	}
}

func run(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// shuffle rewrites every heap in another order.
func shuffle(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for _, table := range []string{"patients", "visits", "labs"} {
		run(t, conn, fmt.Sprintf("CREATE TEMP TABLE s AS SELECT * FROM %[1]s ORDER BY random(); DELETE FROM %[1]s; INSERT INTO %[1]s SELECT * FROM s; DROP TABLE s", table))
	}
}
