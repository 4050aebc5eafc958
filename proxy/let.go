package proxy

import (
	"context"
	"errors"
	"slices"
	"strings"

	"dpproxy/answers"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/proxy/cashier"
	"dpproxy/proxy/memory"
	"dpproxy/wire"
)

// This file evaluates let: statements that use a released result as constants, such as a threshold, or the groups of another query
// (decision 34). Each binding is a statement of its own, with its own charge, and its result stands in the text of what uses it. The
// analyst could have sent them one after the other.

// A part is what an execution knows of the statement whose binding or body it is.
type part struct {
	whole  asked          // the statement, of which prices are shown
	within []planner.Cost // its price without being asked for again; nil: nothing was said
	silent bool           // nothing of it is told: an EXPLAIN needs its result
	copied bool           // public rows of the mirror stand in it as constants
	unseen bool           // nobody sees the errors of its percentiles: rows are ranked by them

	present bool  // no former epoch answers it
	told    *told // nil: nothing is told, or nothing was released
}

// ends reports whether the errors of percentiles are seen.
func (p *part) ends() bool { return p == nil || !p.unseen }

// quiet reports whether nothing of an execution is told.
func (p *part) quiet() bool { return p != nil && p.silent }

// An evaluation evaluates a statement that uses results.
type evaluation struct {
	*execution

	asker *wire.Asker
	let   *parser.Let
	bound wire.BindRequest
	env   environment

	nested  bool // it is planned in the place of a refused statement
	charged bool // a binding was not free
	notices []wire.Notice
	parts   []*part // that have been released
	bills   []cashier.Bill
	prices  [][]planner.Cost // of each binding, and of the body
	body    *outlook
	epochs  []string      // that answer the bindings and the body, empty for the present one
	asked   []string      // the questions of what is planned with all that it uses
	keys    []answers.Key // under which they will be remembered
}

// An environment has the result of each binding, in their order, as constants.
type environment []parser.Constants

// shown is the environment for people: nothing is shown of a result that is not known.
func (env environment) shown() environment {
	out := slices.Clone(env)
	for i, c := range out {
		if c.Unknown {
			out[i].SQL = "…"
		}
	}
	return out
}

// knows reports whether the results of some bindings are known.
func (env environment) knows(bindings []int) bool {
	return !slices.ContainsFunc(bindings, func(i int) bool { return env[i].Unknown })
}

// known reports whether all results are.
func (env environment) known() bool {
	return !slices.ContainsFunc(env, func(c parser.Constants) bool { return c.Unknown })
}

// An outlook is a statement as it is before the charge.
type outlook struct {
	query *planner.Query
	plan  *planner.Plan
	rest  *planner.Plan // of all that is not known
	known *memory.Recalled
	pre   *prelude
	bill  cashier.Bill
}

// free reports whether a statement is answered without a charge.
func (o *outlook) free() bool { return !o.rest.Reads() && len(o.known.Owed) == 0 }

// errShadowed says that a name means another relation in the session, so that the mirror has the statement as it is.
var errShadowed = errors.New("a name means another relation")

// evaluate answers a statement that uses results. First all is planned, whatever the results that are not known will be: a refusal has cost
// nothing then.
func evaluate(ctx context.Context, e *execution, let *parser.Let, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	e.enter(stepLet)
	if err := rehearse(ctx, m, e.text.stmt, e.text.stmt.Destination, b); err != nil {
		return wire.Rewrite{}, err
	}
	if skipped, err := skips(ctx, m, e.text.stmt); err != nil || skipped {
		return wire.Rewrite{Relay: true}, err
	}
	b.Early = nil
	s, err := agreed(ctx, e, let, m, b)
	switch {
	case errors.Is(err, errShadowed):
		return wire.Rewrite{Relay: true}, nil
	case err != nil && let != e.text.stmt.Reserve:
		return inReserve(ctx, e, m, b, err)
	case err != nil:
		return wire.Rewrite{}, err
	}
	rw, err := s.releaseAll(ctx, m)
	return rw, s.behind(err)
}

// inReserve evaluates a statement that was refused before a charge with all its public rows as constants. It stays refused if they do not
// help.
func inReserve(ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest, refused error) (wire.Rewrite, error) {
	let := reserveOf(ctx, e, m, b, refused)
	if let == nil {
		return wire.Rewrite{}, mended(ctx, e, m, b, refused)
	}
	return evaluate(ctx, e, let, m, b)
}

// plannedAsWritten plans a statement that has a reserve, as it is written.
func plannedAsWritten(ctx context.Context, e *execution, analysed *analysed, pre *prelude) error {
	if e.text.stmt.Reserve == nil || e.part != nil {
		return nil
	}
	patience, stop := pre.patience(ctx)
	defer stop()
	_, err := e.planWithinBudget(patience, analysed, pre)
	return err
}

// explainReserve explains likewise.
func explainReserve(
	ctx context.Context, x explanation, m *wire.Asker, b wire.BindRequest, refused error,
) (lines []string, shadowed bool, err error) {
	let := reserveOf(ctx, x.execution, m, b, refused)
	if let == nil {
		return nil, false, mended(ctx, x.execution, m, b, refused)
	}
	return x.explainLet(ctx, let, m, b)
}

// reserveOf returns what is evaluated in place of a refused statement, nil if that is refused as well.
func reserveOf(ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest, refused error) *parser.Let {
	let := e.text.stmt.Reserve
	own, ok := errors.AsType[*pgerr.Error](refused)
	if let == nil || !ok || e.part != nil || !slices.Contains(mendable, own.Code) && !slices.Contains(tooMuch, own.Code) {
		return nil
	}
	b.Early = nil
	tried := *e
	tried.part = &part{silent: true}
	if newEvaluation(&tried, let, m, b, true).planAll(ctx, m, nil) != nil {
		return nil
	}
	return let
}

// tooMuch are the codes of refusals of work that constants may spare.
var tooMuch = []pgerr.Code{pgerr.ProgramLimitExceeded, pgerr.StatementTooComplex}

// newEvaluation begins with nothing that is known.
func newEvaluation(e *execution, let *parser.Let, m *wire.Asker, b wire.BindRequest, silent bool) *evaluation {
	own := *e
	own.part = &part{whole: askedBy(e.text.stmt.InnerText(), b), silent: silent}
	n := len(let.Bindings)
	return &evaluation{
		execution: &own, nested: e.part != nil, asker: m, let: let, bound: b,
		env: make(environment, n), prices: make([][]planner.Cost, n+1),
	}
}

// releaseAll releases the bindings that are not known, in their order, and then the body, each charged and remembered like any statement.
func (s *evaluation) releaseAll(ctx context.Context, m *wire.Asker) (wire.Rewrite, error) {
	for i, c := range s.env {
		if !c.Unknown {
			continue
		}
		b, err := s.binding(ctx, m, i)
		if err == nil {
			b.part.within = s.prices[i]
			err = s.take(ctx, m, b)
		}
		if err != nil {
			return wire.Rewrite{}, err
		}
	}
	body, err := s.withResults(ctx)
	if err != nil {
		return wire.Rewrite{}, err
	}
	body.part.within = s.prices[len(s.env)]
	rw, err := body.release(ctx, m, s.bound)
	if err != nil {
		return rw, err
	}
	rw.Notices = slices.Concat(s.notices, rw.Notices, s.tell(ctx, body.part))
	return rw, nil
}

// take has a binding released, and knows its result.
func (s *evaluation) take(ctx context.Context, m *wire.Asker, b *binding) (err error) {
	sql := b.text.stmt.Text
	if !b.public {
		rw, err := b.answer(ctx, m)
		if err != nil {
			return err
		}
		s.charged, s.notices, sql = s.charged || s.env[b.at].Unknown, append(s.notices, rw.Notices...), rw.Inline
		s.parts = append(s.parts, b.part)
	}
	s.env[b.at], err = b.constants(ctx, m, sql, false)
	return err
}

// planAll plans the bindings, in their order, and then the body. Results that are free are known then.
func (s *evaluation) planAll(ctx context.Context, m *wire.Asker, each func(b *binding) error) error {
	for i := range s.env {
		b, err := s.binding(ctx, m, i)
		if err == nil {
			err = s.planBinding(ctx, m, b, each)
		}
		if err != nil {
			return err
		}
	}
	body, err := s.withResults(ctx)
	if err != nil {
		return err
	}
	if s.body, err = outlookOf(ctx, body, m, s.bound); err != nil {
		return s.moved(ctx, err)
	}
	s.sees(s.body)
	s.prices[len(s.env)], err = s.priced(ctx, s.body, s.env.known())
	return err
}

// planBinding plans a binding, and finds its result if that is free.
func (s *evaluation) planBinding(ctx context.Context, m *wire.Asker, b *binding, each func(b *binding) error) (err error) {
	itself := s.env.knows(b.of.Uses())
	if b.public {
		s.env[b.at], err = b.constants(ctx, m, b.text.stmt.Text, !itself)
		return err
	}
	o, err := outlookOf(ctx, b.execution, m, b.bound)
	if err != nil {
		return s.within(ctx, b.of, err)
	}
	s.sees(o)
	if s.prices[b.at], err = s.priced(ctx, o, itself); err != nil {
		return err
	}
	if each != nil {
		if err := each(b); err != nil {
			return err
		}
	}
	if itself && o.free() {
		return s.take(ctx, m, b)
	}
	s.env[b.at], err = b.unreleased(ctx, m, o)
	return err
}

// sees notes the epoch that answers a binding or the body.
func (s *evaluation) sees(o *outlook) {
	if o.plan.Reads() && !slices.Contains(s.epochs, o.known.Epoch) {
		s.epochs = append(s.epochs, o.known.Epoch)
	}
}

// mixes reports whether several epochs would answer the statement. It is planned once more then, for the present one.
func (s *evaluation) mixes() bool { return len(s.epochs) > 1 && !s.part.present }

// priced adds the bill of a binding or of the body, and returns its costs. If itself says that all results in it are known, a question that
// a binding before has asked costs nothing more.
func (s *evaluation) priced(ctx context.Context, o *outlook, itself bool) ([]planner.Cost, error) {
	if question := o.bill.Question; itself && question != "" && s.p.memory.Keeps() {
		if slices.Contains(s.asked, question) {
			return []planner.Cost{}, nil
		}
		s.asked, s.keys = append(s.asked, question), append(s.keys, o.known.Drawn(o.rest)...)
	}
	s.bills = append(s.bills, o.bill)
	costs, err := s.p.cashier.Costs(ctx, o.bill)
	if err != nil {
		return nil, reserveError(o.bill, err)
	}
	return append([]planner.Cost{}, costs...), nil
}

// other is the execution of a text that is a part of the statement.
func (s *evaluation) other(text parser.Text) (*execution, error) {
	texts, err := s.p.texts.get(text)
	if err != nil {
		return nil, withoutPosition(err)
	}
	if len(texts) != 1 || texts[0].stmt.Let != nil {
		return nil, unusable()
	}
	own := *s.part
	return &execution{p: s.p, session: s.session, analyst: s.analyst, text: texts[0], part: &own, answers: s.answers, lent: s.lent}, nil
}

// unusable refuses a released result that cannot be a constant.
func unusable() *pgerr.Error {
	return pgerr.New(pgerr.FeatureNotSupported, "a released result cannot be used by a query whose own result is used").
		WithHint("Keep it in a temporary table, and write its values as constants.")
}

// withResults is the body with the values in it.
func (s *evaluation) withResults(ctx context.Context) (*execution, error) {
	body, err := s.other(s.let.Body(s.env))
	if err != nil {
		return nil, err
	}
	switch body.text.stmt.Class {
	case parser.Release, parser.Explain:
		return body, nil
	case parser.Refused:
		return nil, s.moved(ctx, body.text.stmt.Refusal)
	case parser.Relay, parser.Empty, parser.Set, parser.Execution:
	}
	return nil, unusable()
}

// within takes an error of a binding to where that is in the statement.
func (s *evaluation) within(ctx context.Context, b parser.Binding, err error) error {
	return s.placed(ctx, err, func(at int) int { return b.Origin(at, s.env) })
}

// moved takes an error of the body to where it is in the statement.
func (s *evaluation) moved(ctx context.Context, err error) error {
	return s.placed(ctx, err, func(at int) int { return s.let.Origin(at, s.env) })
}

// placed is an error of the statement, which says what works instead, if something does.
func (s *evaluation) placed(ctx context.Context, err error, origin func(at int) int) error {
	own, ok := errors.AsType[*pgerr.Error](err)
	if !ok {
		return err
	}
	told := *own
	if told.Position > 0 {
		told.Position = origin(told.Position-1) + 1
	}
	if s.nested {
		return &told
	}
	return trialFor(ctx, s.execution, s.asker, s.bound).mend(&told, s.text.stmt.Text)
}

// behind is an error of the statement when bindings have been released. One that would have it run anew is another one.
func (s *evaluation) behind(err error) error {
	own, ok := errors.AsType[*pgerr.Error](err)
	if !ok {
		return err
	}
	told := *own
	if told.Position = 0; !s.charged {
		return &told
	}
	if told.Code == pgerr.SchemaChanged {
		told.Code, told.Hint = pgerr.FeatureNotSupported, "Send the statement again."
	}
	told.Detail = strings.TrimSpace(told.Detail + " What the statement uses was released before it, and its charge stays.")
	return &told
}

// outlookOf takes a statement as far as the charge.
func outlookOf(ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest) (*outlook, error) {
	analysed, err := e.resolve(ctx, m, b)
	if err != nil {
		return nil, err
	}
	pre, err := e.prelude(ctx, m, analysed.query, b)
	switch {
	case err != nil:
		return nil, err
	case pre.shadowed:
		return nil, errShadowed
	}
	if !e.part.quiet() { // the lines of an EXPLAIN are not its columns
		if err := e.describe(ctx, m, analysed.query, pre, b); err != nil {
			return nil, err
		}
	}
	patience, stop := pre.patience(ctx)
	defer stop()
	plan, err := e.planWithinBudget(patience, analysed, pre)
	if err != nil {
		return nil, err
	}
	known := e.recall(ctx, plan, pre)
	rest := plan.Rest(known.Left())
	return &outlook{
		query: analysed.query, plan: plan, rest: rest, known: known, pre: pre,
		bill: e.prepaid(ctx, e.bill(rest, known.Owed), rest, known, pre),
	}, nil
}

// explainLet explains the bindings of a statement and its body, and the costs of all.
func (x explanation) explainLet(
	ctx context.Context, let *parser.Let, m *wire.Asker, b wire.BindRequest,
) (lines []string, shadowed bool, err error) {
	s := newEvaluation(x.execution, let, m, b, true)
	each := func(b *binding) error {
		own, _, err := explanation{b.execution, x.verbose}.explained(ctx, m, b.bound)
		lines = append(append(lines, "before: "+oneLine(b.of.Query(s.env.shown()).SQL)), own...)
		return withoutPosition(err)
	}
	if err = s.planAll(ctx, m, each); err == nil && s.mixes() {
		s, lines = newEvaluation(x.execution, let, m, b, true), nil
		s.part.present = true
		err = s.planAll(ctx, m, each)
	}
	if errors.Is(err, errShadowed) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	body, err := s.withResults(ctx)
	if err != nil {
		return nil, false, err
	}
	own, _, err := explanation{body, x.verbose}.explained(ctx, m, b)
	if err != nil {
		return nil, false, s.moved(ctx, err)
	}
	then := "then, with that result"
	if !s.env.known() {
		then = "then, planned here without that result"
	}
	lines = append(append(lines, then), own...)
	costs, err := s.p.cashier.Costs(ctx, s.bills...)
	if err != nil {
		return nil, false, reserveError(s.body.bill, err)
	}
	s.p.consents.show(s.analyst, s.part.whole, costs)
	if !s.body.pre.settings.Losses {
		costs = cashier.Shares(costs)
	}
	return append(lines, planner.ExplainTogether(costs, s.rounds(), s.body.plan.PriceOpen())...), false, nil
}

// rounds reports whether a binding or the body is paid round by round: its bill is the most that it can cost.
func (s *evaluation) rounds() bool {
	return slices.ContainsFunc(s.bills, func(b cashier.Bill) bool { return b.Rounds })
}

// oneLine writes a text without line breaks.
func oneLine(sql string) string { return abridged(strings.Join(strings.Fields(sql), " ")) }
