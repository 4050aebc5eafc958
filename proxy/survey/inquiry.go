package survey

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"dpproxy/dp"
	"dpproxy/mirror"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	answers "dpproxy/survey"
)

// An Inquiry is a call of dp.survey that was understood, by its text, the policy and the catalogue alone.
type Inquiry struct {
	local    *policy.Local
	analyst  string
	call     *parser.SurveyCall
	question *answers.Question
	epsilon  int64
	where    string
	// condition is that of where, nil without one; its constants are evaluated by the analyst's session.
	condition scalar.Expr
	constants *scalar.Constants
}

// understand resolves a call of dp.survey about a table.
func understand(call *parser.SurveyCall, local *policy.Local, analyst string) (*Inquiry, error) {
	q := &Inquiry{local: local, analyst: analyst, call: call, constants: &scalar.Constants{}}
	var err error
	if q.epsilon, err = epsilonOf(call); err != nil {
		return nil, err
	}
	var refusal *pgerr.Error
	if q.question, refusal = answers.NewQuestion(call.Question.Text, private(local)); refusal != nil {
		return nil, placed(refusal, call.Question)
	}
	q.question = q.question.Asked(q.epsilon)
	if call.Where.Given {
		if err := q.resolveWhere(); err != nil {
			return nil, err
		}
	}
	return q, q.checkName()
}

// placed moves the position of a refusal from an argument to the statement.
func placed(refusal *pgerr.Error, in parser.Argument) error {
	return refusal.At(in.Place(refusal.Position - 1))
}

// private are the columns that can be asked about.
func private(local *policy.Local) []answers.Column {
	var all []answers.Column
	for _, c := range local.Private {
		col := answers.Column{Name: c.Name, Values: c.Values}
		if c.Values == nil {
			col.Low, _ = c.Bounds.Low.Float64()
			col.High, _ = c.Bounds.High.Float64()
		}
		col.Whole = pgtype.OfColumn(c.Type, c.Collation, c.Deterministic).Whole()
		all = append(all, col)
	}
	return all
}

// epsilonOf reads ε, rounded down to 10⁻¹².
func epsilonOf(call *parser.SurveyCall) (int64, error) {
	bad := pgerr.New(pgerr.InvalidParameterValue, "epsilon of dp.survey is a number above 0, at most 50, not %q", call.Epsilon).At(call.At).
		WithHint("epsilon => 1 is what each object pays of its own budget.")
	// About this size first: the exponent of a decimal of any size would be computed in full.
	about, err := strconv.ParseFloat(call.Epsilon, 64)
	if err != nil || !(about > 0 && about < 51) || len(call.Epsilon) > 40 || strings.ContainsAny(call.Epsilon, "/_xXbBoOpP") {
		return 0, bad
	}
	x, ok := new(big.Rat).SetString(call.Epsilon)
	if !ok {
		return 0, bad
	}
	x.Mul(x, big.NewRat(dp.PicoPerUnit, 1))
	pico := new(big.Int).Quo(x.Num(), x.Denom())
	if pico.Sign() < 1 || pico.Cmp(big.NewInt(50*dp.PicoPerUnit)) > 0 {
		return 0, bad
	}
	return pico.Int64(), nil
}

// resolveWhere resolves the condition, which may mention columns that everybody sees, and nothing else.
func (q *Inquiry) resolveWhere() error {
	parsed, refusal := parser.ParseQuestion(q.call.Where.Text)
	if refusal != nil && refusal.Code == pgerr.Syntax {
		refusal = pgerr.New(pgerr.Syntax, "this is no condition over the key and the public columns").At(0).
			WithHint("Write one as in WHERE, about %s.", strings.Join(q.shown(), ", "))
	}
	if refusal != nil {
		return placed(refusal, q.call.Where)
	}
	r := &scalar.Resolver{Constants: q.constants, Column: q.shownColumn}
	condition, err := r.Boolean(parsed.Expr)
	if own, ok := errors.AsType[*pgerr.Error](err); ok {
		return placed(own, q.call.Where)
	}
	q.condition, q.where = condition, parsed.Normal
	return err
}

// shownColumn returns a column of the table that everybody sees.
func (q *Inquiry) shownColumn(c *ast.Column) (*scalar.Column, error) {
	for _, col := range append([]policy.Column{q.local.KeyColumn}, q.local.PublicColumns...) {
		if col.Name == c.Name && c.Qualifier == "" {
			return col.Scalar(col.Read("t")), nil
		}
	}
	refused := pgerr.New(pgerr.NotAllowed, "the condition of a survey cannot mention %q: it is no public column", c.Name).At(c.At)
	private := slices.ContainsFunc(q.local.Private, func(p policy.Column) bool { return p.Name == c.Name })
	if !private || c.Qualifier != "" {
		return nil, refused.WithHint("Columns are written without the table. Public ones are %s.", strings.Join(q.shown(), ", "))
	}
	return nil, refused.WithHint("Who is asked would tell its values. Ask about it: it can be in the question.")
}

// shown are the names of the key and the public columns.
func (q *Inquiry) shown() []string { return append([]string{q.local.Key}, q.local.Public...) }

// reserved are names that columns of answers cannot have: the table's own, and Postgres's.
var reserved = append([]string{"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"}, mirror.LossColumns...)

// checkName refuses names that no column of answers can have.
func (q *Inquiry) checkName() error {
	name := q.call.Name
	if !name.Given {
		return nil
	}
	const longest = 63
	unprintable := strings.ContainsFunc(name.Text, func(r rune) bool { return !unicode.IsPrint(r) || r == '"' })
	switch {
	case name.Text == "" || len(name.Text) > longest:
		return pgerr.New(pgerr.InvalidParameterValue, "the name of a survey is that of a column: 1 to %d bytes", longest).At(name.At).
			WithHint("Write name => 'stroke'.")
	case strings.Trim(name.Text, " ") != name.Text || unprintable:
		return pgerr.New(pgerr.InvalidParameterValue,
			"the name of a survey has no double quotes, control characters, or blanks at its ends",
		).At(name.At).WithHint("Write name => 'stroke'.")
	case q.local.Shown(name.Text) || slices.Contains(reserved, name.Text):
		return pgerr.New(pgerr.InvalidParameterValue, "the table has a column %q already", name.Text).At(name.At).
			WithHint("Write another name.")
	}
	return nil
}

// name returns that of the column of answers.
func (q *Inquiry) name(t *answers.Table) (string, error) {
	free := func(name string) bool {
		return !t.Named(name) && !q.local.Shown(name) && !slices.Contains(reserved, name)
	}
	switch {
	case q.call.Name.Given && t.Named(q.call.Name.Text):
		return "", pgerr.New(pgerr.InvalidParameterValue, "another survey of %s is called %q", q.local, q.call.Name.Text).
			At(q.call.Name.At).WithHint("Write another name.")
	case q.call.Name.Given:
		return q.call.Name.Text, nil
	case len(q.question.Columns) == 1 && q.question.Text == q.question.Columns[0].Name && free(q.question.Text):
		return q.question.Text, nil
	}
	for n := len(t.Surveys()) + 1; ; n++ {
		if name := fmt.Sprintf("survey_%d", n); free(name) {
			return name, nil
		}
	}
}

// Folds are the constants of the condition, for the analyst's session.
func (q *Inquiry) Folds() []scalar.Fold { return q.constants.Folds() }

// Where is the text of the condition, empty without one.
func (q *Inquiry) Where() string { return q.where }

// EpsilonPico is the ε of the survey, in 10⁻¹².
func (q *Inquiry) EpsilonPico() int64 { return q.epsilon }

// String names the table as an analyst does.
func (q *Inquiry) String() string { return q.local.String() }

// Mechanism describes the answers and how they are drawn.
func (q *Inquiry) Mechanism() (answer, mechanism string) {
	ends := q.question.Answers()
	odds := dp.Decimal(q.epsilon, 12)
	switch q.question.Kind {
	case answers.Category:
		return fmt.Sprintf("%s, one of %d values", q.question.Text, len(ends)),
			fmt.Sprintf("randomised response, the own value with odds of exp(%s) to 1 of any other", odds)
	case answers.Set:
		return fmt.Sprintf("%s, a set out of %d values", q.question.Text, len(ends)),
			fmt.Sprintf("unary encoding, the own value with 1/2 and each other one with 1/(exp(%s) + 1)", odds)
	case answers.Number:
	}
	return fmt.Sprintf("%s, a number from %s to %s", q.question.Text, ends[0], ends[1]),
		fmt.Sprintf("one of the two ends, the likelier the nearer, with odds of at most exp(%s) to 1", odds)
}
