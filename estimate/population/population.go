package population

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"dpproxy/accountant/realized"
)

var (
	// ErrNoAnswers is wrapped by the errors for estimates about columns that no object answered about.
	ErrNoAnswers = errors.New("population: no answers")
	// ErrTooLarge is wrapped by the errors for estimates that would take too long: of too many columns
	// that questions join, or too many different transcripts.
	ErrTooLarge = errors.New("population: too large")
)

// maxTranscripts bounds the different transcripts that a table remembers.
const maxTranscripts = 1 << 18

// A Population is the transcripts of all objects of a domain, to the same questions: also of those that
// were not asked any more.
type Population struct {
	domain    *realized.Domain
	columns   []realized.Column
	questions []realized.Question
	mode      realized.Mode
	parts     []*table // of questions that have columns in common
	all       *table
	objects   int64
	tallies   []tally           // of each question
	answers   []realized.Answer // scratch
	key       []byte            // scratch
}

// A table counts the objects with each transcript of some questions.
type table struct {
	questions []int
	columns   []int
	counts    map[string]*int64 // so that counting one more allocates nothing
	complete  bool              // all objects answered all questions
	overflown bool
}

// New returns a population without objects, for questions about one domain. The mode is that of their
// account.
func New(d *realized.Domain, questions []realized.Question, mode realized.Mode) (*Population, error) {
	if _, err := realized.NewAccount(d, questions, mode); err != nil {
		return nil, err
	}
	p := &Population{domain: d, columns: d.Columns(), questions: slices.Clone(questions), mode: mode}
	p.all = newTable()
	for i, q := range questions {
		own := newTable()
		own.questions, own.columns = []int{i}, q.Columns()
		p.parts = slices.DeleteFunc(p.parts, func(t *table) bool {
			if !slices.ContainsFunc(t.columns, func(c int) bool { return slices.Contains(q.Columns(), c) }) {
				return false
			}
			own.join(t)
			return true
		})
		p.parts = append(p.parts, own)
		p.all.join(own)
	}
	p.tallies = make([]tally, len(questions))
	return p, nil
}

func newTable() *table { return &table{counts: map[string]*int64{}, complete: true} }

// join adds the questions and columns of another table.
func (t *table) join(o *table) {
	t.questions = append(t.questions, o.questions...)
	t.columns = append(t.columns, o.columns...)
	slices.Sort(t.questions)
	slices.Sort(t.columns)
	t.questions, t.columns = slices.Compact(t.questions), slices.Compact(t.columns)
}

// Add adds count objects with the same answers. Answers that are missing at the end were not asked.
func (p *Population) Add(answers []realized.Answer, count int64) error {
	if len(answers) > len(p.questions) || count < 0 {
		return fmt.Errorf("%w: %d objects with %d answers to %d questions", realized.ErrParameter, count, len(answers), len(p.questions))
	}
	p.answers = append(p.answers[:0], answers...)
	for len(p.answers) < len(p.questions) {
		p.answers = append(p.answers, realized.Answer{Value: realized.Unasked})
	}
	for i, a := range p.answers {
		if a.Value != realized.Unasked {
			p.tallies[i].add(p, i, a, count)
		}
	}
	for _, t := range p.parts {
		t.add(p, count)
	}
	if len(p.parts) > 1 {
		p.all.add(p, count)
	}
	p.objects += count
	return nil
}

// add counts the transcript of the object that p adds.
func (t *table) add(p *Population, count int64) {
	if t.overflown {
		return
	}
	p.key = p.key[:0]
	for _, q := range t.questions {
		a := p.answers[q]
		t.complete = t.complete && a.Value != realized.Unasked
		p.key = binary.AppendVarint(p.key, int64(a.Value))
		if p.questions[q].Kind() == realized.Unary && a.Value != realized.Unasked {
			p.key = append(p.key, a.Bits...)
		}
	}
	if n, ok := t.counts[string(p.key)]; ok {
		*n += count
		return
	}
	first := count
	if t.counts[string(p.key)] = &first; len(t.counts) > maxTranscripts {
		t.overflown, t.counts = true, nil
	}
}

// transcript is the answers of a key, to the questions of the table.
func (t *table) transcript(p *Population, key string) []realized.Answer {
	answers, rest := make([]realized.Answer, len(t.questions)), []byte(key)
	for i, q := range t.questions {
		value, n := binary.Varint(rest)
		rest = rest[n:]
		answers[i].Value = int(value)
		if p.questions[q].Kind() == realized.Unary && value != realized.Unasked {
			size := (p.columns[p.questions[q].Columns()[0]].Values + 7) / 8
			answers[i].Bits, rest = rest[:size], rest[size:]
		}
	}
	return answers
}

// A tally is how often each category was named by the answers to one question.
type tally struct {
	objects int64
	named   []int64
}

// add counts answers about a category.
func (t *tally) add(p *Population, question int, a realized.Answer, count int64) {
	t.objects += count
	q := p.questions[question]
	if q.Kind() == realized.Score {
		return
	}
	if t.named == nil {
		t.named = make([]int64, p.columns[q.Columns()[0]].Values)
	}
	if q.Kind() == realized.Response {
		t.named[a.Value] += count
		return
	}
	for v := range t.named {
		if a.Bits[v/8]>>(v%8)&1 == 1 {
			t.named[v] += count
		}
	}
}
