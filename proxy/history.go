package proxy

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"dpproxy/planner"
	"dpproxy/proxy/cashier"
)

// historyKept bounds the statements that are shown, of one analyst.
const historyKept = 1000

// textKept bounds the texts that are kept of a statement, in bytes.
const textKept = 4096

// abridged shortens a text to be kept: a statement, or its errors, which name expressions.
func abridged(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= textKept {
		return strings.Clone(text) // and not all that it is a part of
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(text[:textKept-len(ellipsis)], "") + ellipsis
}

// historyRow is a row of dp.history: a statement of the analyst that was answered.
type historyRow struct {
	Number    int64       `json:"number"`
	At        *time.Time  `json:"at"`
	Statement string      `json:"statement"`
	Mechanism string      `json:"mechanism"`
	Looks     *int        `json:"looks"`
	Measure   *string     `json:"measure"`
	Cost      json.Number `json:"cost"`
	Error     string      `json:"error"`
	Remark    *string     `json:"remark"`
}

// history remembers the statements of analysts, since the proxy was started. Each is shown their own
// statements alone.
type history struct {
	now func() time.Time // nil: no times are shown

	mu   sync.Mutex
	last map[string]int64 // numbers, by analyst: that of another tells nothing
	rows map[string][]historyRow
}

// add notes a statement that was answered.
func (h *history) add(analyst, statement string, plan *planner.Plan, released [][]*planner.Released, r *cashier.Receipt) {
	row := historyRow{
		Statement: abridged(statement), Mechanism: plan.Mechanism, Cost: "0",
		Error: abridged(strings.Join(errorBars(plan, released), ", ")),
	}
	if r != nil {
		measure := r.Debits[0].Loss.Measure().String()
		row.Measure, row.Cost = &measure, pico(r.Debits[0].Loss.Pico())
		if r.Rounds > 0 {
			row.Looks = &r.Rounds
		}
		if remark := strings.Join(r.Notes, "; "); remark != "" {
			row.Remark = &remark
		}
	}
	if h.now != nil {
		at := h.now()
		row.At = &at
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rows == nil {
		h.last, h.rows = map[string]int64{}, map[string][]historyRow{}
	}
	h.last[analyst]++
	row.Number = h.last[analyst]
	h.rows[analyst] = append(h.rows[analyst], row)
	h.rows[analyst] = h.rows[analyst][max(0, len(h.rows[analyst])-historyKept):]
}

// answered returns the statements of an analyst, in the order of their answers.
func (h *history) answered(analyst string) []historyRow {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]historyRow{}, h.rows[analyst]...)
}
