package main

import (
	"strings"
	"testing"

	"dpproxy/planner/policy"
)

// TestLimitsOf holds that the comment of a table tells numbers of the policy, and limits that are chosen.
func TestLimitsOf(t *testing.T) {
	for _, c := range []struct {
		table policy.TablePolicy
		want  string
	}{
		{
			policy.TablePolicy{MaxRows: 20, MaxPartitions: 4},
			"at most 20 rows of one patient count in a group; one patient counts in at most 4 groups",
		},
		{policy.TablePolicy{}, "how much of one patient counts is chosen where keys do not tell"},
		{policy.TablePolicy{AutoRows: 40}, "how much of one patient counts is chosen, up to 40 rows in each group"},
	} {
		if got := strings.Join(limitsOf(c.table, "patient"), "; "); got != c.want {
			t.Errorf("%+v: %q", c.table, got)
		}
	}
}
