package survey

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dpproxy/accountant/realized"
	"dpproxy/mechanisms"
	"dpproxy/parser"
	"dpproxy/pgerr"
)

// A Kind is how a question is answered.
type Kind string

const (
	// Category is the answer of k-ary randomised response: one of the values.
	Category Kind = "category"
	// Set is the answer of unary encoding: some of the values, each with a chance of its own. It is that of categories with many values.
	Set Kind = "set"
	// Number is a two-valued answer: one of the ends of the bounds, the likelier the nearer the value is to it.
	Number Kind = "number"
)

// A Question is an expression over private columns, with the answers that it can have.
type Question struct {
	// Text is the question as it is compared with others.
	Text string
	Kind Kind
	// Columns are those that the question mentions.
	Columns []Column
	// Values are the possible answers of a category.
	Values []string
	// Low and High are those of a number.
	Low, High float64

	expr   realized.Expr
	domain *realized.Domain // of Columns
}

const (
	// maxValues are the most values of a category that can be asked about.
	maxValues = 1000
	// lattice is the number of steps that a score is rounded to.
	lattice = 1 << 32
	// leastWidth is the least width of a score's bounds: less is the rounding of a constant.
	leastWidth = 1e-9
	// inexact bounds the difference of the score that is drawn from, as a share of its bounds, and the one of which losses are
	// computed: half a step of the lattice, and the rounding of both computations.
	inexact = 2.0 / lattice
)

// NewQuestion resolves the text of a question about some of the columns. Positions of the refusal count in the text.
func NewQuestion(text string, all []Column) (*Question, *pgerr.Error) {
	parsed, refusal := parser.ParseQuestion(text)
	if refusal != nil && refusal.Code == pgerr.Syntax {
		refusal = refusal.WithHint("Write one as in a select list. These can be asked about: %s.", names(all))
	}
	if refusal != nil {
		return nil, refusal
	}
	r := &resolution{all: all}
	term, refusal := r.term(parsed.Expr)
	if refusal != nil {
		return nil, refusal
	}
	if len(r.used) == 0 {
		return nil, pgerr.New(pgerr.NotAllowed, "the question mentions no private column").At(0).
			WithHint("Constants and public columns need no survey: they are in the table.")
	}
	q := &Question{Text: parsed.Normal, Columns: r.used, expr: term.expr}
	var err error
	if q.domain, err = columns(q.Columns).domain(); err != nil {
		return nil, pgerr.New(pgerr.StatementTooComplex, "the question is about too many columns or values").At(0).
			WithHint("Ask about fewer columns.")
	}
	if term.plain && q.Columns[0].category() {
		q.Kind, q.Values = Category, q.Columns[0].Values
		if len(q.Values) > maxValues {
			return nil, pgerr.New(pgerr.StatementTooComplex, "a column with more than %d values cannot be asked about", maxValues).At(0).
				WithHint("Ask the administrator to list fewer.")
		}
		return q, nil
	}
	if term.category {
		return nil, pgerr.New(pgerr.NotAllowed, "the question has no number for an answer").At(parsed.Expr.Pos()).
			WithHint("Ask about a column with values by its name alone, or write an expression over numbers.")
	}
	return q, q.bound(term, parsed.Expr.Pos())
}

// bound finds the bounds of a score: those of the column, 0 and 1 of a logistic function, or where the expression can lie.
func (q *Question) bound(term operand, at int) *pgerr.Error {
	low, high, err := q.domain.Range(q.expr)
	switch {
	case errors.Is(err, realized.ErrUnbounded):
		return pgerr.New(pgerr.NoBounds, "the question has no bounds: for some values it is infinite, or no number").At(at).
			WithHint("Divisors, and what ln is of, must not come near 0, nor exp become infinite, for any values of: %s.", spans(q.Columns))
	case err != nil:
		return pgerr.New(pgerr.StatementTooComplex, "the bounds of the question cannot be found").At(at).WithHint("Ask a simpler one.")
	}
	if high-low < leastWidth || math.IsInf(high-low, 0) {
		return pgerr.New(pgerr.NotAllowed, "the question has the same answer for all values").At(at).
			WithHint("Ask about a column, or multiply the question, if its values differ by very little.")
	}
	q.Kind, q.Low, q.High = Number, short(low, high-low), short(high, high-low)
	if term.logistic && low >= 0 && high <= 1 {
		q.Low, q.High = 0, 1
	}
	if term.plain {
		q.Low, q.High = q.Columns[0].Low, q.Columns[0].High
	}
	return nil
}

// names lists columns.
func names(all []Column) string {
	var text []string
	for _, c := range all {
		text = append(text, c.Name)
	}
	return strings.Join(text, ", ")
}

// spans lists numbers with their bounds, and categories with their ends.
func spans(all []Column) string {
	var text []string
	for _, c := range all {
		if n := len(c.Values); c.category() {
			text = append(text, c.Name+" from "+c.Values[0]+" to "+c.Values[n-1])
		} else {
			text = append(text, c.Name+" from "+number(c.Low)+" to "+number(c.High))
		}
	}
	return strings.Join(text, "; ")
}

// short rounds a bound to a billionth of the width, so that it is written shortly: a score beyond it counts as the bound.
func short(x, width float64) float64 {
	decimals := 9 - int(math.Floor(math.Log10(width)))
	if decimals < 0 {
		return math.Round(x) + 0 // never −0
	}
	return float(strconv.FormatFloat(x, 'f', min(decimals, 30), 64)) + 0 // never −0
}

// realized returns the question over a domain of these columns and more.
func (q *Question) realized(all columns, d *realized.Domain, epsilonPico int64) (realized.Question, error) {
	switch q.Kind {
	case Category:
		return d.Response(all.index(q.Columns[0].Name), epsilonPico)
	case Set:
		return d.Unary(all.index(q.Columns[0].Name), epsilonPico)
	case Number:
	}
	expr, err := q.over(all)
	if err != nil {
		return realized.Question{}, err
	}
	return d.Score(expr, q.Low, q.High, inexact, epsilonPico)
}

// over returns the expression over a domain of these columns and more.
func (q *Question) over(all columns) (realized.Expr, error) {
	parsed, refusal := parser.ParseQuestion(q.Text)
	if refusal != nil {
		return realized.Expr{}, fmt.Errorf("survey: the question %s cannot be read again: %w", q.Text, refusal)
	}
	// The places of columns in the expression are those of the whole domain.
	r := &resolution{all: all, place: all.index}
	term, refusal := r.term(parsed.Expr)
	if refusal != nil {
		return realized.Expr{}, fmt.Errorf("survey: the question %s cannot be resolved again: %w", q.Text, refusal)
	}
	return term.expr, nil
}

// A Respondent draws answers to one question.
type Respondent struct {
	q        *Question
	category mechanisms.RandomizedResponse
	set      mechanisms.UnaryEncoding
	number   mechanisms.BoundedMean
	score    func(object []float64) (float64, error)
	source   mechanisms.Source
}

// Respondent returns the mechanism of a question.
func (q *Question) Respondent(epsilonPico int64, source mechanisms.Source) (*Respondent, error) {
	r := &Respondent{q: q, source: source}
	var err error
	switch q.Kind {
	case Category:
		r.category, err = mechanisms.NewRandomizedResponse(int64(len(q.Values)), epsilonPico)
		return r, err
	case Set:
		r.set, err = mechanisms.NewUnaryEncoding(int64(len(q.Values)), epsilonPico)
		return r, err
	case Number:
	}
	if r.score, err = q.domain.Scorer(q.expr); err != nil {
		return nil, err
	}
	r.number, err = mechanisms.NewBoundedMean(0, lattice, epsilonPico)
	return r, err
}

// Answer draws the answer of an object: the place of a value, 0 and 1 for the ends of the bounds, or a set. Object has the values of
// the question's columns: numbers, and of categories their places. One that is out of its bounds counts as the nearest.
func (r *Respondent) Answer(object []float64) (realized.Answer, error) {
	switch r.q.Kind {
	case Category:
		y := r.category.Respond(r.source, mechanisms.Protect(big.NewInt(int64(object[0]))))
		return realized.Answer{Value: int(y.Int().Int64())}, nil
	case Set:
		y := r.set.Respond(r.source, mechanisms.Protect(big.NewInt(int64(object[0]))))
		members := y.Int().FillBytes(make([]byte, (len(r.q.Values)+7)/8))
		slices.Reverse(members)
		return realized.Answer{Bits: members}, nil
	case Number:
	}
	for i, c := range r.q.Columns {
		if c.category() {
			object[i] = math.Min(math.Max(math.Trunc(object[i]), 0), float64(len(c.Values)-1))
		} else {
			object[i] = math.Min(math.Max(object[i], c.Low), c.High)
		}
	}
	score, err := r.score(object)
	if err != nil {
		return realized.Answer{}, err
	}
	t := (score - r.q.Low) / (r.q.High - r.q.Low)
	step := int64(math.Round(math.Min(math.Max(t, 0), 1) * lattice))
	y := r.number.Respond(r.source, mechanisms.Protect(big.NewInt(step)))
	return realized.Answer{Value: int(y.Int().Int64())}, nil
}

// Answers are the texts of the possible answers, in their order, or of the values that are in a set.
func (q *Question) Answers() []string {
	if q.Kind == Number {
		return []string{number(q.Low), number(q.High)}
	}
	return slices.Clone(q.Values)
}

// Asked returns the question as it is answered with an ε: where a category has many values, the answer is a set, whose shares have a
// smaller error than those of one value.
func (q *Question) Asked(epsilonPico int64) *Question {
	if q.Kind != Category || !mechanisms.PrefersUnary(int64(len(q.Values)), epsilonPico) {
		return q
	}
	asked := *q
	asked.Kind = Set
	return &asked
}

// number writes a number as Postgres reads it.
func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// float is the inverse of number.
func float(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}
