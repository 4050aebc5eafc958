package truth_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// leastWithin is the share of the cells of a question that have the truth within their intervals, so
// that the question has.
const leastWithin = 0.9

// leastShare is the mean share of the cells of a question that have the truth within.
const leastShare = 0.95

// A verdict is how the answer to a question compares with the truth.
type verdict struct {
	within, outside int     // cells
	unstated        int     // cells without an interval
	null            int     // cells that are NULL
	missing, more   int     // rows of the truth that the answer lacks, and rows that it has besides
	worst           string  // the cell that is farthest outside
	excess          float64 // of the worst: by how many widths of its interval
	refusal         error
}

// The outcomes of a question.
const (
	refused  = "refused"
	empty    = "NULL"
	unstated = "no interval"
	inside   = "within"
	outside  = "outside"
)

func (v verdict) outcome() string {
	switch {
	case v.refusal != nil:
		return refused
	case v.judged() == 0:
		return empty
	case v.judged() == v.unstated:
		return unstated
	case float64(v.within) >= leastWithin*float64(v.judged()):
		return inside
	}
	return outside
}

// judged counts the cells with a value. One without an interval is not within.
func (v verdict) judged() int { return v.within + v.outside + v.unstated }

// An analyst asks in one session.
type analyst struct {
	site
	ours    *pgx.Conn
	notices []string // of the last question
}

func newAnalyst(t *testing.T, s site) *analyst {
	a := &analyst{site: s}
	a.ours = s.dial(t, func(n *pgconn.Notice) { a.notices = append(a.notices, n.Message) })
	return a
}

// judge asks a question once.
func (a *analyst) judge(t *testing.T, q question) verdict {
	t.Helper()
	truth, err := ask(t.Context(), a.truth, withoutEnds(q.truth), q.ignored())
	if err != nil {
		t.Fatalf("%s: %v\n%s", q.name, err, withoutEnds(q.truth))
	}
	a.notices = nil
	var v verdict
	answer, err := ask(t.Context(), a.ours, withEnds(q.asked), q.ignored())
	if err == nil {
		v.compare(q, answer, truth)
		return v
	}
	v.worst = "with intervals: " + err.Error()
	if _, v.refusal = a.ours.Exec(t.Context(), plain(q.asked)); v.refusal == nil {
		v.unstated = len(truth.order) * len(truth.columns)
	}
	return v
}

func (v *verdict) compare(q question, answer, truth reply) {
	for _, key := range truth.order {
		if answer.rows[key] == nil {
			v.missing++
		}
	}
	for _, key := range answer.order {
		if truth.rows[key] == nil {
			v.more++
		}
		for i, c := range answer.rows[key] {
			v.see(c, q.truthOf(truth, key, i), strings.TrimLeft(key+": "+truth.columns[i], ": "))
		}
	}
}

// see judges one cell.
func (v *verdict) see(c cell, truth float64, name string) {
	switch {
	case math.IsNaN(c.value):
		v.null++
	case !c.stated():
		v.unstated++
	case c.within(truth):
		v.within++
	default:
		v.outside++
		excess := max(c.low-truth, truth-c.high) / (c.high - c.low)
		if v.worst == "" || excess > v.excess || math.IsNaN(excess) {
			v.excess = excess
			v.worst = fmt.Sprintf("%s = %s, in [%s, %s], in truth %s",
				name, digits(c.value), digits(c.low), digits(c.high), digits(truth))
		}
	}
}

// A score adds up verdicts.
type score struct {
	outcomes      map[string]int
	within, cells int
	shares        float64 // of cells within, a question
}

func (s *score) add(v verdict) {
	s.outcomes[v.outcome()]++
	s.within += v.within
	s.cells += v.judged()
	if v.judged() > 0 {
		s.shares += float64(v.within) / float64(v.judged())
	}
}

// answered counts the questions with an answer that can be judged.
func (s *score) answered() int {
	return s.outcomes[inside] + s.outcomes[outside] + s.outcomes[unstated]
}

// share is the mean share of the cells of a question that are within: 95 % if intervals are just right. Of
// questions with few cells the share that has at least leastWithin of them within is then lower.
func (s *score) share() float64 { return s.shares / float64(s.answered()) }

func (s *score) String() string {
	return fmt.Sprintf("%d answered: %d with at least %.0f %% of their cells within, %d with less, %d without an interval; "+
		"%.1f %% of the cells of a question within, %.1f %% of all %d cells; %d NULL, %d refused",
		s.answered(), s.outcomes[inside], 100*leastWithin, s.outcomes[outside], s.outcomes[unstated],
		100*s.share(), 100*float64(s.within)/float64(s.cells), s.cells, s.outcomes[empty], s.outcomes[refused])
}

// printVerdicts asks the questions of an analyst, and fails if too few have the truth within.
func printVerdicts(t *testing.T, s site) {
	if *rounds == 0 {
		return // make truth ROUNDS=0
	}
	a, questions, all := newAnalyst(t, s), readQuestions(t, "analyst"), &score{outcomes: map[string]int{}}
	var table, notices strings.Builder
	for round := range *rounds {
		for _, q := range questions {
			v := a.judge(t, q)
			all.add(v)
			if round == 0 {
				table.WriteString(v.line(q))
				fmt.Fprintf(&notices, "%s: %s\n", q.name, strings.Join(a.notices, "; "))
			}
		}
	}
	t.Logf("%d questions, asked %d times each, ε = %s, intervals at 95 %%\n%v\n\nThe first time:\n\n"+
		"| question | outcome | cells within | without interval, NULL | rows missing, more | worst cell, or refusal |\n"+
		"| --- | --- | --- | --- | --- | --- |\n%s\n%s", len(questions), *rounds, epsilon, all, &table, &notices)
	if all.share() < leastShare {
		t.Error(all)
	}
}

func (v verdict) line(q question) string {
	remark := v.worst
	if v.refusal != nil {
		remark = v.refusal.Error()
	}
	return fmt.Sprintf("| %s | %s | %d of %d | %d, %d | %d, %d | %s |\n", q.name, v.outcome(), v.within, v.judged(),
		v.unstated, v.null, v.missing, v.more, strings.ReplaceAll(remark, "|", "\\|"))
}
