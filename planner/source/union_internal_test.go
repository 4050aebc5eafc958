package source

import (
	"testing"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// TestReachOfUnion holds that a column of a UNION ALL is not cut shorter than any of the columns that it stands for.
func TestReachOfUnion(t *testing.T) {
	const whole, beginning, piece, short = scalar.Whole, scalar.Beginning, scalar.Piece, scalar.Short
	for _, c := range []struct {
		of   []scalar.Reach
		want scalar.Reach
	}{
		{[]scalar.Reach{piece}, piece},
		{[]scalar.Reach{piece, piece}, piece},
		{[]scalar.Reach{piece, whole}, whole},
		{[]scalar.Reach{whole, piece}, whole},
		{[]scalar.Reach{piece, whole, piece}, whole},
		{[]scalar.Reach{piece, short}, whole},
		{[]scalar.Reach{piece, beginning}, beginning},
		{[]scalar.Reach{beginning, piece}, beginning},
		{[]scalar.Reach{beginning, whole}, beginning},
	} {
		u := &scalar.Column{Type: pgtype.Of(pgtype.Text)}
		for _, r := range c.of {
			u.Of = append(u.Of, &scalar.Ref{Column: &scalar.Column{Type: u.Type, Reach: r}})
		}
		if got := reachOf(u); got != c.want {
			t.Errorf("%v: %v, want %v", c.of, got, c.want)
		}
	}
}
