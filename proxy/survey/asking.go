package survey

import (
	"context"
	"encoding/json"
	"errors"

	"dpproxy/dp"
	"dpproxy/mirror"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
	answers "dpproxy/survey"
)

// An Outcome is the row that dp.survey returns, with remarks for the analyst.
type Outcome struct {
	Name       string      `json:"name"`
	Kind       string      `json:"kind"`
	Epsilon    json.Number `json:"epsilon"`
	Asked      int64       `json:"asked"`
	Answered   int64       `json:"answered"`
	Refused    int64       `json:"refused"`
	LossMedian json.Number `json:"loss_median"`
	Loss90     json.Number `json:"loss_90"`
	LossMax    json.Number `json:"loss_max"`

	// Free says that the question had been answered before.
	Free bool `json:"-"`
	// Answers says that earlier answers had a say in who answered, and not who was asked alone.
	Answers bool `json:"-"`
	// Fitting is the ε that half of those who did not answer still have left; 0 if it is not known.
	Fitting int64 `json:"-"`
	// Unshown says why the table on the mirror does not show the answers yet; empty if it does.
	Unshown string `json:"-"`
	// Table is that of the answers on the mirror.
	Table string `json:"-"`
}

// A Veil hides how long the protected database is at work: Fall is called before it hears of the survey, and Lift before anything that
// analysts can see changes. Before both, Wanted refuses a survey that the session does not want to ask.
type Veil interface {
	Wanted() error
	Fall()
	Lift()
}

// ask has the objects answer, unless they did before.
func (t *table) ask(ctx context.Context, q *Inquiry, values []scalar.Value, session string, veil Veil) (*Outcome, error) {
	if err := t.take(); err != nil {
		return nil, err
	}
	defer func() { t.turn <- struct{}{} }()
	if t.answers.Frozen() == nil {
		if s := t.answers.Known(q.question, q.where, q.epsilon); s != nil {
			if !t.shown {
				t.show(ctx)
			}
			return t.outcome(s, true)
		}
	}
	if err := t.frozen(ctx); err != nil {
		return nil, err
	}
	if err := veil.Wanted(); err != nil {
		return nil, err
	}
	if err := t.otherTransaction(ctx, session, q); err != nil {
		return nil, err
	}
	s, left, err := t.survey(ctx, q, values, veil)
	if err != nil {
		return nil, err
	}
	t.shown = false
	t.show(ctx)
	t.note()
	o, err := t.outcome(s, false)
	if err == nil {
		o.Fitting = left
	}
	return o, err
}

// otherTransaction refuses a survey in a transaction that has read the answers: they could not be shown before it ends.
func (t *table) otherTransaction(ctx context.Context, session string, q *Inquiry) error {
	conn, err := t.cfg.Mirror(ctx)
	if err != nil {
		return pgerr.New(pgerr.CannotConnectNow, "the mirror cannot be reached").WithHint("Nothing was asked. Try again later.")
	}
	defer conn.Close(ctx)
	var open bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_locks WHERE pid = $1::int
			AND relation = pg_catalog.to_regclass($2)::oid)`, session, t.shownName()).Scan(&open)
	if err != nil {
		return pgerr.New(pgerr.CannotConnectNow, "the mirror cannot be reached").WithHint("Nothing was asked. Try again later.")
	}
	if open {
		return pgerr.New(pgerr.FeatureNotSupported, "this transaction has read %s, which cannot change before it ends", t.shownName()).
			At(q.call.At).WithHint("COMMIT first: a survey is permanent, whatever becomes of the transaction that it is asked in.")
	}
	return nil
}

// maxSurveys keeps the rows of answers within a page of Postgres.
const maxSurveys = 400

// survey decides, reads, draws, writes the files and records them, in this order. It returns the ε that half of those who did not answer
// have left.
func (t *table) survey(ctx context.Context, q *Inquiry, values []scalar.Value, veil Veil) (*answers.Survey, int64, error) {
	r, draft, err := t.begin(ctx, q, values)
	if err != nil {
		return nil, 0, err
	}
	veil.Fall()
	if err := t.draw(ctx, q, r, draft); err != nil {
		veil.Lift()
		return nil, 0, err
	}
	veil.Lift()
	left, err := draft.Fitting()
	if err != nil {
		return nil, 0, err
	}
	if err := answered(q, draft, left); err != nil {
		return nil, 0, err
	}
	s, err := t.record(ctx, q, draft)
	return s, left, err
}

// begin decides whom to ask, and how the objects are read.
func (t *table) begin(ctx context.Context, q *Inquiry, values []scalar.Value) (*read, *answers.Draft, error) {
	if len(t.answers.Surveys()) >= maxSurveys {
		return nil, nil, pgerr.New(pgerr.ProgramLimitExceeded, "%s has %d surveys, the most that a table can show", t.local, maxSurveys).
			At(q.call.At).WithHint("Use the answers that there are.")
	}
	name, err := q.name(t.answers)
	if err != nil {
		return nil, nil, err
	}
	if err := q.constants.Check(values); err != nil {
		return nil, nil, err
	}
	r, err := newRead(q, values, t.cfg.Before14)
	if err != nil {
		if own, ok := errors.AsType[*pgerr.Error](err); ok {
			return nil, nil, placed(own, q.call.Where)
		}
		return nil, nil, err
	}
	budget, err := t.budget(ctx)
	if err != nil {
		return nil, nil, err
	}
	if q.epsilon > budget.EpsilonPico {
		return nil, nil, pgerr.New(pgerr.BudgetExhausted, "each object of %s has a budget of %s", t.local,
			dp.Decimal(budget.EpsilonPico, 12)).At(q.call.At).WithHint("Ask with a smaller epsilon.")
	}
	draft, err := t.answers.Draft(answers.Inquiry{
		Question: q.question, Name: name, Where: q.where, EpsilonPico: q.epsilon, Budget: budget, Never: t.local.Never,
	}, t.cfg.Source)
	switch {
	case errors.Is(err, answers.ErrOther):
		return nil, nil, pgerr.New(pgerr.NotAllowed, "a column of the question was declared otherwise in an earlier survey").At(q.call.At).
			WithHint("The administrator must close the epoch: dpproxy local epoch.")
	case errors.Is(err, answers.ErrFrozen):
		return nil, nil, t.defect(ctx, err)
	case errors.Is(err, answers.ErrRoom):
		return nil, nil, crowded(q)
	case err != nil: // nothing was read
		return nil, nil, pgerr.New(pgerr.StatementTooComplex, "what this question tells cannot be bounded").At(q.call.Question.At).
			WithHint("Ask a simpler one.")
	}
	return r, draft, nil
}

// answered refuses a survey without an answer: it is not recorded, and takes no name. Left is the rest of half of the objects.
func answered(q *Inquiry, draft *answers.Draft, left int64) error {
	asked, answered := draft.Counts()
	switch {
	case answered > 0:
		return nil
	case asked == 0:
		return pgerr.New(pgerr.NotAllowed, "no object meets the condition").At(q.call.At).
			WithHint("Nothing was asked. The condition is about the key and the public columns, which EXPLAIN of the survey counts by.")
	}
	hint := "Nothing was asked. Most have nothing left; the administrator can raise local_budget."
	if left > 0 {
		hint = "Nothing was asked. Half of them can answer with epsilon => " + dp.Decimal(left, 12) + "."
	}
	return pgerr.New(pgerr.BudgetExhausted, "none of the %d objects has so much of its budget left", asked).At(q.call.At).
		WithHint("%s", hint)
}

// draw reads the objects, and writes their answers into files that nobody sees.
func (t *table) draw(ctx context.Context, q *Inquiry, r *read, draft *answers.Draft) error {
	err := source{t.local, t.cfg.Data, t.cfg.Log}.objects(ctx, r, draft)
	if row, ok := errors.AsType[rowError](err); ok {
		if errors.Is(row.error, answers.ErrRoom) { // which follows from how many objects there are
			return crowded(q)
		}
		// Whether it fails may depend on a row: it is not tried again.
		return t.defect(ctx, withoutValues(row.error))
	}
	return err
}

// crowded refuses a question whose answers take too much room.
func crowded(q *Inquiry) error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "so many objects cannot answer about %d values each", len(q.question.Values)).
		At(q.call.At).
		WithHint("Nothing was asked. With a larger epsilon an answer is one value, which takes less room.")
}

// defect has nothing asked of the table any more, before dpproxy starts anew.
func (t *table) defect(ctx context.Context, err error) error {
	t.answers.Freeze(err)
	t.cfg.Log.ErrorContext(ctx, "a survey failed: no other of the table is taken before a restart", "table", t.local.Name.String(),
		"reason", err)
	return pgerr.New(pgerr.ReadFailed, "the survey did not finish").
		WithHint("Nothing was answered, and no budget was used. The administrator must look.")
}

// record makes the answers the ones that count.
func (t *table) record(ctx context.Context, q *Inquiry, draft *answers.Draft) (*answers.Survey, error) {
	entry, err := draft.Write()
	if err != nil {
		return nil, t.defect(ctx, err)
	}
	entry.Analyst = q.analyst
	if err := t.cfg.Ledger.Survey(ctx, entry); err != nil {
		// Whether the ledger has it is known at the next start: until then nothing is asked.
		t.answers.Freeze(err)
		t.cfg.Log.ErrorContext(ctx, "a survey was not recorded", "table", t.local.Name.String(), "reason", err)
		return nil, unrecorded()
	}
	s := draft.Recorded()
	t.cfg.Log.InfoContext(ctx, "a survey was taken", "table", t.local.Name.String(), "analyst", q.analyst, "name", s.Name,
		"epsilon", dp.Decimal(s.EpsilonPico, 12), "asked", s.Asked, "answered", s.Answered)
	return s, nil
}

// outcome returns the row of a survey.
func (t *table) outcome(s *answers.Survey, free bool) (*Outcome, error) {
	losses, err := t.answers.Losses()
	if err != nil {
		return nil, err
	}
	quantiles := losses.Quantiles(0.5, 0.9, 1)
	at := func(i int) json.Number { return json.Number(dp.Decimal(quantiles[i], 12)) }
	return &Outcome{
		Name: s.Name, Kind: string(s.Kind), Epsilon: json.Number(dp.Decimal(s.EpsilonPico, 12)), Asked: s.Asked, Answered: s.Answered,
		Refused: s.Asked - s.Answered, LossMedian: at(0), Loss90: at(1), LossMax: at(2), Free: free, Unshown: t.unshown,
		Table: t.shownName(), Answers: t.answers.Realized(),
	}, nil
}

// show has the mirror show all answers. If a transaction is in the way, it is tried again.
func (t *table) show(ctx context.Context) {
	if t.answers.Frozen() != nil {
		return
	}
	if budget, err := t.budget(ctx); err == nil {
		t.limit = budget
	}
	err := t.put(ctx)
	if err == nil {
		t.shown, t.unshown = true, ""
		return
	}
	why := "the mirror does not take them"
	if mirror.InUse(err) {
		why = InUse
	}
	if t.unshown != why { // it is tried again and again
		t.cfg.Log.WarnContext(ctx, "answers are not shown yet", "table", t.local.Name.String(), "in use", mirror.InUse(err), "reason", err)
	}
	t.unshown = why
}

// InUse says that answers are shown as soon as a transaction ends.
const InUse = "a transaction has it open"
