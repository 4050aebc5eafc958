package replay

import (
	"math"
	"strconv"
	"strings"

	"dpproxy/estimate"
	"dpproxy/parser/marks"
)

// A Column is an output column with the errors of its values.
type Column struct {
	Name string
	// Cells are the values that are numbers, in the order of the rows, and Keys those of their rows.
	Cells []Cell
	Keys  []string
	// Unknown is the number of values without an error, since too few replicas have their rows.
	Unknown int
	// Agree is the least part of the replicas that have the same value, of values that are no numbers; 0 without any.
	Agree float64
}

// A Cell is a value with its error.
type Cell struct {
	Value float64
	estimate.Replay
}

// Half is the distance of the value from the farther end of its interval.
func (c Cell) Half() float64 { return max(c.Value-c.Low, c.High-c.Value) }

// An Account is the outcome of a replay.
type Account struct {
	Columns []Column
	// Replicas were evaluated, of which Failed raised an error, of the SQLSTATE Code; Shifted are those that limits have moved.
	Replicas, Failed, Shifted int
	Code                      string
	// Least is the least part of the replicas in which a row of the answer is there.
	Least float64
}

// maxFailed is the part of the replicas that may raise an error.
const maxFailed = 0.5

// Account reads the outcome of a replay of cells. ok is false if no error follows from it. Of each column, numbers says how it shows them.
func (s *Statement) Account(text []byte, numbers []Shown, of Cells, alpha float64) (a Account, ok bool) {
	first := 1 + of.Shifted + of.Guessed
	all, result, err := outcomes(text)
	if err != nil || len(all) < first+estimate.FewestReplicas(alpha) || all[0].failed || len(numbers) != len(s.marks.Columns) {
		return a, false
	}
	m := matcher{Statement: s, answer: all[0].rows}
	if !m.tells() {
		return a, false
	}
	moved, _ := m.replicas(all[1 : 1+of.Shifted])
	guessed, _ := m.replicas(all[1+of.Shifted : first])
	drawn, failed := m.replicas(all[first:])
	a = Account{Replicas: len(drawn) + failed, Failed: failed, Shifted: len(moved), Least: min(m.least(drawn), m.least(moved))}
	if failed > 0 {
		a.Code = result.Code
	}
	if float64(failed) > maxFailed*float64(a.Replicas) || float64(len(moved)) < (1-maxFailed)*float64(of.Shifted) ||
		len(drawn) < estimate.FewestReplicas(alpha) {
		return a, false
	}
	for i, c := range s.marks.Columns {
		switch c.Mark {
		case marks.Noisy, marks.Most, marks.Least, marks.Mixed:
			shown := numbers[i].digits(result.Digits)
			a.Columns = append(a.Columns, m.column(i, all[0].keys, kinds{drawn, moved, guessed}, shown, alpha))
		case marks.Label, marks.Cell, marks.Unknown:
		}
	}
	return a, true
}

// replicas are the rows of replicas which are those of the answer, without the replicas that failed.
func (m *matcher) replicas(of []outcome) (all [][][]*string, failed int) {
	for _, o := range of {
		if o.failed {
			failed++
			continue
		}
		all = append(all, m.matched(o.rows))
	}
	return all, failed
}

// least is the least part of replicas in which a row of the answer is there.
func (m *matcher) least(replicas [][][]*string) float64 {
	least := 1.0
	for row := range m.answer {
		n := 0
		for _, r := range replicas {
			if r[row] != nil {
				n++
			}
		}
		if len(replicas) > 0 {
			least = min(least, float64(n)/float64(len(replicas)))
		}
	}
	return least
}

// A matcher finds the rows of the answer among those of a replica: by their labels, of several with the same labels by their order, and
// without any label by their places.
type matcher struct {
	*Statement
	answer [][]*string
}

// tells reports whether rows can be told apart: by labels, since there is one, or by the order that was asked for.
func (m *matcher) tells() bool { return m.labelled() || len(m.answer) <= 1 || m.marks.Ordered }

// key is the labels of a row.
func (m *matcher) key(row []*string) string {
	var b strings.Builder
	for i, c := range m.marks.Columns {
		if c.Mark != marks.Label {
			continue
		}
		if row[i] == nil {
			b.WriteString("NULL ")
		} else {
			b.WriteString(strconv.Quote(*row[i]))
		}
	}
	return b.String()
}

// matched returns, for each row of the answer, the same one of a replica; nil if there is none.
func (m *matcher) matched(rows [][]*string) [][]*string {
	by, next := map[string][][]*string{}, map[string]int{}
	for _, row := range rows {
		k := m.key(row)
		by[k] = append(by[k], row)
	}
	out := make([][]*string, len(m.answer))
	for i, row := range m.answer {
		k := m.key(row)
		if n := next[k]; n < len(by[k]) {
			out[i] = by[k][n]
		}
		next[k]++
	}
	return out
}

// Kinds of replicas are those that were drawn, those that limits may have moved, and guesses of the truth.
type kinds struct{ drawn, moved, guessed [][][]*string }

// column returns the errors of a column, by replicas of all kinds.
func (m *matcher) column(at int, keys []string, of kinds, shown digits, alpha float64) Column {
	c := Column{Name: m.marks.Columns[at].Name}
	if shown.none {
		c.Agree = min(agreement(at, m.answer, of.drawn), agreement(at, m.answer, of.moved))
		return c
	}
	shown.read(at, m.answer, of.drawn)
	for row, cells := range m.answer {
		value, ok := finite(cells[at])
		if !ok {
			continue
		}
		r, ok := estimate.NewReplay(value, valuesOf(of.drawn, row, at), alpha)
		tried := valuesOf(of.moved, row, at)
		if !ok || len(of.moved) > 0 && len(tried) == 0 {
			c.Unknown++
			continue
		}
		guesses := valuesOf(of.guessed, row, at)
		if m.marks.Columns[at].Mark == marks.Mixed && !r.Centred(guesses) {
			c.Unknown++
			continue
		}
		r = oneEnd(m.marks.Columns[at].Mark, r.Including(guesses).Moved(value, tried))
		half := shown.half(value)
		switch rounded := m.rounded[c.Name]; {
		case !math.IsInf(rounded, 1):
			half = max(half, rounded)
		case r.Low == r.High: // and no replica shows the step
			c.Unknown++
			continue
		}
		r.Low, r.High = r.Low-half, r.High+half
		c.Cells, c.Keys = append(c.Cells, Cell{value, r}), append(c.Keys, keys[row])
	}
	return c
}

// valuesOf are the numbers in a cell of the replicas that have one there.
func valuesOf(replicas [][][]*string, row, at int) (all []float64) {
	for _, r := range replicas {
		if r[row] == nil {
			continue
		}
		if x, ok := finite(r[row][at]); ok {
			all = append(all, x)
		}
	}
	return all
}

// oneEnd leaves the largest of noisy values without a lower end, and the smallest without an upper one, also if no replica shows that noise
// has moved it: at a bound it cannot move further.
func oneEnd(m marks.Mark, r estimate.Replay) estimate.Replay {
	switch {
	case m == marks.Most && !r.Up:
		r.Up, r.Down, r.By, r.Low = true, false, 0, math.Inf(-1)
	case m == marks.Least && !r.Down:
		r.Up, r.Down, r.By, r.High = false, true, 0, math.Inf(1)
	}
	return r
}

// finite reads a number.
func finite(text *string) (float64, bool) {
	if text == nil {
		return 0, false
	}
	x, err := strconv.ParseFloat(*text, 64)
	return x, err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
}

// agreement is the least part of replicas that have the value of the answer.
func agreement(at int, answer [][]*string, replicas [][][]*string) float64 {
	least := 1.0
	for row, cells := range answer {
		same := 0
		for _, r := range replicas {
			if r[row] != nil && (r[row][at] == nil) == (cells[at] == nil) && (cells[at] == nil || *r[row][at] == *cells[at]) {
				same++
			}
		}
		if len(replicas) > 0 {
			least = min(least, float64(same)/float64(len(replicas)))
		}
	}
	return least
}
