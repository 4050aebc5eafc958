package scalar_test

import (
	"slices"
	"strings"
	"testing"

	"dpproxy/planner/scalar"
)

// TestListsUnderConditions compares lists of values on rows that meet conditions with the values that Postgres has there: none is
// missing. Some are known to be short, so that conditions do restrict them.
func TestListsUnderConditions(t *testing.T) {
	db := open(t)
	numbers := []string{
		"K BETWEEN 1 AND 3", "K NOT BETWEEN -1 AND 2", "NOT (K <= 2 OR K > 5)", "K IN (1, 3, NULL)", "K NOT IN (1, 3)",
		"K <> 2 AND K < 4.5",
		"K * 2 - 1 < 4", "K = ANY('{1,2,NULL}')", "K <> ALL('{1,2}')", "i4 > 0 OR K = 2", "K IS DISTINCT FROM 2", "K IS NULL",
		"K IS NOT NULL",
		"(K < 3) IS TRUE", "(K < 3) IS NOT TRUE", "K > 2.0::float8", "least(K, 4) < 3", "NULLIF(K, 2) < 4", "3 >= K", "nn < 7 AND K > 0",
		"coalesce(K, 2) = 2", "CASE WHEN K = 2 THEN false ELSE K < 4 END", "K BETWEEN SYMMETRIC 4 AND 1", "K = nn", "K::numeric / 3 > 1",
	}
	keys := map[string][]string{
		"mod(i4, 7)": numbers, "nn": numbers, "nn / 2": append([]string{"nn < 6"}, numbers...), "nn * 2 - 3": numbers,
		"(d - date '2022-01-01') / 90": append([]string{"d - date '2022-01-01' < 200", "d > '2023-01-01'"}, numbers...),
		"width_bucket(num, 0, 20000, 10)": append([]string{
			"num < 5000", "num >= 0", "num BETWEEN 4000 AND 8000", "num > 30000",
		}, numbers...),
		"width_bucket(f8, 100, -100.5, 6)":     append([]string{"f8 BETWEEN -20 AND 50", "f8 > 100"}, numbers...),
		"width_bucket(nn, 0, 5, 3)":            {"nn > 3", "K > 1"},
		"width_bucket(num, -2000, 1000000, 3)": {"K > 1", "num > 0"},
		"d": {
			"K >= '2024-06-01'", "K < timestamp '2020-03-01 12:00'", "K = '2024-12-31'", "K <> '2024-12-31' AND K > '2024-12-01'",
			"K IN ('2020-01-01', '2022-06-15')",
		},
		"nn > 4":     {"K", "NOT K", "K = true", "K IS TRUE", "K IS NOT TRUE", "K <> (nn = 3)", "K OR nn < 3"},
		"i4 IS NULL": {"K", "NOT K", "K AND nn > 3"},
		"CASE WHEN nn < 4 THEN 'low' WHEN nn < 8 THEN 'mid' ELSE 'high' END": {
			"K = 'low'", "K <> 'low'", "K IN ('mid', 'high', 'none')", "K NOT IN ('mid')", "NOT (K = 'mid' OR nn = 1)",
			"K::varchar = 'low'", "K > 'low'",
			"K ~~ 'm%'", "K = s",
		},
	}
	restricted := 0
	for key, conditions := range keys {
		for _, c := range conditions {
			cond := strings.ReplaceAll(c, "K", "("+key+")")
			listed, all := listUnder(t, db, key, cond)
			if len(listed) < len(all) {
				restricted++
			}
			rows, err := db.native(t.Context(), "SELECT DISTINCT CAST("+key+" AS text), 1 FROM t WHERE inside AND ("+cond+")")
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if !slices.Contains(listed, orNull(r[0])) {
					t.Errorf("%s WHERE %s: %s is not among %q", key, cond, orNull(r[0]), listed)
				}
			}
		}
	}
	if restricted < 80 {
		t.Errorf("only %d of the lists are restricted", restricted)
	}
	t.Logf("%d lists are restricted", restricted)
}

// listUnder lists the values of a key on rows that meet a condition, and on all rows.
func listUnder(t *testing.T, db *database, key, cond string) (under, all []string) {
	t.Helper()
	r := resolver()
	e, _, err := parse(cond)
	if err != nil {
		t.Fatal(err)
	}
	where, err := r.Boolean(e)
	if err != nil {
		t.Fatalf("%s: %v", cond, err)
	}
	if e, _, err = parse(key); err != nil {
		t.Fatal(err)
	}
	res, err := db.resolve(t.Context(), r, e)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	list := func(where ...scalar.Expr) []string {
		texts, null, ok := res.env.Enumerate(res.x, where, 5000)
		if !ok {
			t.Fatalf("%s WHERE %s has no list", key, cond)
		}
		if null {
			texts = append(slices.Clone(texts), "NULL")
		}
		return texts
	}
	return list(where), list()
}
