package scalar_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dpproxy/planner/scalar"
)

// testedFor are conditions on one column each, of which the next test puts several together.
var testedFor = map[string][]string{
	"nn": {
		"# IS NULL", "# IS NOT NULL", "# = 3", "# = 4", "# > 10",
		"# < 1", "# IN (1, 2)", "# NOT IN (3, 4)", "# BETWEEN 2 AND 8", "# % 2 = 0",
	},
	"i4": {
		"# IS NULL", "# > 5", "# < 3", "# >= 1000001", "# = 12345",
		"# <> 12345", "# IN (0, -1)", "NOT (# > 5)", "# IS DISTINCT FROM 0", "# + 1 > 6",
	},
	"num": {
		"# > 99.5", "# < 99.51", "# = 'NaN'", "# >= 'NaN'",
		"# < 0", "# = 0.00", "# > 100000", "# IS NULL", "# IN (0, 99.50)",
	},
	"f8": {
		"# = 'NaN'", "# > 1e307", "# < 0", "# = 0",
		"# > -1e-300", "# < 1e-300", "# IS NULL", "# <= '-Infinity'", "# > 1000000",
	},
	"d": {
		"# = 'infinity'", "# > '2024-12-31'", "# < '2020-01-01'",
		"# IS NULL", "# = '2020-02-29'", "extract(year FROM #) = 2020", "# >= '4000-01-01'",
		"#::timestamp > '2020-01-30 13:00'", "#::timestamptz > '2020-01-30 13:00+00'", "date_trunc('month', #) > '2020-01-30'",
		"# < '2025-01-01'", "# >= '2020-01-30'", "#::timestamp < '2025-01-01'", "#::timestamptz < '2025-01-01'", "# - 1 > '2020-01-30'",
	},
	"tz": {
		"# > '2024-12-31 10:00+00'", "# < '2020-01-01'",
		"# IS NOT NULL", "# = '2022-11-06 05:30+00'", "#::date = '2022-11-06'", "# > '2020-01-01'", "# < '2025-01-01'",
		"#::timestamp > '2020-01-01'", "#::date < '2025-01-01'", "date_trunc('month', #) < '2025-01-01'",
	},
	"v": {
		"# = 'a b c'", "# = ''", "# <> ''", "# IN ('', '%_%')",
		"# IS NULL", "#::text = 'a b c'", "# LIKE 'a%'", "# > 'B'", "# = ANY (ARRAY['', 'x'])",
	},
	"s":  {"# = ''", "# <> ''", "# IS NULL", "length(#) > 3", "# IN ('x', v)", "# IN ('', 'x')", "lower(#) = ''", "# = #", "# < #"},
	"c":  {"# = 'ab'", "# = 'ab   '", "# <> 'ab'", "# IS NULL", "# = ''"},
	"nd": {"# = 'abc'", "# = 'ABC'", "# <> 'Abc'", "# IS NULL"},
	"b":  {"#", "NOT #", "# IS NULL", "# IS NOT TRUE", "# = true", "# = false", "# IS UNKNOWN"},
	"e":  {"# = 'ok'", "# = 'sad'", "# IS NULL", "# IN ('ok', 'happy')"},
}

// computedOf are expressions over a column, and constants to compare them with.
var computedOf = map[string]struct{ expressions, constants []string }{
	"i4": {
		[]string{"#", "# / 7", "# % 5", "abs(#)", "#::numeric / 3", "#::float8", "greatest(#, 5)", "least(#, 12)", "# * 2", "-#"},
		[]string{"5", "6", "-3", "12", "35"},
	},
	"num": {
		[]string{
			"#", "#::int", "round(#, -1)", "round(#)", "floor(#)", "ceil(#)", "trunc(#, 0)", "#::float8", "greatest(#, 3.7)",
			"least(#, 250.4)",
			"#::numeric(10,1)", "abs(#)", "-#", "sign(#)", "# / 3", "floor(# / 50) * 50", "greatest(round(#), 5)", "#::numeric(10,1)::int",
		},
		[]string{"5.2", "5", "2.96", "100", "-3.3", "400", "399.95", "0.5"},
	},
	"f8": {
		[]string{"#", "#::int", "round(#::numeric, 1)", "#::numeric", "floor(#)", "greatest(#, 3.7)", "trunc(#)", "#::float4", "# * 2"},
		[]string{"0.3", "100", "5.5", "-3", "5.4", "0.1"},
	},
	"d": {
		[]string{
			"#", "date_trunc('month', #)", "#::timestamp", "# - 20", "# + 20", "date_trunc('quarter', #::timestamptz)",
			"# + interval '1 month'",
			"greatest(#, date '2021-05-20')", "date_trunc('year', greatest(#, date '2021-05-20'))", "least(#::timestamp, '2022-02-01')",
		},
		[]string{"'2021-05-17'::date", "'2021-05-01'::date", "'2021-05-20 12:00'::timestamp", "'2022-02-28'::date", "'2021-06-01'::date"},
	},
	"ts": {
		[]string{
			"#", "date_trunc('month', #)", "#::date", "# + interval '10 days'", "#::timestamptz", "date_trunc('week', #)",
			"greatest(#, timestamp '2021-05-20')", "date_trunc('year', #)::date", "date_trunc('month', #::date)",
		},
		[]string{"'2021-05-17'::timestamp", "'2021-05-01'::timestamp", "'2021-05-20 12:00'::timestamp", "'2022-02-28'::date"},
	},
	"tz": {
		[]string{
			"#", "date_trunc('month', #)", "#::timestamp", "# + interval '10 hours'", "date_trunc('day', #, 'Europe/Vienna')",
			"greatest(#, timestamptz '2021-05-20 00:00+00')", "date_trunc('month', #)::timestamp",
		},
		[]string{"'2021-05-17 00:00+00'::timestamptz", "'2021-05-01 03:00+00'::timestamptz", "'2021-11-07 05:30+00'::timestamptz"},
	},
}

// TestImpossibleComputed asks Postgres likewise, of dense rows and conditions on expressions: one end of a value says little of what is
// computed of it.
func TestImpossibleComputed(t *testing.T) {
	db, draw, found := open(t), rand.New(rand.NewChaCha8([32]byte{6})), 0
	pick := func(list []string) string { return list[draw.IntN(len(list))] }
	for _, column := range slices.Sorted(maps.Keys(computedOf)) {
		c, table := computedOf[column], "dense_"+column
		sql := "CREATE TEMP TABLE " + table + " AS SELECT x AS " + column + " FROM (" + dense[column] + ") AS v(x)"
		if _, err := db.native(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		for range 300 {
			var parts []string
			for range 2 + draw.IntN(2) {
				parts = append(parts, strings.ReplaceAll(pick(c.expressions), "#", column)+" "+
					pick([]string{"<", "<=", ">", ">=", "=", "<>"})+" "+pick(c.constants))
			}
			text := "(" + strings.Join(parts, ") AND (") + ")"
			e, _, err := parse(text)
			if err != nil {
				t.Fatal(err)
			}
			r, err := db.resolve(t.Context(), resolver(), e)
			if err != nil || !scalar.Impossible(r.env, []scalar.Expr{r.x}) {
				continue
			}
			found++
			rows, err := db.native(t.Context(), "SELECT FROM "+table+" WHERE "+text+" LIMIT 1")
			if err == nil && len(rows) > 0 {
				t.Errorf("%s: a row meets it", text)
			}
		}
	}
	if t.Logf("%d found", found); found < 100 {
		t.Errorf("only %d conditions are impossible", found)
	}
}

// TestImpossible asks Postgres whether a row meets conditions that none can meet: no row does, be its values beyond declared bounds or not.
func TestImpossible(t *testing.T) {
	db, draw, found := open(t), rand.New(rand.NewChaCha8([32]byte{5})), map[string]bool{}
	for _, column := range slices.Sorted(maps.Keys(testedFor)) {
		list := testedFor[column]
		for range 60 {
			var parts []string
			for range 2 + draw.IntN(2) {
				parts = append(parts, strings.ReplaceAll(list[draw.IntN(len(list))], "#", column))
			}
			text := "(" + strings.Join(parts, ") AND (") + ")"
			e, _, err := parse(text)
			if err != nil {
				t.Fatal(err)
			}
			r, err := db.resolve(t.Context(), resolver(), e)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if !scalar.Impossible(r.env, []scalar.Expr{r.x}) {
				continue
			}
			found[column] = true
			if rows, err := db.native(t.Context(), "SELECT k FROM t WHERE "+text); err != nil || len(rows) > 0 {
				t.Errorf("%s: %d rows, %v", text, len(rows), err)
			}
		}
	}
	for _, column := range []string{"nn", "i4", "num", "f8", "d", "tz", "v", "s"} {
		if !found[column] {
			t.Errorf("no conditions on %s are impossible", column)
		}
	}
}
