package truth_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A tally has the answers to one value of one row.
type tally struct {
	truth                    float64
	n, stated, within        int     // answers, those with an interval, and those with the truth in it
	sum, squares, low, above float64 // of answers, squared errors, and both parts of the interval
}

func (y *tally) add(c cell) {
	y.n++
	y.sum += c.value
	y.squares += (c.value - y.truth) * (c.value - y.truth)
	if c.stated() {
		y.stated++
		y.low += c.value - c.low
		y.above += c.high - c.value
	}
	if c.within(y.truth) {
		y.within++
	}
}

// A tableOfErrors has the answers to one question, by column and row.
type tableOfErrors struct {
	question question
	truth    reply
	columns  []map[string]*tally
	asked    int
	took     time.Duration
	cost     float64 // ρ of one answer
	refusal  error
	notice   string // of one answer
	lock     sync.Mutex
}

// measureErrors asks a question many times, in a few sessions.
func measureErrors(t *testing.T, s site, q question, draws int) *tableOfErrors {
	t.Helper()
	truth := s.truthAbout(t, q)
	e := &tableOfErrors{question: q, truth: truth, columns: make([]map[string]*tally, len(truth.columns))}
	for i := range e.columns {
		e.columns[i] = map[string]*tally{}
	}
	before := s.spent(t)
	var all sync.WaitGroup
	for i, ours := range s.ours {
		all.Go(func() {
			for range (draws + i) / len(s.ours) {
				start := time.Now()
				answer, err := ours.ask(t.Context(), q)
				if !e.add(answer, err, time.Since(start)) {
					return
				}
			}
		})
	}
	all.Wait()
	e.notice = strings.Join(s.ours[0].notices, "; ")
	e.cost = (s.spent(t) - before) / float64(draws)
	return e
}

// add reports whether it makes sense to ask again.
func (e *tableOfErrors) add(answer reply, err error, took time.Duration) bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	if err != nil {
		e.refusal = err
		return false
	}
	e.asked++
	e.took += took
	for key, row := range answer.rows {
		for i, c := range row {
			truth := e.question.truthOf(e.truth, key, i)
			if math.IsNaN(c.value) || math.IsNaN(truth) {
				continue
			}
			y := e.columns[i][key]
			if y == nil {
				y = &tally{truth: truth}
				e.columns[i][key] = y
			}
			y.add(c)
		}
	}
	return true
}

const heading = `| question | value | rows | truth | mean answer | rms error | stated interval | truth within | ρ | ms |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`

// lines writes the table's lines: one for all rows of each value, and one for the first row of a
// question with one value.
func (e *tableOfErrors) lines() string {
	var text strings.Builder
	for i, name := range e.truth.columns {
		keys := e.keys(i)
		if len(keys) > 1 && len(e.truth.columns) == 1 {
			text.WriteString(e.line(i, name, keys[0], keys[:1]))
		}
		text.WriteString(e.line(i, name, fmt.Sprintf("all %d", len(keys)), keys))
	}
	return text.String()
}

// keys returns the rows of the truth in its order, and then those that answers have besides.
func (e *tableOfErrors) keys(column int) []string {
	keys := slices.Clone(e.truth.order)
	for _, key := range slices.Sorted(maps.Keys(e.columns[column])) {
		if _, ok := e.truth.rows[key]; !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// line writes the errors of rows: relative to the mean of their true values.
func (e *tableOfErrors) line(i int, name, rows string, keys []string) string {
	var s tally
	var known int
	for _, key := range keys {
		y := e.columns[i][key]
		if y == nil {
			continue
		}
		known++
		s.truth += y.truth
		s.n += y.n
		s.stated += y.stated
		s.within += y.within
		s.sum += y.sum / float64(y.n)
		s.squares += y.squares
		s.low += y.low
		s.above += y.above
	}
	if known == 0 {
		return fmt.Sprintf("| %s | %s | %s | no answer | | | | | | |\n", e.question.name, name, rows)
	}
	n, truth, mean := float64(s.n), s.truth/float64(known), s.sum/float64(known)
	shown := ""
	if most := e.asked * len(keys); s.n < most {
		shown = fmt.Sprintf(", %.0f %% shown", 100*n/float64(most))
	}
	per, unit := 100/math.Abs(truth), " %"
	if truth == 0 {
		per, unit = 1, ""
	}
	return fmt.Sprintf("| %s | %s | %s%s | %s | %s | %s%s | %s | %.0f %% | %.4g | %d |\n", e.question.name, name, rows, shown,
		digits(truth), digits(mean), digits(per*math.Sqrt(s.squares/n)), unit, s.interval(per, unit),
		100*float64(s.within)/float64(max(1, s.stated)), e.cost, e.took.Milliseconds()/int64(max(1, e.asked)))
}

// interval writes both parts of the mean interval, and how often there was one.
func (y *tally) interval(per float64, unit string) string {
	if y.stated == 0 {
		return "none"
	}
	n := float64(y.stated)
	text := fmt.Sprintf("−%s%s +%s%[2]s", digits(per*y.low/n), unit, digits(per*y.above/n))
	if y.stated < y.n {
		text += fmt.Sprintf(", in %.0f %%", 100*n/float64(y.n))
	}
	return text
}

// digits writes a number with four digits, or all before the point.
func digits(x float64) string {
	if math.Abs(x) >= 1000 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.4g", x)
}

// coverage returns how many intervals had the truth in them, and how many there were.
func (e *tableOfErrors) coverage() (within, intervals int) {
	for _, rows := range e.columns {
		for _, y := range rows {
			within += y.within
			intervals += y.stated
		}
	}
	return within, intervals
}

// cells returns how many values an answer has.
func (e *tableOfErrors) cells() (n int) {
	for _, rows := range e.columns {
		n += len(rows)
	}
	return n
}
