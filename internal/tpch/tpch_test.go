package tpch_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"dpproxy/internal/demo"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/tpch"
)

func generate(t *testing.T, seed uint64, scale float64) *tpch.Generator {
	t.Helper()
	g, err := tpch.Generate(seed, scale)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGenerateRefusesScales(t *testing.T) {
	for _, scale := range []float64{0, -1, 0.0009, 100.1, math.Inf(1), math.NaN()} {
		if _, err := tpch.Generate(1, scale); err == nil {
			t.Errorf("scale factor %v is accepted", scale)
		}
	}
}

// head returns the first rows of each table as text.
func head(t *testing.T, g *tpch.Generator) (rows []string) {
	t.Helper()
	for _, table := range g.Tables() {
		n := 0
		for row, err := range table.Rows {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, fmt.Sprint(table.Name, row))
			if n++; n == 50 {
				break
			}
		}
	}
	return rows
}

func TestSeedDecidesRows(t *testing.T) {
	first, again, other := head(t, generate(t, 1, 0.001)), head(t, generate(t, 1, 0.001)), head(t, generate(t, 2, 0.001))
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("one seed, two databases:\n%s", diff)
	}
	same := 0
	for i := range min(len(first), len(other)) {
		if first[i] == other[i] {
			same++
		}
	}
	if same > 30 { // regions and nations
		t.Errorf("two seeds share %d of %d rows", same, len(first))
	}
}

// load fills a server of its own at scale factor 0.02.
func load(t *testing.T) *pgx.Conn {
	t.Helper()
	s, err := pgtemp.Start(t.Context(), pgtemp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	conn, err := pgx.Connect(t.Context(), s.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	if err := demo.Load(t.Context(), conn, generate(t, 1, 0.02), nil); err != nil {
		t.Fatal(err)
	}
	return conn
}

// value reads one value as text.
func value(t *testing.T, conn *pgx.Conn, sql string) (text string) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT ("+sql+")::text").Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

func TestLoad(t *testing.T) {
	conn := load(t)
	t.Run("shape", func(t *testing.T) { expect(t, conn, shape) })
	t.Run("rules", func(t *testing.T) { expectNone(t, conn, violations) })
	t.Run("selectivity", func(t *testing.T) { expectShares(t, conn) })
	t.Run("queries", func(t *testing.T) { expectRows(t, conn) })
}

// shape are facts about the schema and about exact sizes.
var shape = map[string]string{
	`SELECT count(*) FROM region`:   "5",
	`SELECT count(*) FROM nation`:   "25",
	`SELECT count(*) FROM supplier`: "200",
	`SELECT count(*) FROM part`:     "4000",
	`SELECT count(*) FROM partsupp`: "16000",
	`SELECT count(*) FROM customer`: "3000",
	`SELECT count(*) FROM orders`:   "30000",
	`SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND connamespace = 'public'::regnamespace`: "8",
	`SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace`: "10",
	`SELECT string_agg(DISTINCT format_type(atttypid, atttypmod), ' ') FROM pg_attribute
	 WHERE attrelid = 'lineitem'::regclass AND attnum > 0 AND attnotnull`: "character varying(44) character(1) character(10) " +
		"character(25) date integer numeric(15,2)",
	`SELECT count(*) FROM region JOIN nation ON n_regionkey = r_regionkey WHERE r_name = 'ASIA'`: "5",
	`SELECT max(p_retailprice) <= 2098.99 AND min(p_retailprice) >= 900 FROM part`:               "true",
	`SELECT max(o_orderkey) FROM orders`:                                                         "119976",
}

func expect(t *testing.T, conn *pgx.Conn, facts map[string]string) {
	for sql, want := range facts {
		if got := value(t, conn, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

// violations select the rows that break a rule of the specification, or that the
// policy would clamp.
var violations = []string{
	`orders WHERE o_custkey % 3 = 0`, `orders WHERE (o_orderkey - 1) % 32 > 7`,
	`orders JOIN lineitem ON l_orderkey = o_orderkey WHERE l_shipdate - o_orderdate NOT BETWEEN 1 AND 121
		OR l_commitdate - o_orderdate NOT BETWEEN 30 AND 90 OR l_receiptdate - l_shipdate NOT BETWEEN 1 AND 30`,
	`lineitem JOIN part ON p_partkey = l_partkey WHERE l_extendedprice <> l_quantity * p_retailprice`,
	`lineitem WHERE l_quantity NOT BETWEEN 1 AND 50 OR l_extendedprice NOT BETWEEN 0 AND 105000 OR l_discount NOT BETWEEN 0 AND 0.10
		OR l_tax NOT BETWEEN 0 AND 0.08 OR least(l_shipdate, l_commitdate) < '1992-01-01'
		OR greatest(l_commitdate, l_receiptdate) > '1998-12-31'`,
	`lineitem WHERE (l_linestatus = 'O') <> (l_shipdate > '1995-06-17') OR (l_returnflag = 'N') <> (l_receiptdate > '1995-06-17')`,
	`orders WHERE o_totalprice NOT BETWEEN 0 AND 600000 OR o_totalprice <> (
		SELECT sum(round(l_extendedprice * (1 - l_discount) * (1 + l_tax), 2)) FROM lineitem WHERE l_orderkey = o_orderkey)`,
	`orders WHERE o_orderstatus <> (SELECT CASE WHEN bool_and(l_linestatus = 'F') THEN 'F'
		WHEN bool_and(l_linestatus = 'O') THEN 'O' ELSE 'P' END
		FROM lineitem WHERE l_orderkey = o_orderkey)`,
	`customer WHERE c_acctbal NOT BETWEEN -1000 AND 10000 OR left(c_phone, 2)::int <> c_nationkey + 10`,
}

func expectNone(t *testing.T, conn *pgx.Conn, violations []string) {
	for _, v := range violations {
		if got := value(t, conn, "SELECT count(*) FROM "+v); got != "0" {
			t.Errorf("%s rows of %s", got, v)
		}
	}
}

// expectShares compares the share of lineitems that a query's conditions keep with
// its share under the specification's distributions; four standard deviations and the
// coarseness of a few hundred parts are allowed.
func expectShares(t *testing.T, conn *pgx.Conn) {
	for _, c := range []struct {
		name, where string
		low, high   float64
	}{
		{"Q1", `l_shipdate <= date '1998-12-01' - interval '90' day`, 0.98, 0.99},
		{
			"Q6",
			`l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24`,
			0.0172, 0.0213,
		},
		{"Q14", `l_shipdate >= '1995-09-01' AND l_shipdate < '1995-10-01'`, 0.0113, 0.0137},
		{"Q14, PROMO", `l_partkey IN (SELECT p_partkey FROM part WHERE p_type LIKE 'PROMO%')`, 0.14, 0.195},
		{"Q19, lineitem", `l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'`, 0.0335, 0.038},
		{"A and R are alike", `l_returnflag = 'A'`, 0.235, 0.26},
		{"F", `l_linestatus = 'F'`, 0.48, 0.52},
	} {
		var share float64
		if err := conn.QueryRow(t.Context(), "SELECT avg(("+c.where+")::int)::float8 FROM lineitem").Scan(&share); err != nil {
			t.Fatal(err)
		}
		if share < c.low || share > c.high {
			t.Errorf("%s: %.4f of the lineitems, want %v to %v", c.name, share, c.low, c.high)
		}
	}
}

// expectRows runs the queries.
func expectRows(t *testing.T, conn *pgx.Conn) {
	want := map[string]int{"Q1": 4, "Q5": 5, "Q6": 1, "Q14": 1, "Q19": 1}
	for _, q := range tpch.Queries() {
		rows, err := conn.Query(t.Context(), q.SQL)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				t.Fatal(err)
			}
			n++
			if slices.Contains(values, nil) {
				t.Errorf("%s: NULL in %v", q.Name, values)
			}
		}
		if rows.Err() != nil || n != want[q.Name] {
			t.Errorf("%s: %d rows, want %d (%v)", q.Name, n, want[q.Name], rows.Err())
		}
	}
}

func TestPolicyIsFilledIn(t *testing.T) {
	text := tpch.Policy(tpch.PolicyValues{Epsilon: 0.5, Verifier: "SCRAM-SHA-256$x"})
	for _, want := range []string{"budget: {epsilon: 0.5, delta: 1e-6", `password: "SCRAM-SHA-256$x"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, table := range generate(t, 1, 0.001).Tables() {
		if !strings.Contains(text, "\n  "+table.Name+":") {
			t.Errorf("no table %s in the policy", table.Name)
		}
	}
}
