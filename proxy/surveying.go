package proxy

import (
	"context"
	"encoding/json"
	"fmt"

	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/parser/lex"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
	"dpproxy/proxy/settings"
	"dpproxy/proxy/survey"
	"dpproxy/wire"
)

// A surveying is the execution of a statement that calls dp.survey.
type surveying struct{ *execution }

// ask has the objects of a local table answer, and runs the statement as it is: the function on the mirror shows the row.
func (s surveying) ask(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	call := s.text.stmt.Survey
	desk := s.p.cfg.Surveys
	q, err := desk.Understand(call, s.analyst)
	if err != nil {
		return wire.Rewrite{}, err
	}
	if err := s.p.cfg.Ledger.Admit(ctx, s.analyst, ""); err != nil {
		return wire.Rewrite{}, chargeError(err)
	}
	session, spend, folds, err := s.constants(ctx, m, q)
	if err != nil {
		return wire.Rewrite{}, err
	}
	set := s.p.cfg.Defaults.of(nil)
	if err := set.Parse("spend", spend); err != nil {
		return wire.Rewrite{}, err
	}
	if err := set.ReadComments(s.text.stmt); err != nil {
		return wire.Rewrite{}, err
	}
	v := &veil{grid: s.p.cfg.Grid, paid: true}
	wanted := func() error { return s.wanted(&set, call, b) }
	outcome, err := desk.Ask(ctx, q, folds, session, curtain{v, wanted})
	if err != nil {
		return wire.Rewrite{}, err
	}
	state, err := json.Marshal(surveyState(call, outcome))
	if err != nil {
		return wire.Rewrite{}, err
	}
	_, err = m.Query(ctx, "SELECT pg_catalog.set_config('dp.state_survey', $1, false)", []uint32{25}, [][]byte{state}, nil, nil)
	return wire.Rewrite{Relay: true, Notices: remarks(call, outcome)}, err
}

// wanted refuses a survey that would be asked now, by dp.spend.
func (s surveying) wanted(set *settings.Settings, call *parser.SurveyCall, b wire.BindRequest) error {
	text := askedBy(s.text.stmt.InnerText(), b)
	switch {
	case set.Spending == "" || set.Spending == settings.Always:
		return nil
	case set.Spending == settings.Never:
		return pgerr.New(pgerr.Unconfirmed, "the survey costs each object ε=%s: dp.spend = never answers only what is free", call.Epsilon).
			At(call.At).WithHint("Write /* dp: spend=always */ before it, or SET dp.spend = confirmed.")
	case set.Commented || s.p.consents.use(s.analyst, text, nil):
		return nil
	}
	s.p.consents.show(s.analyst, text, nil)
	return pgerr.New(pgerr.Unconfirmed, "the survey costs each object that answers ε=%s, for ever: run it again to ask", call.Epsilon).
		At(call.At).WithHint("Within an hour it is asked as it is; with /* dp: spend=always */ before it, at once.")
}

// A curtain is a veil before a survey.
type curtain struct {
	*veil
	wanted func() error
}

// Wanted implements survey.Veil.
func (c curtain) Wanted() error { return c.wanted() }

// Fall implements survey.Veil.
func (c curtain) Fall() { c.fall() }

// Lift implements survey.Veil.
func (c curtain) Lift() { c.lift() }

// constants evaluates those of the condition in the analyst's own session, and asks which process that is, and for dp.spend. It
// fails in a transaction that is aborted.
func (surveying) constants(
	ctx context.Context, m *wire.Asker, q *survey.Inquiry,
) (session, spend string, folds []scalar.Value, err error) {
	sql, formats := "SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_setting('dp.spend', true)", []int16{0, 0}
	for _, f := range q.Folds() {
		sql += ", (" + f.SQL + ")"
		formats = append(formats, f.Format())
	}
	res, err := m.Query(ctx, sql, nil, nil, nil, formats)
	if err != nil {
		return "", "", nil, err
	}
	if len(res.Rows) != 1 || len(res.Fields) != len(formats) {
		return "", "", nil, fmt.Errorf("proxy: the constants of a survey have %d rows", len(res.Rows))
	}
	row := res.Rows[0]
	return string(row[0]), string(row[1]), values(res.Fields[2:], row[2:], q.Folds()), nil
}

// surveyRow stands in the session for dp.survey on the mirror: the row of the call with these arguments.
type surveyRow struct {
	Table    string          `json:"table"`
	Question string          `json:"question"`
	Epsilon  string          `json:"epsilon"`
	Where    *string         `json:"where"`
	Row      *survey.Outcome `json:"row"`
}

func surveyState(call *parser.SurveyCall, o *survey.Outcome) surveyRow {
	row := surveyRow{Table: call.Table.Text, Question: call.Question.Text, Epsilon: call.Epsilon, Row: o}
	if call.Where.Given {
		row.Where = &call.Where.Text
	}
	return row
}

// remarks are the notices of a survey.
func remarks(call *parser.SurveyCall, o *survey.Outcome) (all []wire.Notice) {
	if o.Free {
		n := wire.Notice{Message: "the question was asked before: these are the answers of then, and cost nothing"}
		if call.Name.Given && call.Name.Text != o.Name {
			n.Detail = fmt.Sprintf("They keep their name, which is %q.", o.Name)
		}
		all = append(all, n)
	}
	if 100*o.Refused > o.Asked {
		all = append(all, reticent(o))
	}
	if o.Unshown != "" {
		n := wire.Notice{
			Severity: "WARNING", Code: "01000", Message: o.Table + " does not show the answers yet: " + o.Unshown,
			Hint: "They are stored. The administrator must look.",
		}
		if o.Unshown == survey.InUse {
			n.Hint = "They are stored, and shown as soon as it ends."
		}
		all = append(all, n)
	}
	return all
}

// reticent warns of objects that did not answer.
func reticent(o *survey.Outcome) wire.Notice {
	n := wire.Notice{
		Severity: "WARNING", Code: "01000",
		Message: fmt.Sprintf("%d of %d objects did not answer: too little of their budgets is left", o.Refused, o.Asked),
		Detail:  "Whoever was asked before decides who still answers, and no value does: those are no fair sample if some were asked more.",
	}
	if o.Answers {
		n.Detail = "Earlier answers decide who still answers, and so values do: those who answered are no fair sample of all."
	}
	if o.Fitting > 0 {
		n.Hint = fmt.Sprintf("Half of those who did not answer still can with epsilon => %s.", dp.Decimal(o.Fitting, 12))
	}
	return n
}

// surveyFilter tells cheaply which texts cannot call dp.survey.
var surveyFilter = lex.NewFilter([]string{"survey"})
