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
	truth        float64
	answers      []float64
	below, above []float64 // both parts of the intervals that there are
	within       int       // how many of these have the truth in them
}

func (y *tally) add(c cell) {
	y.answers = append(y.answers, c.value)
	if c.stated() {
		y.below, y.above = append(y.below, c.value-c.low), append(y.above, c.high-c.value)
	}
	if c.within(y.truth) {
		y.within++
	}
}

// off lists the sizes of the errors.
func (y *tally) off() []float64 {
	var all []float64
	for _, x := range y.answers {
		all = append(all, math.Abs(x-y.truth))
	}
	return all
}

// part is the number that a share of others is not above.
func part(of []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[int(math.Ceil(share*float64(len(sorted))))-1]
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

const heading = `| question | value | rows | truth | median answer | rms error | 95 % of errors | stated interval | truth within | ρ | ms |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
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
	var tallies []*tally
	for _, key := range keys {
		if y := e.columns[i][key]; y != nil {
			tallies = append(tallies, y)
		}
	}
	if tallies == nil {
		return fmt.Sprintf("| %s | %s | %s | no answer | | | | | | | |\n", e.question.name, name, rows)
	}
	var truth, median, squares float64
	var off []float64
	within, stated, known := 0, 0, float64(len(tallies))
	for _, y := range tallies {
		truth += y.truth / known
		median += part(y.answers, 0.5) / known
		off = append(off, y.off()...)
		within, stated = within+y.within, stated+len(y.below)
	}
	for _, x := range off {
		squares += x * x
	}
	n, shown := float64(len(off)), ""
	if most := e.asked * len(keys); len(off) < most {
		shown = fmt.Sprintf(", %.0f %% shown", 100*n/float64(most))
	}
	per, unit := 100/math.Abs(truth), " %"
	if truth == 0 {
		per, unit = 1, ""
	}
	const form = "| %s | %s | %s%s | %s | %s | %s%s | %s%s | %s | %.0f %% | %.4g | %d |\n"
	return fmt.Sprintf(form, e.question.name, name, rows, shown, digits(truth), digits(median),
		digits(per*math.Sqrt(squares/n)), unit, digits(per*part(off, 0.95)), unit, interval(tallies, per, unit),
		100*float64(within)/float64(max(1, stated)), e.cost, e.took.Milliseconds()/int64(max(1, e.asked)))
}

// interval writes both parts of an interval, each the mean of the medians of rows, and how often there was one.
func interval(of []*tally, per float64, unit string) string {
	var below, above float64
	answers, intervals, rows := 0, 0, 0
	for _, y := range of {
		answers, intervals = answers+len(y.answers), intervals+len(y.below)
		if len(y.below) > 0 {
			below, above, rows = below+part(y.below, 0.5), above+part(y.above, 0.5), rows+1
		}
	}
	if rows == 0 {
		return "none"
	}
	n := float64(rows)
	text := fmt.Sprintf("−%s%s +%s%[2]s", digits(per*below/n), unit, digits(per*above/n))
	if intervals < answers {
		text += fmt.Sprintf(", in %.0f %%", 100*float64(intervals)/float64(answers))
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
			intervals += len(y.below)
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
