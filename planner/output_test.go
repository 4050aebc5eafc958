package planner_test

import (
	"math/big"
	"testing"

	"dpproxy/planner"
)

// The error of an average differs by group: the notice must not state that of the
// larger groups for the smaller ones, nor less than the bounds where nothing is known.
func TestAverageErrorByGroup(t *testing.T) {
	p := plan(t, clinic(t), "SELECT diagnosis, avg(cost) FROM visits GROUP BY diagnosis")
	row := func(sum, count int64) []*big.Int { return []*big.Int{big.NewInt(sum), big.NewInt(count)} }
	large, small, none := row(0, 1_000_000), row(0, 10_000), row(0, 3)

	both := p.Blocks[0].Errors([][]*big.Int{large, small, small})[0]
	alone := p.Blocks[0].Errors([][]*big.Int{large, large, large})[0]
	if alone.Least != alone.Most || alone.Least != both.Least {
		t.Errorf("equal groups: %v, beside smaller ones: %v", alone, both)
	}
	if both.Most < 50*both.Least {
		t.Errorf("a hundredth of the rows: %v", both)
	}
	const span = 20000 // of the bounds of cost
	if unknown := p.Blocks[0].Errors([][]*big.Int{large, small, none})[0]; unknown.Most != span {
		t.Errorf("a group that may be empty: %v, want up to %d", unknown, span)
	}
	if got, want := (planner.ErrorBar{Label: "avg(cost)", Least: 2.5, Most: 31}).String(), "avg(cost) ± 2.5 to 31"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (planner.ErrorBar{Label: "count(*)", Least: 20, Most: 20}).String(), "count(*) ± 20"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
