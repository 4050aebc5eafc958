package truth_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// leastShare is the mean share of the cells of a question that have the truth within.
const leastShare = 0.95

// judge asks a question once.
func (s *session) judge(t *testing.T, q question, truth reply) verdict {
	t.Helper()
	var v verdict
	answer, err := s.ask(t.Context(), q)
	if err == nil {
		v.compare(q, answer, truth)
		return v
	}
	v.worst = "with intervals: " + err.Error()
	if _, v.refusal = s.Exec(t.Context(), plain(q.asked)); v.refusal == nil {
		v.unstated = len(truth.order) * len(truth.columns)
	}
	return v
}

// A score adds up verdicts.
type score struct {
	outcomes      map[string]int
	within, cells int
	unstated      int     // of the cells
	shares        float64 // of cells within, a question
	answers       float64 // that can be judged
}

func (s *score) add(v verdict) {
	s.outcomes[v.outcome()]++
	s.within += v.within
	s.cells += v.judged()
	s.unstated += v.unstated
	if v.judged() > 0 {
		s.answers++
		s.shares += float64(v.within) / float64(v.judged())
	}
}

// share is the mean share of the cells of a question that are within: 95 % if intervals are just
// right. The share of questions with leastWithin of their cells within is then lower: most have few cells.
func (s *score) share() float64 { return s.shares / s.answers }

func (s *score) String() string {
	return fmt.Sprintf("%.0f answers: %d with at least %.0f %% of their cells within, %d with less, %d without an interval; "+
		"%.1f %% of the cells of a question within, %.1f %% of all %d cells; besides %d without a value, and %d refusals",
		s.answers, s.outcomes[inside], 100*leastWithin, s.outcomes[outside], s.outcomes[unstated],
		100*s.share(), 100*float64(s.within)/float64(s.cells), s.cells, s.outcomes[empty], s.outcomes[refused])
}

// printVerdicts asks the questions of an analyst, and fails if too few have the truth within.
func printVerdicts(t *testing.T, s site) {
	ours, questions, all := s.ours[0], readQuestions(t, *asked), &score{outcomes: map[string]int{}}
	var table, notices strings.Builder
	for _, q := range questions {
		truth := s.truthAbout(t, q)
		line := newQuestionLine()
		for range *rounds {
			v := ours.judge(t, q, truth)
			all.add(v)
			line.add(v)
		}
		table.WriteString(line.write(q))
		fmt.Fprintf(&notices, "%s: %s\n", q.name, strings.Join(ours.notices, "; "))
	}
	t.Logf("%d questions, asked %d times each, ε = %s, intervals at 95 %%\n%v\n\n"+
		"| question | outcomes | cells within | without interval, NULL | rows missing, more | worst cell, or refusal |\n"+
		"| --- | --- | --- | --- | --- | --- |\n%s\n%s", len(questions), *rounds, epsilon, all, &table, &notices)
	if all.share() < leastShare {
		t.Errorf("of the cells of a question, %.1f %% are within", 100*all.share())
	}
}

// A questionLine has all verdicts on a question.
type questionLine struct {
	outcomes map[string]int
	sum      verdict
}

func newQuestionLine() *questionLine { return &questionLine{outcomes: map[string]int{}} }

func (l *questionLine) add(v verdict) {
	l.outcomes[v.outcome()]++
	l.sum.within += v.within
	l.sum.outside += v.outside
	l.sum.unstated += v.unstated
	l.sum.null += v.null
	l.sum.missing += v.missing
	l.sum.more += v.more
	if v.refusal != nil {
		l.sum.worst = v.refusal.Error()
	} else if v.worst != "" && (l.sum.worst == "" || v.excess > l.sum.excess) {
		l.sum.worst, l.sum.excess = v.worst, v.excess
	}
}

func (l *questionLine) write(q question) string {
	var outcomes []string
	for _, name := range slices.Sorted(maps.Keys(l.outcomes)) {
		outcomes = append(outcomes, fmt.Sprintf("%s ×%d", name, l.outcomes[name]))
	}
	return fmt.Sprintf("| %s | %s | %d of %d | %d, %d | %d, %d | %s |\n", q.name, strings.Join(outcomes, ", "),
		l.sum.within, l.sum.judged(), l.sum.unstated, l.sum.null, l.sum.missing, l.sum.more,
		strings.ReplaceAll(l.sum.worst, "|", "\\|"))
}
