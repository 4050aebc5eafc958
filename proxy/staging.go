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

// This file answers statements that use a released result as constants: a threshold, or the groups of another query.
// Each such query is a statement of its own, with its own charge, and its answer stands in the text of the next one.
// The analyst could have sent them one after the other.

// A part has all that an execution knows of the statement that it is a part of.
type part struct {
	whole  asked          // the statement, of which prices are shown
	within []planner.Cost // its price without being asked for again; nil: nothing was said
	silent bool           // nothing of it is told: an EXPLAIN needs its result
	sample bool           // constants of it stand for a result that is not known
	unseen bool           // nobody sees the errors of its percentiles: rows are ranked by them
}

// ends reports whether the errors of percentiles are seen.
func (p *part) ends() bool { return p == nil || !p.unseen }

// samples reports whether an execution is a rehearsal with samples in it.
func (p *part) samples() bool { return p != nil && p.sample }

// quiet reports whether nothing of an execution is told.
func (p *part) quiet() bool { return p != nil && p.silent }

// A staging is a statement with the results of its Priors, of which some are not known yet.
type staging struct {
	*execution

	bound   wire.BindRequest
	results []string // as constants: those that are not known are samples
	written []string // as answers are, where samples are written otherwise
	known   []bool
	charged bool // a Prior was not free
	notices []wire.Notice
	bills   []cashier.Bill
	costs   [][]planner.Cost // of each Prior, and of the statement behind them
	last    *outlook         // of the statement
	asked   []string         // the questions of parts without samples
	keys    []answers.Key    // under which they will be remembered
}

// An outlook is a statement as it is before the charge.
type outlook struct {
	shadowed bool
	query    *planner.Query
	plan     *planner.Plan
	rest     *planner.Plan // of all that is not known
	known    *memory.Recalled
	pre      *prelude
	bill     cashier.Bill
}

// free reports whether a statement is answered without a charge.
func (o *outlook) free() bool { return !o.rest.Reads() && len(o.known.Owed) == 0 }

// afterPriors answers a statement after its Priors. First all are planned, the statement with samples of results that are not
// known: a refusal has cost nothing then.
func afterPriors(ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	if err := e.checkTransaction(ctx, m); err != nil {
		return wire.Rewrite{}, err
	}
	if skipped, err := skips(ctx, m, e.text.stmt); err != nil || skipped {
		return wire.Rewrite{Relay: true}, err
	}
	b.Early = nil
	s, err := rehearsed(ctx, e, m, b)
	if err != nil || s.last == nil {
		return wire.Rewrite{Relay: true}, err
	}
	if err := s.answer(ctx, m); err != nil {
		return wire.Rewrite{}, err
	}
	next, err := s.next(s.results)
	if err != nil {
		return wire.Rewrite{}, s.behind(err)
	}
	next.part.within = s.costs[len(s.costs)-1]
	rw, err := next.release(ctx, m, b)
	if n := len(rw.Notices); n > 0 && len(s.notices) > 0 {
		rw.Notices[n-1].Message = outsideFirst(rw.Notices[n-1].Message, ownOutside)
		rw.Notices[n-1].Detail = strings.TrimPrefix(rw.Notices[n-1].Detail+"\n"+s.remark(), "\n")
	}
	rw.Notices = append(slices.Clip(s.notices), rw.Notices...)
	return rw, s.behind(err)
}

// newStaging begins with nothing that is known.
func newStaging(e *execution, b wire.BindRequest, silent bool) *staging {
	n := len(e.text.stmt.Priors)
	own := *e
	own.part = &part{whole: askedBy(e.text.stmt.InnerText(), b), silent: silent}
	return &staging{
		execution: &own, bound: b, results: make([]string, n), written: make([]string, n), known: make([]bool, n),
		costs: make([][]planner.Cost, n+1),
	}
}

// rehearse plans everything, one after the other, and takes results that are free. Last is nil if a name means another relation.
func (s *staging) rehearse(ctx context.Context, m *wire.Asker, each func(p *prior, known bool) error) error {
	for i := range s.results {
		if s.twin(i) {
			continue
		}
		p, err := s.prior(ctx, m, i)
		if err != nil {
			return err
		}
		var costs []planner.Cost
		s.known[i] = s.uses(p.of)
		switch {
		case p.public:
			s.results[i], err = p.result(ctx, m, p.text.stmt.Text)
		default:
			p.part.sample = !s.uses(p.of)
			o, failed := outlookOf(ctx, p.execution, m, p.bound)
			if failed != nil || o.shadowed {
				return s.within(p.of, failed)
			}
			s.known[i] = s.known[i] && o.free()
			if costs, err = s.priced(ctx, o, s.uses(p.of)); err != nil {
				return err
			}
			if each != nil {
				err = each(p, s.known[i])
			}
			switch {
			case err != nil:
			case s.known[i]:
				err = s.take(ctx, m, i, p)
			default:
				s.results[i], s.written[i], err = p.sample(ctx, m, o)
			}
		}
		if err != nil {
			return err
		}
		s.costs[i] = costs
	}
	if err := s.tryAsWritten(); err != nil {
		return err
	}
	next, err := s.next(s.results)
	if err != nil {
		return err
	}
	next.part.sample = slices.Contains(s.known, false)
	o, err := outlookOf(ctx, next, m, s.bound)
	if err != nil || o.shadowed {
		return s.moved(err, s.results)
	}
	s.last = o
	s.costs[len(s.results)], err = s.priced(ctx, o, !slices.Contains(s.known, false))
	return err
}

// tryAsWritten resolves the statement with results as answers are written: what refuses those does so before a charge.
func (s *staging) tryAsWritten() error {
	results := slices.Clone(s.results)
	for i, sql := range s.written {
		if sql != "" {
			results[i] = sql
		}
	}
	if slices.Equal(results, s.results) {
		return nil
	}
	next, err := s.next(results)
	if err != nil {
		return err
	}
	_, err = next.resolve(s.bound)
	return s.moved(err, results)
}

// twin takes the result of a Prior that is there twice from the first of both.
func (s *staging) twin(i int) bool {
	j := s.text.stmt.Priors.Twin(i)
	s.results[i], s.written[i], s.known[i] = s.results[j], s.written[j], s.known[j]
	return j != i
}

// uses reports whether the results that a Prior uses are known.
func (s *staging) uses(p parser.Prior) bool {
	for _, i := range p.Uses {
		if !s.known[i] {
			return false
		}
	}
	return true
}

// priced adds the bill of a part, and returns its costs. A part that asks what one before it asks costs nothing more, if it is itself
// that is planned, not one with a sample in it.
func (s *staging) priced(ctx context.Context, o *outlook, itself bool) ([]planner.Cost, error) {
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

// answer has those that are not known answered, each charged and remembered like any statement.
func (s *staging) answer(ctx context.Context, m *wire.Asker) error {
	for i, known := range s.known {
		if known || s.twin(i) {
			continue
		}
		p, err := s.prior(ctx, m, i)
		switch {
		case err != nil:
		case p.public:
			s.results[i], err = p.result(ctx, m, p.text.stmt.Text)
		default:
			p.part.within = s.costs[i]
			err = s.take(ctx, m, i, p)
		}
		if err != nil {
			return s.behind(err)
		}
	}
	return nil
}

// take has a Prior answered.
func (s *staging) take(ctx context.Context, m *wire.Asker, i int, p *prior) error {
	rw, err := p.answer(ctx, m)
	if err != nil {
		return err
	}
	s.charged, s.notices = s.charged || !s.known[i], append(s.notices, rw.Notices...)
	s.results[i], err = p.result(ctx, m, rw.Inline)
	return err
}

// other is the execution of a text that is a part of the statement.
func (s *staging) other(sql string) (*execution, error) {
	texts, err := s.p.texts.get(sql, func() (*parser.Script, error) { return parser.Parse(sql, s.p.cfg.Catalog) })
	if err != nil {
		return nil, withoutPosition(err)
	}
	if len(texts) != 1 || len(texts[0].stmt.Priors) > 0 {
		return nil, unusable()
	}
	own := *s.part
	return &execution{p: s.p, session: s.session, analyst: s.analyst, text: texts[0], part: &own}, nil
}

// unusable refuses a released result that cannot be a constant.
func unusable() *pgerr.Error {
	return pgerr.New(pgerr.FeatureNotSupported, "a released result cannot be used by a query whose own result is used").
		WithHint("Keep it in a temporary table, and write its values as constants.")
}

// next is the statement with results of its Priors.
func (s *staging) next(results []string) (*execution, error) {
	next, err := s.other(s.text.stmt.Priors.With(s.text.stmt.Text, results))
	if err != nil {
		return nil, err
	}
	switch next.text.stmt.Class {
	case parser.Release, parser.Explain:
		return next, nil
	case parser.Refused:
		return nil, s.moved(next.text.stmt.Refusal, results)
	case parser.Relay, parser.Empty, parser.Set, parser.Execution:
	}
	return nil, unusable()
}

// within takes an error of a Prior to where that is in the statement.
func (s *staging) within(p parser.Prior, err error) error {
	own, ok := errors.AsType[*pgerr.Error](err)
	if !ok {
		return err
	}
	told := *own
	if told.Position > 0 {
		told.Position = p.Before(told.Position-1) + 1
	}
	return withInstead(&told, s.text.stmt.Text, s.p.cfg.Catalog, s.p.analyst(s.analyst).Tables)
}

// moved takes an error of the statement with results to where it is in the statement itself.
func (s *staging) moved(err error, results []string) error {
	own, ok := errors.AsType[*pgerr.Error](err)
	if !ok {
		return err
	}
	told := *own
	if told.Position > 0 {
		told.Position = s.text.stmt.Priors.Before(told.Position-1, results) + 1
	}
	return withInstead(&told, s.text.stmt.Text, s.p.cfg.Catalog, s.p.analyst(s.analyst).Tables)
}

// behind is an error of the statement when its Priors have been answered. One that would have it run anew is another one.
func (s *staging) behind(err error) error {
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
	analysed, err := e.resolve(b)
	if err != nil {
		return nil, err
	}
	pre, err := e.prelude(ctx, m, analysed.query, b)
	if err != nil || pre.shadowed {
		return &outlook{shadowed: true}, err
	}
	if !e.part.quiet() { // the lines of an EXPLAIN are not its columns
		if err := e.describe(ctx, m, analysed.query, pre, b); err != nil {
			return nil, err
		}
	}
	plan, err := e.planWithinBudget(ctx, analysed, pre)
	if err != nil {
		return nil, err
	}
	known := e.recall(ctx, plan, pre)
	rest := plan.Rest(known.Known())
	return &outlook{
		query: analysed.query, plan: plan, rest: rest, known: known, pre: pre,
		bill: e.prepaid(ctx, e.bill(rest, known.Owed), rest, known, pre),
	}, nil
}

// explainedAfter explains a statement and its Priors, and the costs of all.
func (x explanation) explainedAfter(ctx context.Context, m *wire.Asker, b wire.BindRequest) (lines []string, shadowed bool, err error) {
	s := newStaging(x.execution, b, true)
	err = s.rehearse(ctx, m, func(p *prior, _ bool) error {
		own, _, err := explanation{p.execution}.explained(ctx, m, p.bound)
		lines = append(append(lines, "before: "+oneLine(p.of.SQL(s.results))), own...)
		return withoutPosition(err)
	})
	if err != nil || s.last == nil {
		return nil, err == nil, err
	}
	next, err := s.next(s.results)
	if err != nil {
		return nil, false, err
	}
	own, _, err := explanation{next}.explained(ctx, m, b)
	if err != nil {
		return nil, false, s.moved(err, s.results)
	}
	then := "then, with that result"
	if slices.Contains(s.known, false) {
		then = "then, planned here with a sample of that result"
	}
	lines = append(append(lines, then), own...)
	costs, err := s.p.cashier.Costs(ctx, s.bills...)
	if err != nil {
		return nil, false, reserveError(s.last.bill, err)
	}
	s.p.consents.show(s.analyst, s.part.whole, costs)
	return append(lines, planner.ExplainTogether(costs, s.rounds())...), false, nil
}

// rounds reports whether one of the parts is paid round by round: its bill is the most that it can cost.
func (s *staging) rounds() bool {
	return slices.ContainsFunc(s.bills, func(b cashier.Bill) bool { return b.Rounds })
}

// oneLine writes a text without line breaks.
func oneLine(sql string) string { return abridged(strings.Join(strings.Fields(sql), " ")) }
