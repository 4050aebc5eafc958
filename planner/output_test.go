package planner_test

import (
	"math/big"
	"slices"
	"testing"

	"dpproxy/internal/plantest"
	"dpproxy/planner"
)

// The error of an average differs by group: the notice must not state that of the
// larger groups for the smaller ones, nor less than the bounds where nothing is known.
func TestAverageErrorByGroup(t *testing.T) {
	p := planWith(t, connect(t), clinic(t), "SELECT diagnosis, avg(cost) FROM visits GROUP BY diagnosis", showSmallGroups)
	row := func(sum, count int64) []*big.Int { return []*big.Int{big.NewInt(count), big.NewInt(sum)} }
	clips := plantest.NewExact(p.Blocks[0].Sets[0]).Uncut()
	clips[0].Vector = 1 // about the middle of the bounds
	errors := func(rows ...[]*big.Int) planner.ErrorBar {
		return p.Blocks[0].Errors([]*planner.Released{{Rows: rows, Clips: clips}})[0]
	}
	large, small, none := row(0, 1_000_000), row(0, 10_000), row(0, 3)

	both := errors(large, small, small)
	alone := errors(large, large, large)
	if alone.Least != alone.Most || alone.Least != both.Least {
		t.Errorf("equal groups: %v, beside smaller ones: %v", alone, both)
	}
	if both.Most < 50*both.Least {
		t.Errorf("a hundredth of the rows: %v", both)
	}
	const span = 10000 // half the bounds of cost, from an estimate in the middle
	if unknown := errors(large, small, none); unknown.Most != span {
		t.Errorf("a group that may be empty: %v, want up to %d", unknown, span)
	}
	if got, want := (planner.ErrorBar{Label: "avg(cost)", Least: 2.5, Most: 31}).String(), "avg(cost) ± 2.5 to 31"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (planner.ErrorBar{Label: "count(*)", Least: 20, Most: 20}).String(), "count(*) ± 20"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A verdict goes against a boolean aggregate only where more rows than its error are against
// it.
func TestVerdict(t *testing.T) {
	p := plan(t, connect(t), clinic(t), "SELECT bool_and(smoker), bool_or(smoker) FROM patients")
	bar := p.Blocks[0].Errors(nil)[0]
	if bar.Label != "rows against bool_and(smoker)" || bar.Least < 1 {
		t.Fatalf("the error is %v", bar)
	}
	for _, tt := range []struct {
		against int64
		want    [2]string
	}{
		{-100, [2]string{"t", "f"}},
		{0, [2]string{"t", "f"}},
		{int64(bar.Least), [2]string{"t", "f"}},
		{int64(bar.Least) + 1, [2]string{"f", "t"}},
	} {
		got := p.Blocks[0].Columns([]*planner.Released{{Rows: [][]*big.Int{{big.NewInt(tt.against), big.NewInt(tt.against)}}}})
		if want := []string{`{"` + tt.want[0] + `"}`, `{"` + tt.want[1] + `"}`}; !slices.Equal(got, want) {
			t.Errorf("%d rows against: %v, want %v", tt.against, got, want)
		}
	}
}
