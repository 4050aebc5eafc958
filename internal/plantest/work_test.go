package plantest_test

import (
	"fmt"
	"strings"
	"testing"

	"dpproxy/internal/plantest"
)

// TestWorkOfProcesses: what each parallel process does alike counts once, however many were launched; what they share is added up, and
// what is done once for each row of another node counts each time.
func TestWorkOfProcesses(t *testing.T) {
	scan := func(loops int, aware bool) string {
		return fmt.Sprintf(`{"Node Type": "Seq Scan", "Parent Relationship": "Outer", "Actual Rows": 605, "Actual Loops": %d,
			"Parallel Aware": %t}`, loops, aware)
	}
	hash := func(loops int, aware bool) string {
		return fmt.Sprintf(`{"Node Type": "Hash", "Parent Relationship": "Inner", "Actual Rows": 605, "Actual Loops": %d,
			"Parallel Aware": %t, "Plans": [%s]}`, loops, aware, scan(loops, aware))
	}
	join := func(kind, role, inner string) string {
		return fmt.Sprintf(`{"Node Type": "%s", "Parent Relationship": "%s", "Actual Rows": 0, "Actual Loops": 1, "Plans": [
			{"Node Type": "Seq Scan", "Relation Name": "driving", "Parent Relationship": "Outer", "Actual Rows": 0, "Actual Loops": 1,
			"Parallel Aware": true}, %s]}`, kind, role, inner)
	}
	inner := strings.Replace(scan(3, false), "Outer", "Inner", 1)
	for _, c := range []struct {
		name, plan string
		want       float64
	}{
		{"two of three processes have a table each", join("Hash Join", "Outer", hash(2, false)), 606},
		{"three", join("Hash Join", "Outer", hash(3, false)), 606},
		{"none", join("Hash Join", "Outer", hash(0, false)), 0},
		{"the inner side of a merge join", join("Merge Join", "Outer", inner), 606},
		{"a table that they make together", join("Hash Join", "Outer", hash(3, true)), 3 * 606},
		{"once for each row", join("Nested Loop", "Outer", inner), 3 * 606},
		{"a table for each row", join("Nested Loop", "Outer", join("Hash Join", "Inner", hash(3, false))), 3 * 606},
	} {
		nodes, err := plantest.Nodes([]byte(`[{"Plan": {"Node Type": "Gather", "Actual Loops": 1, "Plans": [` + c.plan + `]}}]`))
		if err != nil {
			t.Fatal(err)
		}
		if got := nodes[len(nodes)-1].Work; got != c.want {
			t.Errorf("%s: the work is %v, not %v", c.name, got, c.want)
		}
	}
	alone, err := plantest.Nodes([]byte(`[{"Plan": ` + join("Hash Join", "", hash(3, false)) + `}]`))
	if err != nil || alone[len(alone)-1].Work != 3*606 {
		t.Errorf("of one process: %v, %v", alone, err)
	}
}
