package scalar_test

import (
	"math/rand/v2"
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

// TestImpossible asks Postgres whether a row meets conditions that none can meet: no row does, be its values beyond declared bounds or not.
func TestImpossible(t *testing.T) {
	db, draw, found := open(t), rand.New(rand.NewChaCha8([32]byte{5})), map[string]bool{}
	for column, list := range testedFor {
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
