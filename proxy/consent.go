package proxy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"dpproxy/dp"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// This file holds dp.spend: which statements that cost are run. Tools ask more than their users do, and a session can say
// that nothing is spent whose price nobody has seen.

const (
	// consentsKept is how many statements of an analyst are known with the prices that were shown.
	consentsKept = 1000
	// consentFor is how long a price that was shown counts.
	consentFor = time.Hour
)

// asked identifies a statement with the values of its parameters.
type asked [sha256.Size]byte

// askedBy returns the digest of a statement, or of the query of an EXPLAIN.
func askedBy(inner string, b wire.BindRequest) asked {
	h := sha256.New()
	part := func(s []byte) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write(s)
	}
	part([]byte(strings.TrimSpace(inner)))
	for i, v := range b.Params {
		part([]byte{boolByte(v == nil), byte(formatOf(b.Formats, i))})
		part(v)
	}
	return asked(h.Sum(nil))
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// formatOf returns the format of a parameter: of none all are text, and one is that of all.
func formatOf(formats []int16, i int) int16 {
	switch {
	case len(formats) == 1:
		return formats[0]
	case i < len(formats):
		return formats[i]
	}
	return 0
}

// consents are the prices that analysts were shown. They say nothing but what EXPLAIN and refusals have said.
type consents struct {
	now func() time.Time // nil: none gets old

	mu    sync.Mutex
	shown int64
	of    map[string]map[asked]consent // by analyst
}

// A consent is what a statement was said to cost at most, by budget.
type consent struct {
	number int64
	at     time.Time
	price  map[string]dp.Loss
}

func newConsents(now func() time.Time) *consents {
	return &consents{now: now, of: map[string]map[asked]consent{}}
}

func (c *consents) time() time.Time {
	if c.now == nil {
		return time.Time{}
	}
	return c.now()
}

// show notes that an analyst was told what a statement costs.
func (c *consents) show(analyst string, a asked, costs []planner.Cost) {
	shown := consent{at: c.time(), price: map[string]dp.Loss{}}
	for _, cost := range costs {
		shown.price[cost.Scope] = cost.Loss
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shown++
	shown.number = c.shown
	mine := c.of[analyst]
	if mine == nil {
		mine = map[asked]consent{}
		c.of[analyst] = mine
	}
	mine[a] = shown
	for len(mine) > consentsKept {
		delete(mine, oldest(mine))
	}
}

// oldest returns the statement whose price was shown first.
func oldest(shown map[asked]consent) (first asked) {
	least := int64(math.MaxInt64)
	for a, s := range shown {
		if s.number < least {
			first, least = a, s.number
		}
	}
	return first
}

// use reports whether the analyst was told that a statement costs so much or more, and forgets it: it costs once.
func (c *consents) use(analyst string, a asked, costs []planner.Cost) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	shown, ok := c.of[analyst][a]
	if !ok {
		return false
	}
	delete(c.of[analyst], a)
	if c.time().Sub(shown.at) > consentFor {
		return false
	}
	for _, cost := range costs {
		if most, ok := shown.price[cost.Scope]; !ok || most.Measure() != cost.Loss.Measure() || !cost.Loss.Fits(most) {
			return false
		}
	}
	return true
}

// wanted refuses a drawing that costs, unless the session says that it may. It reads and charges nothing. Where a price that was
// shown is why it may, it returns that.
func (d *drawing) wanted(ctx context.Context) (agreed []planner.Cost, err error) {
	if d.part.quiet() && len(d.bill.Event)+len(d.bill.Owed) > 0 { // an EXPLAIN, whose result was remembered a moment ago
		return nil, pgerr.New(pgerr.FeatureNotSupported, "a remembered result is forgotten meanwhile").WithHint("Send the statement again.")
	}
	if d.part != nil && d.part.within != nil {
		if costs, err := d.p.cashier.Costs(ctx, d.bill); err == nil && covers(d.part.within, costs) {
			return nil, nil
		}
	}
	return wants(ctx, d.execution, d.pre, d.bill)
}

// wants refuses bills that cost, unless the session says that they may.
func wants(ctx context.Context, e *execution, pre *prelude, bills ...cashier.Bill) (agreed []planner.Cost, err error) {
	last, spend := bills[len(bills)-1], pre.settings.Spending
	if spend == "" || spend == settings.Always {
		return nil, nil
	}
	costs, err := e.p.cashier.Costs(ctx, bills...)
	if err != nil {
		return nil, reserveError(last, err)
	}
	last.Rounds = slices.ContainsFunc(bills, func(b cashier.Bill) bool { return b.Rounds })
	price, told := dearest(costs), costs
	if price != nil && !pre.settings.Losses {
		told = cashier.Shares(costs)
		price = &told[0]
	}
	switch {
	case price == nil:
		return nil, nil
	case spend == settings.Never:
		return nil, pgerr.New(pgerr.Unconfirmed, "the statement would cost %s, and dp.spend = never answers only what is free",
			amount(last, *price)).
			WithDetail("%s", charges(last, told)).
			WithHint("Write /* dp: spend=always */ before it, or SET dp.spend = confirmed.")
	case pre.settings.Commented:
		return nil, nil
	case e.p.consents.use(e.analyst, pre.asked, costs):
		return costs, nil
	}
	if err := e.p.cashier.Covered(ctx, bills...); err != nil {
		return nil, reserveError(last, err)
	}
	e.p.consents.show(e.analyst, pre.asked, costs)
	return nil, pgerr.New(pgerr.Unconfirmed, "the statement costs %s: run it again to spend that", amount(last, *price)).
		WithDetail("%s", charges(last, told)).
		WithHint("Within an hour it runs as it is, once; with /* dp: spend=always */ before it, at once; " +
			"SET dp.spend = always for all.")
}

// covers reports whether costs are within others, budget by budget.
func covers(within, costs []planner.Cost) bool {
	for _, c := range costs {
		i := slices.IndexFunc(within, func(w planner.Cost) bool { return w.Scope == c.Scope && w.Loss.Measure() == c.Loss.Measure() })
		if !c.Loss.IsZero() && (i < 0 || !c.Loss.Fits(within[i].Loss)) {
			return false
		}
	}
	return true
}

// dearest returns the cost of which the least is left; nil where nothing costs.
func dearest(costs []planner.Cost) *planner.Cost {
	var found *planner.Cost
	for i := range costs {
		c := &costs[i]
		if !c.Loss.IsZero() && (found == nil || c.Remaining.Pico() < found.Remaining.Pico()) {
			found = c
		}
	}
	return found
}

// amount writes a cost with what it would leave.
func amount(b cashier.Bill, c planner.Cost) string {
	most := ""
	if b.Rounds {
		most = "at most "
	}
	switch {
	case c.Leaves != "":
		return most + c.Share + " (which would leave " + c.Leaves + ")"
	case c.Share != "":
		return most + c.Share
	}
	return most + c.Loss.String() + " of " + c.Scope + " (" + left(c) + ")"
}

// left tells what a cost would leave.
func left(c planner.Cost) string {
	rest := c.Remaining.Measure().Symbol() + "=" + planner.Number(float64(c.Remaining.Pico())/dp.PicoPerUnit)
	if !c.Fits {
		return rest + " is left"
	}
	return "which would leave " + rest
}

// nothingDone is said of a statement whose price is not wanted yet.
const nothingDone = "Nothing was read or charged."

// charges lists the costs of a bill, if there are several.
func charges(b cashier.Bill, costs []planner.Cost) string {
	said := make([]string, 0, len(costs))
	for _, c := range costs {
		if !c.Loss.IsZero() {
			said = append(said, amount(b, c))
		}
	}
	if len(said) == 1 {
		return nothingDone
	}
	return strings.Join(said, "; ") + ". " + nothingDone
}
