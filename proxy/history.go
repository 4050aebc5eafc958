package proxy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// historyKept bounds the statements that are shown, of one analyst.
const historyKept = 1000

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
	mu   sync.Mutex
	last map[string]int64 // numbers, by analyst: that of another tells nothing
	rows map[string][]historyRow
}

// add notes a statement that was answered, and numbers its account.
func (h *history) add(analyst string, a *account) {
	row := historyRow{
		At: a.at, Statement: abridged(a.text), Mechanism: a.mechanism, Cost: "0", Error: a.shortly(),
	}
	if r := a.receipt; r != nil {
		measure := r.Debits[0].Loss.Measure().String()
		row.Measure, row.Cost, row.Remark = &measure, pico(r.Debits[0].Loss.Pico()), filled(strings.Join(r.Notes, "; "))
		if r.Rounds > 0 {
			row.Looks = &r.Rounds
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.rows == nil {
		h.last, h.rows = map[string]int64{}, map[string][]historyRow{}
	}
	h.last[analyst]++
	row.Number, a.number = h.last[analyst], h.last[analyst]
	h.rows[analyst] = append(h.rows[analyst], row)
	h.rows[analyst] = h.rows[analyst][max(0, len(h.rows[analyst])-historyKept):]
}

// restate replaces the error of a statement by that of an account of the same number, which knows more of it.
func (h *history) restate(analyst string, a *account) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rows := slices.Clone(h.rows[analyst]) // others may read the old ones
	if at := slices.IndexFunc(rows, func(r historyRow) bool { return r.Number == a.number }); at >= 0 {
		rows[at].Error = a.shortly()
		h.rows[analyst] = rows
	}
}

// forget drops the statements of analysts whom a policy does not name any more: the next one of that name is another.
func (h *history) forget(goesOn func(analyst string) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	gone := func(analyst string) bool { return !goesOn(analyst) }
	maps.DeleteFunc(h.rows, func(analyst string, _ []historyRow) bool { return gone(analyst) })
	maps.DeleteFunc(h.last, func(analyst string, _ int64) bool { return gone(analyst) })
}

// answered returns the statements of an analyst, in the order of their answers.
func (h *history) answered(analyst string) []historyRow {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]historyRow{}, h.rows[analyst]...)
}
