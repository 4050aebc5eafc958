package proxy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dpproxy/planner"
	"dpproxy/proxy/cashier"
	"dpproxy/wire"
)

// notice tells the cost of the answer, how wrong it may be, and the rest of the budget.
func notice(
	ctx context.Context, c *cashier.Cashier, r *cashier.Receipt, plan *planner.Plan, released [][]*planner.Released, confidence float64,
) wire.Notice {
	n := wire.Notice{
		Code: "00000",
		Message: fmt.Sprintf("cost %s; error at %s %%: %s%s", r.Cost(plan.Mechanism),
			planner.Number(100*confidence), strings.Join(errorBars(plan, released), ", "), c.Remaining(ctx, r, plan.Untold)+r.Remarks()),
	}
	n.Detail = leftOut(plan, released)
	if hidden, all := smallGroups(plan, released); hidden > 0 {
		n.Detail = strings.TrimSpace(fmt.Sprintf("%s\n%d of %d values are NULL: their groups may have no rows.", n.Detail, hidden, all))
		n.Hint = "SET dp.small_groups = show shows what noise makes of them."
	}
	return n
}

// smallGroups counts the values that are NULL since their groups may have no rows, and those that
// could be.
func smallGroups(plan *planner.Plan, released [][]*planner.Released) (hidden, all int) {
	for i, b := range plan.Blocks {
		h, a := b.SmallGroups(released[i])
		hidden, all = hidden+h, all+a
	}
	return hidden, all
}

// leftOut tells what the errors do not include, and what the limits of contributions leave out.
func leftOut(plan *planner.Plan, released [][]*planner.Released) string {
	var said []string
	if bounds := plan.Clamped(); bounds != "" {
		said = append(said, "Values are clamped: "+bounds+". The error does not include what clamping leaves out.")
	}
	for _, s := range plan.LeftOut() {
		said = append(said, strings.ToUpper(s[:1])+s[1:]+". The error does not include what that leaves out.")
	}
	if slices.ContainsFunc(plan.Blocks, (*planner.BlockPlan).Consistent) {
		said = append(said, "No cell of a count or sum is shown negative, and they add up. Errors are of the cells as they were measured.")
	}
	for i, b := range plan.Blocks {
		said = append(said, b.Cuts(released[i], plan.Unit())...)
	}
	return strings.Join(said, "\n")
}

// errorBars are the errors of the answers, each once.
func errorBars(plan *planner.Plan, released [][]*planner.Released) []string {
	var bars []string
	for i, b := range plan.Blocks {
		for _, bar := range b.Errors(released[i]) {
			s := bar.String()
			if len(bars) == 0 || bars[len(bars)-1] != s {
				bars = append(bars, s)
			}
		}
	}
	return bars
}
