package cashier_test

import (
	"strings"
	"testing"

	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/proxy/cashier"
)

func rho(t *testing.T, pico int64) dp.Loss {
	t.Helper()
	l, err := dp.NewLoss(dp.ZCDP, pico, 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestShares holds that the budget that is used up first is told, and each that has too little left, even one of 0.
func TestShares(t *testing.T) {
	// cost is a charge to a budget of which so much is left before it.
	cost := func(of string, loss, left, limit int64) planner.Cost {
		c := planner.Cost{Of: of, Loss: rho(t, loss), Remaining: rho(t, left), Limit: rho(t, limit), Fits: loss <= left}
		if c.Fits {
			c.Remaining = rho(t, left-loss)
		}
		return c
	}
	for _, c := range []struct {
		costs []planner.Cost
		want  string
	}{
		{
			[]planner.Cost{cost("your budget", 10, 500, 1000), cost("the budget of visits", 10, 30, 1000)},
			"1 % of the budget of visits, would leave about 2 such questions",
		},
		{[]planner.Cost{cost("your budget", 10, 15, 1000)}, "1 % of your budget, would leave no such question"},
		{
			[]planner.Cost{cost("your budget", 10, 500, 1000), cost("the budget of visits", 10, 5, 1000)},
			"1 % of the budget of visits, of which 0.5 % is left",
		},
		{[]planner.Cost{cost("your budget", 10, 500, 1000), cost("the budget of visits", 10, 0, 0)}, "the budget of visits as a loss"},
		{[]planner.Cost{cost("your budget", 0, 500, 1000)}, "nothing of your budget"},
	} {
		var said []string
		for _, s := range cashier.Shares(c.costs) {
			if s.Share == "" {
				s.Share = s.Of + " as a loss"
			}
			said = append(said, s.String())
		}
		if got := strings.Join(said, "; "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
