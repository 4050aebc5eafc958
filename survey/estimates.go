package survey

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpproxy/accountant/realized"
	"dpproxy/estimate/population"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// Estimates are of shares and means of all objects, from their answers in the epoch that is open, which are public: they cost
// nothing. They do not change, and are safe for concurrent use.
type Estimates struct {
	table    string  // its name, without the schema public
	declared columns // that the policy has
	asked    columns // that the surveys are about
	domain   *realized.Domain
	answers  *population.Population // nil if there is no survey
	remarks  []string
}

// An Estimate is a share or a mean, with the interval that holds it.
type Estimate struct {
	population.Estimate
	// Remark says what may be wrong with it, empty if nothing is known.
	Remark string
}

// Estimates takes the answers of all objects to the surveys of this epoch that asked all of them about columns as they are declared
// now. A survey with a condition on public columns is left out: whom it did not ask follows from these, which may go with private ones.
func (t *Table) Estimates(declared []Column) (*Estimates, error) {
	e := &Estimates{table: strings.TrimPrefix(t.Name, "public."), declared: declared}
	var used []*Survey
	refused, chosen := false, false // somebody did not answer, and what is left out decided who
	for _, s := range t.surveys {
		refused = refused || s.Epoch == t.epoch && s.Answered < s.Asked
		switch {
		case s.Epoch != t.epoch:
			chosen = chosen || s.Never || s.Where != ""
		case s.Where != "":
			e.remark("without %s: only some were asked", s.Name)
			chosen = true
		case !e.declares(s):
			e.remark("without %s: its columns were declared otherwise", s.Name)
			chosen = chosen || s.Never
		default:
			used = append(used, s)
		}
	}
	if refused && chosen {
		e.remark("who did not answer was decided by surveys that are left out, too")
	}
	return e, e.take(t, used)
}

func (e *Estimates) remark(format string, args ...any) {
	e.remarks = append(e.remarks, fmt.Sprintf(format, args...))
}

// declares reports whether a survey's columns are those of the policy.
func (e *Estimates) declares(s *Survey) bool {
	for _, c := range s.Columns {
		if at := e.declared.index(c.Name); at < 0 || !e.declared[at].equal(c) {
			return false
		}
	}
	return true
}

// take takes the answers to some surveys.
func (e *Estimates) take(t *Table, used []*Survey) (err error) {
	if len(used) == 0 {
		return nil
	}
	mode := realized.Sum
	for _, s := range used {
		if e.asked, err = e.asked.with(s.Columns); err != nil {
			return err
		}
		if s.Never {
			mode = realized.Never
		}
	}
	if e.domain, err = e.asked.domain(); err != nil {
		return err
	}
	questions := make([]realized.Question, len(used))
	for i, s := range used {
		if questions[i], err = s.question().realized(e.asked, e.domain, s.EpsilonPico); err != nil {
			return err
		}
	}
	if e.answers, err = population.New(e.domain, questions, mode); err != nil {
		return err
	}
	answers := make([]realized.Answer, len(used))
	for object := range t.keys.count() {
		for i, s := range used {
			answers[i] = s.answers.answer(object)
		}
		if err := e.answers.Add(answers, 1); err != nil {
			return err
		}
	}
	return nil
}

// Histogram estimates the share of each value of a column, in the order of its values.
func (e *Estimates) Histogram(column string, confidence float64) (values []string, shares []Estimate, refusal *pgerr.Error) {
	q, refusal := NewQuestion(column, e.declared)
	if refusal == nil && q.Kind == Category {
		refusal = e.answered(q)
	}
	if refusal != nil {
		return nil, nil, refusal
	}
	if q.Kind != Category {
		return nil, nil, pgerr.New(pgerr.NotAllowed, "a histogram is of a column with values").At(0).
			WithHint("dp.local_mean estimates the mean of a number.")
	}
	found, err := e.answers.Histogram(e.asked.index(q.Columns[0].Name), confidence)
	if err != nil {
		return nil, nil, e.estimateError(err, q)
	}
	for _, f := range found {
		shares = append(shares, e.estimate(f))
	}
	return q.Values, shares, nil
}

// Mean estimates the mean of an expression over columns.
func (e *Estimates) Mean(expression string, confidence float64) (Estimate, *pgerr.Error) {
	q, refusal := NewQuestion(expression, e.declared)
	if refusal == nil {
		refusal = e.answered(q)
	}
	if refusal != nil {
		return Estimate{}, refusal
	}
	if q.Kind == Category && q.Columns[0].numbers() == nil {
		return Estimate{}, pgerr.New(pgerr.NotAllowed, "the values of this column are no numbers").At(0).
			WithHint("dp.local_histogram estimates the share of each.")
	}
	expr, err := q.over(e.asked)
	if err != nil {
		return Estimate{}, e.estimateError(err, q)
	}
	found, err := e.answers.Mean(expr, confidence)
	if err != nil {
		return Estimate{}, e.estimateError(err, q)
	}
	return e.estimate(found), nil
}

// answered refuses what no survey has asked about.
func (e *Estimates) answered(q *Question) *pgerr.Error {
	for _, c := range q.Columns {
		if e.asked.index(c.Name) < 0 {
			return e.unasked(c.Name)
		}
	}
	return nil
}

func (e *Estimates) unasked(column string) *pgerr.Error {
	return pgerr.New(pgerr.NotAllowed, "no survey has asked all objects about %q", column).At(0).
		WithHint("Estimates are from answers: ask first, SELECT * FROM dp.survey(%s, %s, epsilon => 1).",
			ast.Quote(e.table), ast.Quote(column))
}

// estimate says in words what may be wrong.
func (e *Estimates) estimate(found population.Estimate) Estimate {
	out := Estimate{Estimate: found}
	remarks := e.remarks
	if found.Partial {
		remarks = append(slices.Clip(remarks),
			"who did not answer was decided by answers about other columns too, which are too many to be taken in")
	}
	for i, r := range remarks {
		if i > 0 {
			out.Remark += "; "
		}
		out.Remark += r
	}
	return out
}

// estimateError refuses an estimate.
func (e *Estimates) estimateError(err error, q *Question) *pgerr.Error {
	switch {
	case errors.Is(err, population.ErrTooLarge):
		return pgerr.New(pgerr.StatementTooComplex, "questions join too many columns for an estimate, or answers are too different").At(0).
			WithHint("dp.share and dp.bounded_mean estimate from the answers to one question.")
	case errors.Is(err, population.ErrNoAnswers):
		return e.unasked(q.Columns[0].Name)
	}
	return pgerr.New(pgerr.StatementTooComplex, "this cannot be estimated").At(0).WithHint("Estimate the mean of a column alone.")
}

// Least and most confidence of an interval.
const (
	LeastConfidence = 0.5
	MostConfidence  = 0.999999
)

// Confident reports whether an interval can have the confidence.
func Confident(confidence float64) bool {
	return !math.IsNaN(confidence) && confidence >= LeastConfidence && confidence <= MostConfidence
}
