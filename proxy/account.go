package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"dpproxy/catalog"
	"dpproxy/planner"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// An account tells an analyst of an answer: what it has cost and how wrong it may be.
type account struct {
	text       string
	number     int64 // of dp.history
	at         *time.Time
	receipt    *cashier.Receipt
	mechanism  string
	confidence float64
	errors     []string      // in sentences
	columns    []columnError // of output columns, for a brief notice
	used       []columnError // of those of released results that it uses
	outside    []string      // in none of the errors
	failed     string        // which replays failed
	clamp      string        // which bounds to write, for a smaller error
	bounds     string
	leftOut    []string // of the errors, in sentences
	limits     []string // that were chosen
	how        []string // how the errors are known
	again      string   // a remark on the errors of values that may have been told with others
	groups     []string
	// hidden are the values that are NULL since their groups show too few rows, of all that could be.
	hidden, all int
	untold      planner.Untold
	// relations are those that were read, and rows all that were released of them, the oldest at asOf; the zero time if that is not known.
	relations []catalog.Name
	rows      int
	asOf      time.Time
	aged      bool // all are of an earlier epoch
}

// newAccount returns that of what was released.
func newAccount(text string, plan *planner.Plan, released [][]*planner.Released, r *cashier.Receipt, confidence float64) *account {
	a := &account{
		text: text, receipt: r, mechanism: plan.Mechanism, confidence: confidence,
		errors: errorBars(plan, released, perCent(confidence)), columns: columnErrors(plan, released),
		outside: plan.Outside(released), clamp: planner.WideExtents(plan, released), bounds: plan.Clamped(),
		leftOut: leftOut(plan, released), limits: limitsOf(plan, released), how: howKnown(plan, released), untold: plan.Untold,
	}
	a.hidden, a.all = smallGroups(plan, released)
	if r == nil && plan.Reduces() != 0 {
		a.again, a.how = "; ± is that of the error asked for now", append(a.how, ownErrors)
	}
	a.relations = plan.Relations
	for i, b := range plan.Blocks {
		for _, set := range released[i] {
			a.rows += len(set.Rows)
		}
		a.groups = append(a.groups, b.ErrorGroups(released[i])...)
	}
	return a
}

// dated is a remark on releases of an earlier epoch, empty for others.
func (a *account) dated() string {
	if !a.aged {
		return ""
	}
	return "; as of " + asOf(a.asOf)
}

// asOf writes the time of a release for people.
func asOf(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 UTC") }

// ownErrors is said of values that were measured before, perhaps for another error: each error to reach has a proof of its own.
const ownErrors = "The values were measured before, perhaps for another error. Each error that is asked for has its own ±: " +
	"a smaller one that was told of the same values holds as well."

// perCent writes a confidence.
func perCent(confidence float64) string { return planner.Number(100*confidence) + " %" }

// notices tell a session as much of the answer as dp.notice says.
func (a *account) notices(ctx context.Context, c *cashier.Cashier, s *wire.Session, told settings.Settings) []wire.Notice {
	if told.Notice == settings.Silence {
		return nil
	}
	price, at := cashier.PriceOf(ctx, c, a.receipt, a.untold, told.Losses), ""
	if len(a.columns)+len(a.used) > 0 {
		at = confide(s, a.confidence)
	}
	if told.Notice == settings.Full {
		return []wire.Notice{a.full(price, at)}
	}
	return a.brief(price, at)
}

// full tells all there is to say: the line of a brief notice, and in sentences how wrong the answer may be, all that no error includes,
// the price, how the errors are known, and which limits were chosen.
func (a *account) full(price cashier.Price, at string) wire.Notice {
	n := a.briefLine(price, at)
	said := slices.Concat(a.errors, a.groups, a.leftOut)
	if a.hidden > 0 {
		said = append(said, fmt.Sprintf("%d of %d values are NULL: %s.", a.hidden, a.all, tooFew))
		n.Hint = "A larger dp.epsilon has less noise. SET dp.small_groups = show shows what noise makes of them."
	}
	said = append(said, price.Sentence(a.receipt, a.mechanism))
	said = append(said, filledOnes(a.exact())...)
	n.Hint = strings.TrimSpace(a.clamp + " " + n.Hint)
	n.Detail = strings.Join(slices.Concat(said, a.how, a.limits), "\n")
	return n
}

// exact says of an answer whose errors are not all known by a formula which are; "" of others.
func (a *account) exact() string {
	var exact, others []string
	for _, c := range slices.Concat(a.columns, a.used) {
		switch {
		case c.replayed:
			others = append(others, c.name)
		case c.bounded && !slices.Contains(exact, c.name):
			exact = append(exact, c.name)
		}
	}
	if len(exact) == 0 || len(others) == 0 {
		return ""
	}
	return "The error of " + strings.Join(exact, ", ") + " follows from the law of the noise."
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

// shortly are the errors of columns in a few words, as brief notices have them, and those of the results that the statement uses.
func (a *account) shortly() string {
	said := eachOnce(a.columns)
	if used := eachOnce(a.used); len(used) > 0 {
		said = append(said, "uses "+strings.Join(used, ", "))
	}
	return abridged(strings.Join(said, "; "))
}

// last returns the row of dp.last for the account, none without, with the budget as it is now.
func (a *account) last(ctx context.Context, c *cashier.Cashier) []lastRow {
	if a == nil {
		return []lastRow{}
	}
	row := lastRow{
		At: a.at, Statement: abridged(a.text), Mechanism: a.mechanism, Cost: "0", Confidence: a.confidence,
		Error: a.shortly(), Groups: filled(strings.Join(a.groups, "\n")), Bounds: filled(a.bounds),
		Limits:    filled(strings.Join(slices.Concat(a.leftOut, a.how, a.limits), "\n")),
		Remaining: filled(c.Remaining(ctx, a.receipt, a.untold)),
	}
	row.Remark = filled(strings.TrimPrefix(a.receipt.Remarks()+a.dated(), "; "))
	if r := a.receipt; r != nil {
		measure := r.Debits[0].Loss.Measure().String()
		row.Measure, row.Cost = &measure, pico(r.Debits[0].Loss.Pico())
		if r.Rounds > 0 {
			row.Looks = &r.Rounds
		}
	}
	return []lastRow{row}
}
