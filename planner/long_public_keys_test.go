package planner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dpproxy/pgerr"
	"dpproxy/planner/plannertest"
)

// TestLongPublicKeys bounds the bytes of public values, not only their number: Postgres reads a list of them for the first group that
// comes, which may be one person's.
func TestLongPublicKeys(t *testing.T) {
	const aggregates = "count(*), count(DISTINCT hospital_id), percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)"
	for _, tt := range []struct {
		values, length int
		sql            string
		answered       bool
	}{
		{1000, 1000, "SELECT diagnosis, count(*) FROM visits GROUP BY 1", true},
		{1000, 10000, "SELECT diagnosis, count(*) FROM visits GROUP BY 1", false},
		{1000, 1000, "SELECT diagnosis, upper(diagnosis), " + aggregates + " FROM visits GROUP BY 1, 2", true},
		{1000, 2500, "SELECT diagnosis, upper(diagnosis), " + aggregates + " FROM visits GROUP BY 1, 2", false},
		{500, 20, "SELECT rpad(diagnosis, 20000), count(*) FROM visits GROUP BY 1", true},
		{1000, 10000, "SELECT mode() WITHIN GROUP (ORDER BY diagnosis) FROM visits", false},
		{1000, 10000, "SELECT count(*) FROM visits", true},
	} {
		var values []string
		for i := range tt.values {
			values = append(values, fmt.Sprintf("%0*d", tt.length, i))
		}
		p := plannertest.ClinicPolicy()
		for i := range p.Tables {
			if p.Tables[i].Name.Name == "visits" {
				p.Tables[i].Columns["diagnosis"] = plannertest.Values(values...)
			}
		}
		err := specializeDefault(t, plannertest.CheckedBy(t, p, plannertest.ClinicSchema()), tt.sql)
		refused, ok := errors.AsType[*pgerr.Error](err)
		tooLong := ok && refused.Code == pgerr.ProgramLimitExceeded && strings.Contains(refused.Message, "public keys")
		if tt.answered && err != nil || !tt.answered && !tooLong {
			t.Errorf("of %d values of %d bytes: %s: %v", tt.values, tt.length, tt.sql, err)
		}
	}
}
