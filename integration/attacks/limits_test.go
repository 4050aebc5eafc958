package attacks_test

import "testing"

// TestChosenLimits tries shapes on tables without numbers of rows or bounds of values: all that an analyst can
// see, noise left out, is the same whatever one unit has, and if it has all rows of a table.
func TestChosenLimits(t *testing.T) {
	t.Parallel()
	h := &hunt{attackers: startWorlds(t, readFile(t, "testdata/limits.sql"), readFile(t, "testdata/limits.yaml"), []string{
		"",
		"DELETE FROM readings WHERE uid = 1001; DELETE FROM solo; DELETE FROM cust WHERE uid = 1001;",
		"UPDATE readings SET big = -9223372036854775808, wide = '-1e1000', f = '-Infinity', r = 'NaN', loose = 'NaN', " +
			"money = -99999999.99, few = 0, kind = 'other' WHERE uid = 1001; UPDATE solo SET x = -x, k = 1;",
	})}
	got := h.shapes(t, "testdata/limits.json")
	if h.golden() {
		compareGolden(t, "testdata/limits.replies", got)
	}
}
