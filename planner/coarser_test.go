package planner_test

import (
	"slices"
	"testing"

	"dpproxy/planner"
)

// TestCoarser asks which public groups are in the place of private ones.
func TestCoarser(t *testing.T) {
	const (
		as, month, year, out = planner.AsItIs, planner.ByMonth, planner.ByYear, planner.LeftOut
	)
	cat, conn := shop(t), connect(t)
	for _, c := range []struct {
		keys   string
		taken  []planner.Coarseness
		groups int
		// undeclared are columns of which the policy declares nothing.
		undeclared []string
	}{
		{"since", []planner.Coarseness{month}, 132, nil},
		{"since, status", []planner.Coarseness{month, as}, 396, nil},
		{"age, since", []planner.Coarseness{as, year}, 814, nil},
		{"age, qty, since", []planner.Coarseness{as, out, year}, 814, nil},
		{"status, shop", []planner.Coarseness{as, out}, 3, []string{"shop"}},
		{"since, since - until", nil, 0, nil}, // they are listed together, and too many
		{"shop", nil, 0, []string{"shop"}},
		{"status", nil, 0, nil}, // public
		{"since > '2015-01-01', shop", []planner.Coarseness{as, out}, 2, []string{"shop"}},
	} {
		p := planWith(t, conn, cat, "SELECT "+c.keys+", count(*) FROM orders GROUP BY "+c.keys, showSmallGroups)
		got := planner.CoarserOf(p.Plan)
		if got == nil {
			got = &planner.Coarser{}
		}
		if !slices.Equal(got.Keys, c.taken) || got.Groups != c.groups || !slices.Equal(got.Undeclared, c.undeclared) {
			t.Errorf("%s: %+v", c.keys, got)
		}
	}
}
