package planner_test

import (
	"strings"
	"testing"
)

// Grouping sets of the same keys share the list of their groups, in a plan and in its
// size.
func TestEqualSetsShareGroups(t *testing.T) {
	conn, cat := connect(t), clinic(t)
	sets := func(n int) string {
		return "SELECT count(*) FROM visits GROUP BY GROUPING SETS (" + strings.TrimSuffix(strings.Repeat("(day), ", n), ", ") + ")"
	}
	one, many := plan(t, conn, cat, sets(1)), plan(t, conn, cat, sets(50))
	groups := one.Blocks[0].Sets[0].Size()
	if groups < 1800 || one.Bytes() < 100*groups {
		t.Fatalf("%d groups take %d bytes", groups, one.Bytes())
	}
	if more := many.Bytes() - one.Bytes(); more > 49*20_000 {
		t.Errorf("49 sets more take %d bytes more", more)
	}
}
