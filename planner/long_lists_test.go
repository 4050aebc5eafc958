package planner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dpproxy/pgerr"
)

// TestLongLists joins rows with a list of 1,000 rows of constants, as released groups are. Each row finds as many of them as
// have one value of what is compared, of whatever types the other columns are: that is counted. Another condition is tried for each.
func TestLongLists(t *testing.T) {
	list := func(row, columns string, repeats int) string {
		var rows []string
		for i := range 1000 {
			i /= repeats
			rows = append(rows, fmt.Sprintf(row, i/25%2+1, i/50%12+1, i%25+1, i/600, i))
		}
		return "(VALUES " + strings.Join(rows, ", ") + ") AS t(" + columns + ")"
	}
	const (
		texts = "(CAST('d%[5]d' AS text), CAST('%[5]d.5' AS numeric))"
		pairs = "(CAST('d%[2]d' AS text), CAST('202%[1]d-%[2]d1-%[3]d' AS text), CAST('%[4]d' AS int8), CAST('f' AS bool))"
		days  = "(CAST('20%[1]d%[4]d-%02[2]d-%02[3]d' AS date), CAST('%[4]d' AS int4), CAST(NULL AS float8))"
	)
	for _, c := range []struct {
		from, on string
		answered bool
	}{
		{list(texts, "d, mean", 1), "t.d = v.diagnosis", true},
		{list(texts, "d, mean", 2), "t.d = v.diagnosis", true},
		{list(texts, "d, mean", 1000), "t.d = v.diagnosis", false},
		{list(texts, "d, mean", 1), "t.d < v.diagnosis", false},
		{list(pairs, "d, e, n, b", 1), "t.d = v.diagnosis AND t.e = v.diagnosis AND t.n = v.hospital_id", true},
		{list(pairs, "d, e, n, b", 2), "t.d = v.diagnosis AND t.e = v.diagnosis AND t.n = v.hospital_id", true},
		{list(pairs, "d, e, n, b", 1), "t.d = v.diagnosis AND t.e = v.diagnosis", true},
		{list(days, "day, n, x", 1), "t.day = v.day AND t.n = v.hospital_id", true},
	} {
		for _, join := range []string{" JOIN ", " LEFT JOIN "} {
			sql := "SELECT count(*) FROM visits v" + join + c.from + " ON " + c.on
			err := specializeDefault(t, clinic(t), sql)
			refused, ok := errors.AsType[*pgerr.Error](err)
			tooLarge := ok && (refused.Code == pgerr.StatementTooComplex || refused.Code == pgerr.ProgramLimitExceeded)
			if c.answered && err != nil || !c.answered && !tooLarge {
				t.Errorf("%.120s...%s: %v", sql, c.on, err)
			}
		}
	}
}
