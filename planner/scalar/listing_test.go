package scalar_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// dense are values within the bounds of columns of t, near all edges of the expressions below, and NULL where it may be.
var dense = map[string]string{
	"nn": "SELECT generate_series(1, 10)",
	"i2": "SELECT generate_series(-100, 100)",
	"i4": "SELECT generate_series(-1000000, 1000000, 997) UNION SELECT generate_series(-40, 40) UNION SELECT 1000000",
	"num": `SELECT generate_series(-1000.5, 99999.99, 13.37) UNION SELECT generate_series(-3, 3, 0.01)
		UNION SELECT k * 50 + d FROM generate_series(-20, 1999) AS k, unnest('{-0.01,0,0.01}'::numeric[]) AS d WHERE k * 50 + d >= -1000.5
		UNION SELECT generate_series(99.9, 100.1, 0.01) UNION SELECT generate_series(399.9, 400.1, 0.01) UNION SELECT 99999.99`,
	"nf": `SELECT generate_series(-3, 3, 0.0625) UNION SELECT k + d FROM generate_series(-5, 5) AS k,
		unnest('{-1e-31,1e-31,1e-29,-1e-29}'::numeric[])
		AS d UNION SELECT generate_series(-1000000, 1000000, 99999.5) UNION SELECT 5.000 UNION SELECT 1e-35`,
	"f8": `SELECT k / 10.0::float8 + d FROM generate_series(-2000, 2000) AS k, unnest('{0,1e-17,-1e-17,3e-15,-3e-15}'::float8[]) AS d
		UNION SELECT unnest('{-0,1e-40,-1e-40,1e-30,1000000,-1000000,999999.9999999999}'::float8[])`,
	"f4": `SELECT (k / 10.0)::float4 + d FROM generate_series(-2000, 2000) AS k, unnest('{0,1e-7,-1e-7}'::float4[]) AS d
		UNION SELECT unnest('{-0,1e-30,-1e-20,1000,-1000}'::float4[])`,
	"b": "SELECT unnest('{t,f}'::bool[])",
	"d": "SELECT date '2020-01-01' + generate_series(0, 1826)",
	"ts": `SELECT t + d FROM generate_series('2020-01-01'::timestamp, '2024-12-31 23:00', '7 hours') AS t,
		unnest('{0,-1 microsecond}'::interval[])
		AS d WHERE t + d >= '2020-01-01' UNION SELECT t + d FROM generate_series('2020-01-02'::timestamp, '2024-12-31', '1 day') AS t,
		unnest('{0,-1 microsecond,12:00,12:00:00.000001}'::interval[]) AS d UNION SELECT '2024-12-31 23:59:59.5'`,
	"tz": `SELECT t + d FROM generate_series('2020-01-01 00:00+00'::timestamptz, '2024-12-31 09:00+00', '3 hours') AS t,
		unnest('{0,1 microsecond,-1 microsecond,00:30}'::interval[]) AS d WHERE t + d >= '2020-01-01 00:00+00'
		UNION SELECT '2024-12-31 10:00+00'::timestamptz 
		UNION SELECT generate_series('2021-11-07 03:00+00'::timestamptz, '2021-11-07 09:00+00', '1 minute')
		UNION SELECT generate_series('2021-03-14 03:00+00'::timestamptz, '2021-03-14 09:00+00', '1 minute')`,
}

// listedKeys are expressions of which lists are made, with K for one of the columns of their list.
var listedKeys = map[string][]string{
	"nn i2": {
		"K", "K / 3", "K % 3", "K * 2 - 1", "-K", "abs(K)", "K::text", "CASE WHEN K < 4 THEN 'low' WHEN K < 8 THEN 'mid' ELSE 'high' END",
		"least(K, 5)", "K > 3", "(K > 3)::text", "coalesce(K, 7)", "nullif(K, 3)", "'n' || K", "width_bucket(K, 0, 5, 3)", "K::numeric / 3",
	},
	"num nf": {
		"floor(K / 50) * 50", "floor(K / 50) * 50 + 0", "(floor(K / 50) * 50)::int", "-(floor(K / 50) * 50)",
		"least(floor(K / 50) * 50, 400)",
		"(K > 100)::text", "round(K, -2)", "trunc(K / 1000)", "ceil(K / 333.3)", "sign(K)", "K IS NULL",
		"CASE WHEN K < 100 THEN 'low' WHEN K < 400 THEN 'mid' ELSE 'high' END", "CASE WHEN K < 100 THEN 1 WHEN K < 400 THEN 2 ELSE 3 END",
		"width_bucket(K, 0, 1000, 10)", "K BETWEEN 0 AND 2.5", "K IN (1, 2.5, 5)", "mod(floor(K / 50)::int, 7)", "floor(K / 700)",
		"K >= 100", "floor(K / 1000)::text", "div(K, 3000)",
		"CASE WHEN K IS NULL THEN 5 ELSE coalesce(0 / (floor(K / 25000) - 3), 7) END",
	},
	"f8 f4": {
		"K > 0", "K < 1e-35", "floor(K / 50000)", "sign(K)", "trunc(K / 1000)::int", "round(least(greatest(K, 0), 3)::numeric, 1)",
		"CASE WHEN K < 0.3 THEN 'a' WHEN K < 100 THEN 'b' ELSE 'c' END", "width_bucket(K, 0, 10, 5)",
		"floor(least(greatest(K, 0), 3) * 10) / 10",
	},
	"d": {
		"K", "extract(year FROM K)", "date_trunc('month', K)::date", "extract(dow FROM K)", "extract(quarter FROM K)",
		"to_char(K, 'YYYY-MM')",
		"K - date '2020-01-01'", "(K - date '2020-01-01') / 30", "K >= '2022-01-01'", "extract(week FROM K)", "K + 1",
		"extract(decade FROM K)",
		"CASE WHEN K < '2021-06-15' THEN 'old' ELSE 'new' END", "'Q' || extract(quarter FROM K)",
		"date_trunc('month', K::timestamptz, 'America/Los_Angeles')", "date_trunc('month', K::timestamptz)",
	},
	"ts": {
		"extract(year FROM K)", "date_trunc('quarter', K)", "date_trunc('month', K)", "K::date", "extract(dow FROM K)",
		"extract(month FROM K)",
		"to_char(K, 'YYYY-MM')", "'Q' || extract(quarter FROM K)", "extract(decade FROM K)", "extract(century FROM K)",
		"floor(extract(epoch FROM K) / 86400) * 86400", "date_bin('7 days', K, '2020-01-05')", "K < '2022-02-02 12:00'",
		"extract(hour FROM K)",
		"date_trunc('week', K)", "extract(isoyear FROM K)", "date_trunc('year', K + interval '1 month')", "to_char(K, 'IYYY-IW')",
		"date_trunc('month', K - interval '15 days')", "extract(doy FROM K)",
	},
	"tz": {
		"date_trunc('month', K AT TIME ZONE 'Asia/Tokyo')", "extract(year FROM K AT TIME ZONE 'Asia/Tokyo')", "extract(hour FROM K)",
		"(K AT TIME ZONE 'America/St_Johns')::date", "date_trunc('day', K)", "K::date", "to_char(K, 'YYYY-MM-DD')", "extract(dow FROM K)",
		"date_trunc('month', K, 'Europe/Vienna')", "K < '2022-01-01 12:00+00'", "extract(quarter FROM K)",
	},
	"b": {"K", "K::text", "NOT K", "K IS TRUE", "K::int", "CASE WHEN K THEN 'y' ELSE 'n' END"},
}

// listedConditions are conditions, likewise.
var listedConditions = map[string][]string{
	"nn i2":  {"K > 3", "K IN (1, 4, 7)", "K / 2 <> 3", "K IS NOT NULL", "NOT (K < 4 OR K = 6)", "K > 500"},
	"num nf": {"K >= 100 AND K < 300", "K <> 5", "floor(K / 50) < 3", "K < 2.5", "K > 1e-33", "K IS NOT NULL"},
	"f8 f4":  {"K > 0", "K BETWEEN -1 AND 1.25", "floor(K / 1000) < 10", "K < 1e-36"},
	"d":      {"K >= '2021-03-01' AND K < '2021-06-15'", "extract(dow FROM K) IN (0, 6)", "K <> '2020-01-01'"},
	"ts":     {"K >= '2023-01-01' AND K < '2023-01-04'", "extract(year FROM K) = 2021", "K < now()", "K::date <> '2020-01-01'"},
	"tz":     {"K >= '2021-11-07' AND K < '2021-11-08'", "K < now()", "extract(hour FROM K) < 6"},
	"b":      {"K", "K IS NOT TRUE"},
}

// TestListings compares the values that keys have together, on dense rows within bounds, with those that are listed: none is missing. It
// draws from DPPROXY_SEED, or always the same.
func TestListings(t *testing.T) {
	db, seed := open(t), uint64(1)
	if text, set := os.LookupEnv("DPPROXY_SEED"); set {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	var groups []string
	for g := range listedKeys {
		groups = append(groups, g)
	}
	slices.Sort(groups)
	listings, listed, private := 0, 0, 0
	try := func(columns, keys, where []string) {
		n, ok, err := db.listing(t.Context(), columns, keys, where)
		if err != nil {
			t.Errorf("%s WHERE %s: %v", keys, where, err)
		}
		listings, listed = listings+1, listed+n
		if !ok {
			private++
			t.Logf("private: %s WHERE %s", keys, where)
		}
	}
	for _, g := range groups {
		for c := range strings.FieldsSeq(g) {
			for _, k := range listedKeys[g] {
				try([]string{c}, []string{strings.ReplaceAll(k, "K", c)}, nil)
			}
		}
	}
	try([]string{"f8"}, []string{"f8 > 0"}, []string{"f8 BETWEEN -1 AND 1.25", "f8 < 1e-36"}) // a bound that no constant of type float8 is
	try([]string{"f8"}, []string{"f8 > 0", "f8 < 1e-36"}, nil)
	pick := func(from map[string][]string, g, c string) string {
		return strings.ReplaceAll(from[g][rnd.IntN(len(from[g]))], "K", c)
	}
	for range 30 {
		var used, keys, where []string
		for range 1 + rnd.IntN(2) {
			g := groups[rnd.IntN(len(groups))]
			cs := strings.Fields(g)
			c := cs[rnd.IntN(len(cs))]
			if slices.Contains(used, c) {
				continue
			}
			used = append(used, c)
			for range 1 + rnd.IntN(2) {
				keys = append(keys, pick(listedKeys, g, c))
			}
			for range rnd.IntN(3) {
				where = append(where, pick(listedConditions, g, c))
			}
		}
		try(used, keys, where)
	}
	t.Logf("%d listings with %d groups, %d private", listings, listed, private)
	if private > listings/2 {
		t.Errorf("%d of %d are private", private, listings)
	}
}

// conditioned are the expressions of keys and of conditions.
func conditioned(r *scalar.Resolver, keys, where []string) (xs, conds []scalar.Expr, err error) {
	for i, text := range slices.Concat(keys, where) {
		e, _, err := parse(text)
		if err != nil {
			return nil, nil, err
		}
		if i < len(keys) {
			x, err := r.Expr(e)
			if err != nil {
				return nil, nil, err
			}
			xs = append(xs, x)
			continue
		}
		x, err := r.Boolean(e)
		if err != nil {
			return nil, nil, err
		}
		conds = append(conds, scalar.Conjuncts(x)...)
	}
	return xs, conds, nil
}

// listing compares a list with rows; n is how many groups it has, and ok is false if there is no list.
func (db *database) listing(ctx context.Context, columns, keys, where []string) (n int, ok bool, err error) {
	r := resolver()
	xs, conds, err := conditioned(r, keys, where)
	if err != nil {
		return 0, false, err
	}
	values, err := db.evaluate(ctx, r.Constants)
	if err != nil {
		return 0, false, err
	}
	env := &scalar.Env{Values: values, TimeZones: db.zones, UTF8: true, Before14: db.version < 14}
	fold := func(i int) string { return fmt.Sprintf("$%d", i+1) }
	l, ok := (&scalar.Lister{Env: env, Fold: fold, Array: array}).List(xs, conds)
	if !ok {
		return 0, false, nil
	}
	from := " FROM " + strings.Join(l.From, ", ")
	if len(l.Where) > 0 {
		from += " WHERE " + strings.Join(l.Where, " AND ")
	}
	list, err := db.query(ctx, env, "SELECT DISTINCT "+texts(l.Types, l.Keys)+from)
	if err != nil {
		return 0, true, err
	}
	have := map[string]bool{}
	for _, row := range list {
		have[joined(row)] = true
	}
	w := &scalar.Writer{Env: env, Fold: fold}
	var sqls []string
	var types []pgtype.Type
	for _, x := range xs {
		sql, typ, err := w.Key(x)
		if err != nil {
			return 0, true, err
		}
		sqls, types = append(sqls, sql), append(types, typ)
	}
	rows := "SELECT DISTINCT " + texts(types, sqls) + " FROM (" + denseRows(columns) + ") AS t0"
	for i, c := range conds {
		sql, err := w.Expr(c)
		if err != nil {
			return 0, true, err
		}
		rows += []string{" WHERE ", " AND "}[min(i, 1)] + "(" + sql + ")"
	}
	there, err := db.query(ctx, env, rows)
	if err != nil {
		return 0, true, err
	}
	for _, row := range there {
		if !have[joined(row)] {
			return len(list), true, fmt.Errorf("%s is not among %d groups", joined(row), len(list))
		}
	}
	return len(list), true, nil
}

func texts(types []pgtype.Type, keys []string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i], _ = scalar.KeyText(types[i], k)
	}
	return strings.Join(out, ", ")
}

func joined(row []*string) string {
	out := make([]string, len(row))
	for i, c := range row {
		out[i] = orNull(c)
	}
	return strings.Join(out, " | ")
}

// denseRows selects the dense values of columns: each of one beside some of another.
func denseRows(columns []string) string {
	items := make([]string, len(columns))
	for i, c := range columns {
		null := ""
		if c != "nn" {
			null = " UNION ALL SELECT NULL"
		}
		for _, f := range fields {
			if f.name == c {
				items[i] = fmt.Sprintf("(SELECT CAST(x AS %s) AS %q, row_number() OVER () AS r%d FROM (%s%s) AS v(x)) AS v%d",
					f.sqlType, c, i, dense[c], null, i)
			}
		}
	}
	on := ""
	for i := 1; i < len(columns); i++ {
		on += fmt.Sprintf(" WHERE v0.r0 %% 1009 = v%d.r%d %% 1009", i, i)
	}
	return "SELECT * FROM " + strings.Join(items, ", ") + on
}

func array(cells []*string) string {
	out := make([]string, len(cells))
	for i, c := range cells {
		if out[i] = "NULL"; c != nil {
			out[i] = `"` + *c + `"`
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}
