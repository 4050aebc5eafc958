package cashier

import (
	"context"
	"fmt"
	"math"
	"strings"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/planner"
)

// A Price is a receipt for people: the charge to the budget that will be exhausted first by more of the same, as a part of it.
type Price struct {
	free   bool
	amount string // of the charge, as a loss
	left   string // likewise; "" if the ledger does not say
	part   string // in per cent of the budget; "" likewise
	of     string // the budget
	again  string // how many such questions are left
}

// PriceOf returns that of a receipt; without the budget where the ledger does not say. losses has it written as losses as well.
func PriceOf(ctx context.Context, c *Cashier, r *Receipt, untold planner.Untold, losses bool) (p Price) {
	if r == nil {
		return Price{free: true}
	}
	scope, loss, fewest := c.scarcest(ctx, r)
	if fewest < 0 || scope.Limit.Pico() == 0 {
		return Price{amount: brief(r.Debits[0].Loss)}
	}
	p.of = budgetOf(scope.Scope, fmt.Sprintf("%s %s", scope.Scope.Kind, c.Told(scope.Scope, untold)))
	if losses {
		p.amount, p.left = brief(loss), brief(scope.Remaining())
	}
	p.part, p.again = Part(loss, scope.Limit), suchQuestions(fewest)
	return p
}

// Part writes a loss as a part of a limit, in per cent.
func Part(loss, of dp.Loss) string { return PartOf(loss.Pico(), of.Pico()) }

// PartOf is Part of the main parameters of losses.
func PartOf(loss, of int64) string {
	if percent := 100 * float64(loss) / float64(of); percent >= 0.01 {
		return planner.TwoDigits(percent, math.Ceil)
	}
	return "less than 0.01"
}

// lessOf writes a rest as a part of a limit, in per cent, rounded down.
func lessOf(rest, limit dp.Loss) string {
	return planner.TwoDigits(100*float64(rest.Pico())/float64(limit.Pico()), math.Floor)
}

// budgetOf names a budget for its analyst.
func budgetOf(s accountant.Scope, told string) string {
	if s.Kind == accountant.AnalystScope {
		return own
	}
	return "the budget of " + told
}

// Shares has the cost to the budget that will be exhausted first, as a part of it, and all that do not fit. Of a budget of 0 there are no
// parts.
func Shares(costs []planner.Cost) (shares []planner.Cost) {
	scarce, fewest := -1, int64(-1)
	for i, c := range costs {
		n := int64(math.MaxInt64)
		if c.Loss.Pico() > 0 {
			n = c.Remaining.Pico() / c.Loss.Pico()
		}
		if scarce < 0 || n < fewest {
			scarce, fewest = i, n
		}
	}
	for i, c := range costs {
		switch {
		case c.Limit.Pico() == 0 && (i == scarce || !c.Fits): // written as losses
		case !c.Fits:
			c.Share = fmt.Sprintf("%s %% of %s, of which %s %% is left", Part(c.Loss, c.Limit), c.Of, Part(c.Remaining, c.Limit))
		case i != scarce:
			continue
		case c.Loss.Pico() == 0:
			c.Share = "nothing of " + c.Of
		default:
			c.Share, c.Leaves = Part(c.Loss, c.Limit)+" % of "+c.Of, suchQuestions(fewest)
		}
		shares = append(shares, c)
	}
	return shares
}

// suchQuestions writes how often a charge fits the rest of a budget.
func suchQuestions(n int64) string {
	switch {
	case n < 1:
		return "no such question"
	case n == 1:
		return "about one such question"
	}
	return "about " + planner.Grouped(float64(n)) + " such questions"
}

// String is the price in few words: "cost 1.7 % of your budget, about 58 such questions left".
func (p Price) String() string {
	switch {
	case p.free:
		return "cost nothing, answered before"
	case p.part == "":
		return "cost " + p.amount
	}
	return fmt.Sprintf("cost %s %% of %s%s, %s left", p.part, p.of, within(p.amount), p.again)
}

// Sentence is the price in a sentence, with the mechanism that it paid for.
func (p Price) Sentence(r *Receipt, mechanism string) string {
	if p.free {
		return "The answer cost nothing: the same was answered before."
	}
	by := mechanism + " noise"
	if mechanism == "exponential" {
		by = "exponential mechanism"
	}
	if r.Rounds > 0 {
		by += fmt.Sprintf(", %d looks", r.Rounds)
	}
	if p.part == "" {
		return fmt.Sprintf("The answer cost %s (%s).", p.amount, by)
	}
	said := fmt.Sprintf("The answer cost %s %% of %s, which is used up first (%s)", p.part, p.of, by)
	if p.amount != "" {
		said = fmt.Sprintf("The answer cost %s %% of %s, which is used up first (%s, %s; %s is left)", p.part, p.of, p.amount, by, p.left)
	}
	return said + "; " + p.again + map[bool]string{true: " is left.", false: " are left."}[strings.HasSuffix(p.again, "question")]
}

// Paid is the price alone, that an analyst has paid, for those who read the answer later.
func (p Price) Paid(by string) string {
	switch {
	case p.free:
		return "cost nothing, answered before"
	case p.part == "":
		return "cost " + p.amount
	case p.of == own:
		return "cost " + p.part + " % of the budget of " + by
	}
	return "cost " + p.part + " % of " + p.of
}

// own is an analyst's own budget, for the analyst.
const own = "your budget"

// within writes a remark in parentheses, if there is one.
func within(said string) string {
	if said == "" {
		return ""
	}
	return " (" + said + ")"
}
