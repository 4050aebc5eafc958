package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"dpproxy/planner"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// An account tells an analyst of an answer: what it has cost and how wrong it may be.
type account struct {
	text       string
	at         *time.Time
	receipt    *cashier.Receipt
	mechanism  string
	confidence float64
	errors     []string
	columns    []columnError // of output columns, for a brief notice
	outside    []string      // in none of the errors
	failed     string        // which replays failed
	clamp      string        // which bounds to write, for a smaller error
	bounds     string
	leftOut    []string
	ranks      []string // how far intervals reach by rank
	groups     []string
	// hidden are the values that are NULL since their groups show too few rows, of all that could be.
	hidden, all int
	untold      planner.Untold
}

// newAccount returns that of what was released.
func newAccount(text string, plan *planner.Plan, released [][]*planner.Released, r *cashier.Receipt, confidence float64) *account {
	a := &account{
		text: text, receipt: r, mechanism: plan.Mechanism, confidence: confidence,
		errors: errorBars(plan, released), columns: columnErrors(plan, released),
		outside: plan.Outside(released), clamp: planner.WideExtents(plan, released), bounds: plan.Clamped(),
		leftOut: leftOut(plan, released), ranks: planner.RanksOf(plan, released), untold: plan.Untold,
	}
	a.hidden, a.all = smallGroups(plan, released)
	for i, b := range plan.Blocks {
		a.groups = append(a.groups, b.ErrorGroups(released[i])...)
	}
	return a
}

// notices tell as much of the answer as dp.notice says.
func (a *account) notices(ctx context.Context, c *cashier.Cashier, much settings.Notice) []wire.Notice {
	switch much {
	case settings.Brief:
		return a.brief(ctx, c)
	case settings.Full:
		return []wire.Notice{a.full(ctx, c)}
	case settings.Silence:
	}
	return nil
}

// full tells, in this order, all that is outside of the errors, the cost of the answer, how wrong it may be, and the rest of the budget.
func (a *account) full(ctx context.Context, c *cashier.Cashier) wire.Notice {
	n := wire.Notice{Code: "00000", Message: "cost " + a.receipt.Cost(a.mechanism)}
	if len(a.errors) > 0 {
		n.Message += fmt.Sprintf("; error at %s %%: %s", planner.Number(100*a.confidence), strings.Join(a.errors, ", "))
	}
	n.Message += c.Remaining(ctx, a.receipt, a.untold) + a.receipt.Remarks()
	if len(a.outside) > 0 {
		n.Message = notInErrors + strings.Join(a.outside, ", ") + "; " + n.Message
	}
	var said []string
	for _, g := range a.groups {
		said = append(said, "Of "+g+".")
	}
	said = append(append(said, a.leftOut...), a.ranks...)
	if a.hidden > 0 {
		said = append(said, fmt.Sprintf("%d of %d values are NULL: %s.", a.hidden, a.all, tooFew))
		n.Hint = "SET dp.small_groups = show shows what noise makes of them."
	}
	n.Hint = strings.TrimSpace(a.clamp + " " + n.Hint)
	n.Detail = strings.Join(said, "\n")
	return n
}

// tooFew is why values of small groups are NULL: of ranks that error is larger than of counts, and can be that of hundreds of rows.
const tooFew = "their groups may have fewer rows than the error of counts and ranks tells from none"

// lastRow is the row of dp.last: of the session's last protected statement that was answered.
type lastRow struct {
	At         *time.Time  `json:"at"`
	Statement  string      `json:"statement"`
	Mechanism  string      `json:"mechanism"`
	Looks      *int        `json:"looks"`
	Measure    *string     `json:"measure"`
	Cost       json.Number `json:"cost"`
	Confidence float64     `json:"confidence"`
	Error      string      `json:"error"`
	Groups     *string     `json:"groups"`
	Bounds     *string     `json:"bounds"`
	Limits     *string     `json:"limits"`
	Remaining  *string     `json:"remaining"`
	Remark     *string     `json:"remark"`
}

// last returns the row of dp.last for the account, none without, with the budget as it is now.
func (a *account) last(ctx context.Context, c *cashier.Cashier) []lastRow {
	if a == nil {
		return []lastRow{}
	}
	row := lastRow{
		At: a.at, Statement: abridged(a.text), Mechanism: a.mechanism, Cost: "0", Confidence: a.confidence,
		Error: abridged(strings.Join(a.errors, ", ")), Groups: filled(strings.Join(a.groups, "\n")), Bounds: filled(a.bounds),
		Limits:    filled(strings.Join(a.leftOut, "\n")),
		Remaining: filled(strings.TrimPrefix(c.Remaining(ctx, a.receipt, a.untold), "; ")),
	}
	if r := a.receipt; r != nil {
		measure := r.Debits[0].Loss.Measure().String()
		row.Measure, row.Cost, row.Remark = &measure, pico(r.Debits[0].Loss.Pico()), filled(strings.Join(r.Notes, "; "))
		if r.Rounds > 0 {
			row.Looks = &r.Rounds
		}
	}
	return []lastRow{row}
}
