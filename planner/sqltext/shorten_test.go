package sqltext_test

import (
	"testing"

	"dpproxy/planner/sqltext"
)

// TestShorten holds that long lists of constants are shortened, and nothing else is touched.
func TestShorten(t *testing.T) {
	for _, c := range [][2]string{
		{"CAST('{1,4,9,16,36,64,144,256}' AS pg_catalog.int8[])", "CAST('{1,4,9,16,36,64,144,256}' AS pg_catalog.int8[])"},
		{
			"CAST('{1,4,9,16,36,64,144,256,576,1024,2304,4096,9216,16384,36864,65536,99999}' AS pg_catalog.int8[])",
			"CAST('{1,4,9,16,36,... 11 more ...,99999}' AS pg_catalog.int8[])",
		},
		{"'{-1,2.5,3,4,5,6.66666666666,7.7777777777,8.888888888888,9.99999999999,10}', 1", "'{-1,2.5,3,4,5,... 4 more ...,10}', 1"},
		{"f(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "f(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)"},
		{
			"x IN (CAST($1 AS pg_catalog.text), CAST($2 AS pg_catalog.text), CAST($3 AS pg_catalog.text), CAST($4 AS pg_catalog.text), " +
				"CAST($5 AS pg_catalog.text), CAST($6 AS pg_catalog.text), CAST($7 AS pg_catalog.text), CAST($8 AS pg_catalog.text), " +
				"CAST($12 AS pg_catalog.text))",
			"x IN (CAST($1 AS pg_catalog.text), CAST($2 AS pg_catalog.text), CAST($3 AS pg_catalog.text), CAST($4 AS pg_catalog.text), " +
				"CAST($5 AS pg_catalog.text), ... 3 more ..., CAST($12 AS pg_catalog.text))",
		},
	} {
		if got := sqltext.Shorten(c[0]); got != c[1] {
			t.Errorf("%s\n\tis shortened to %s\n\tnot            %s", c[0], got, c[1])
		}
	}
}
