package planner_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpproxy/planner/policy"
)

// Queries that suggest bounds, on tables that hold all that they are of, are right without noise: Postgres finds the same
// steps as a search among powers of two does, of each type, at their ends and beyond.
func TestSuggestedSteps(t *testing.T) {
	conn := connect(t)
	for _, c := range []struct {
		column, of string
		values     []string
		// lower and upper are the ends for the 0.005 and 0.995 quantiles of the values.
		lower, upper string
		unbounded    bool
	}{
		{"cost", "numeric(10,2)", []string{"0.01", "3"}, "0", "4", true},
		{"cost", "numeric(10,2)", []string{"-5", "0", "99999999.99"}, "-8", "134217728", true},
		{"cost", "numeric(10,2)", []string{"NULL", "16", "NULL"}, "16", "32", true},
		{"cost", "numeric(10,2)", []string{"-16", "-0.01"}, "-16", "0", true},
		{"cost", "numeric(10,2)", []string{"5", "4999"}, "4", "8192", false},
		{"cost", "numeric(10,2)", []string{"-1", "70000"}, "0", "20000", false},
		{"tip", "numeric", []string{"0.0001", "0.01"}, "0", "0.015625", true},
		{"tip", "numeric", []string{"0.001", "1e30"}, "0.0009765625", "1152921504606846976", true},
		{"score", "float4", []string{"-1e-20", "NaN"}, "-0.0009765625", "1152921504606846976", true},
		{"score", "float4", []string{"-Infinity", "0.5"}, "-1152921504606846976", "1", true},
		{"steps", "bigint", []string{"-9223372036854775808", "9000000000000000000"}, "-9223372036854775808", "9223372036854775807", true},
		{"steps", "bigint", []string{"1", "0"}, "0", "2", true},
		{"hospital_id", "int", []string{"2147483647", "7"}, "4", "2147483647", true},
		{"day", "date", []string{"2021-01-01", "2022-06-05"}, "2020-01-01", "2022-06-06", false},
		{"day", "date", []string{"-infinity", "2022-06-06"}, "2020-01-01", "2024-12-31", false},
		{"day", "date", []string{"1900-01-01"}, "1820-07-27", "1910-04-15", true},
		{
			"at", "timestamptz",
			[]string{"1999-12-31 23:59:59.5+00", "2024-05-01+00"},
			"1999-12-31 23:59:59+00",
			"2034-01-09 13:37:04+00", true,
		},
	} {
		cat := clinic(t)
		if c.unbounded {
			cat = unboundedClinic(t, []string{"cost", "tip", "score", "steps", "day"}, nil)
		}
		if got := suggested(t, cat, "visits", c.column, c.of, c.values, func(sql string) []string {
			res, err := conn.Exec(t.Context(), sql).ReadAll()
			if err != nil || len(res[0].Rows) != 1 {
				t.Fatalf("%s: %v", sql, err)
			}
			return []string{string(res[0].Rows[0][0]), string(res[0].Rows[0][1]), string(res[0].Rows[0][2])}
		}); !slices.Equal(got[:2], []string{c.lower, c.upper}) {
			t.Errorf("%s of %v: the bounds are %q, want %s and %s", c.column, c.values, got, c.lower, c.upper)
		} else if want := fmt.Sprintf(`CASE WHEN "%[1]s" IS NOT NULL THEN least(greatest("%[1]s", %[4]s%[2]s%[4]s), %[4]s%[3]s%[4]s) END`,
			c.column, c.lower, c.upper, map[bool]string{true: "'"}[c.of == "date" || c.of == "timestamptz"]); got[2] != want {
			t.Errorf("%s of %v: %s, want %s", c.column, c.values, got[2], want)
		}
	}
}

// suggested runs the query over other rows than the table's.
func suggested(
	t *testing.T, cat *policy.Model, table, column, of string, values []string, run func(sql string) []string,
) []string {
	t.Helper()
	query, refusal := cat.SuggestBounds("", table, column)
	if refusal != nil {
		t.Fatal(refusal)
	}
	rows := make([]string, len(values))
	for i, v := range values {
		if rows[i] = "(CAST(" + v + " AS " + of + "))"; v != "NULL" {
			rows[i] = "(CAST('" + v + "' AS " + of + "))"
		}
	}
	from := fmt.Sprintf(`FROM (VALUES %s) AS v(%s)`, strings.Join(rows, ", "), strconv.Quote(column))
	replaced := strings.Replace(query, fmt.Sprintf("FROM %q.%q", "public", table), from, 1)
	if replaced == query {
		t.Fatalf("no table in %s", query)
	}
	return run(replaced)
}
