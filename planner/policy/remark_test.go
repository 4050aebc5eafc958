package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"dpproxy/planner/policy"
)

// TestTogether: remarks that are alike are told once, and of many tables none is left out, nor on one line with another.
func TestTogether(t *testing.T) {
	for n, want := range map[int]string{
		1: "public.t1: said", 3: "alike: public.t1 (own 1), public.t2 (own 2), public.t3 (own 3)",
		4:  "alike:\n    public.t1 (own 1)\n    public.t2 (own 2)\n    public.t3 (own 3)\n    public.t4 (own 4)",
		18: "alike:\n    public.t1 (own 1)\n",
	} {
		var all []policy.Remark
		for i := range n {
			all = append(all, policy.Remark{
				Table: name(fmt.Sprintf("t%d", i+1)), Said: "said", Alike: "alike", Own: fmt.Sprintf("own %d", i+1),
			})
		}
		lines := policy.Together(all)
		if len(lines) != 1 || !strings.HasPrefix(lines[0], want) || strings.Count(lines[0], "(own ") != n && n > 1 {
			t.Errorf("%d remarks are %q, want %q", n, lines, want)
		}
	}
}
