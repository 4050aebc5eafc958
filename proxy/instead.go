package proxy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/parser/repair"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/planner/work"
	"dpproxy/wire"
)

// mendable are the codes of refusals for which another statement may be answered.
var mendable = []pgerr.Code{
	pgerr.RowAccess, pgerr.NotAllowed, pgerr.FeatureNotSupported, pgerr.NoBounds, pgerr.Ownership, pgerr.ProgramLimitExceeded,
	pgerr.StatementTooComplex, pgerr.InsufficientPrivilege,
}

// mended is a refusal that says what works instead, if something does.
func mended(ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest, err error) error {
	if e.part != nil {
		return err // the whole statement says it
	}
	return trialFor(ctx, e, m, b).mend(err, e.text.stmt.Text)
}

// trialFor tries statements in the place of one, in its session.
func trialFor(ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest) trial {
	b.Early = nil
	until := time.Now().Add(tryFor)
	return trial{
		work: work.New(ctx, work.Brief), cat: e.p.cfg.Catalog, granted: e.p.analyst(e.analyst).Tables, params: b.ParamOIDs,
		plans: func(sql string) (spends int64, err error) {
			if !time.Now().Before(until) {
				return 0, context.DeadlineExceeded
			}
			ctx, stop := context.WithDeadline(ctx, until.Add(tryFor))
			defer stop()
			return plans(ctx, e, m, b, sql)
		},
	}
}

// tryFor is how long statements are tried in the place of a refused one. A plan that has begun may take as long again.
const tryFor = 2 * time.Second

// errUseless is the fate of a statement that is planned and would show nothing, or fail.
var errUseless = errors.New("the answer would be of no use")

// plans plans a statement in the session of a refused one. It fails unless its groups can be shown, it sums up all of its groups, and it
// does not fail on them. Its constants are evaluated there: they are the client's. If they fail, so they would have before, and nothing
// more is asked. It returns the most that the statement may spend, in 10⁻¹² of ε, 0 if that differs between its parts.
func plans(ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest, sql string) (spends int64, err error) {
	texts, err := e.p.texts.get(parser.Text{SQL: sql})
	if err != nil || len(texts) != 1 {
		return 0, cmp.Or(err, errUseless)
	}
	other := &execution{p: e.p, session: e.session, analyst: e.analyst, text: texts[0], part: &part{silent: true}, answers: e.answers}
	if other.text.stmt.Let != nil {
		return 0, newEvaluation(other, other.text.stmt.Let, m, b, true).planAll(ctx, m, nil)
	}
	o, err := outlookOf(ctx, other, m, b)
	switch {
	case err != nil:
		return 0, err
	case o.plan.Scattered() || o.plan.Incomplete() || !rehearsed(ctx, other, m, b, o):
		return 0, errUseless
	}
	return o.pre.settings.EpsilonPico, nil
}

// rehearsed reports whether the statement around the blocks succeeds on the groups that would be released, as far as they are public, with
// NULL for all values: a cast that is refused on protected rows can fail on them too.
func rehearsed(ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest, o *outlook) bool {
	if e.text.stmt.Class != parser.Release {
		return true
	}
	columns := make([][]string, len(o.plan.Blocks))
	for i, of := range o.plan.Blocks {
		columns[i] = of.Unreleased()
	}
	rw, err := e.rewrite(ctx, o.query, o.pre, columns, b)
	if err != nil {
		return false
	}
	_, err = m.First(ctx, maxPublicRows, rw.Inline, b.ParamOIDs, b.Params, b.Formats)
	return err == nil
}

// A trial finds out whether statements would be answered. They are found by the refused statement, the policy and the catalogue alone, as
// the refusal was.
type trial struct {
	work    *work.Meter // of all of them
	cat     *policy.Model
	granted map[catalog.Name]bool // the tables of the analyst
	params  []uint32              // the types of parameters
	// plans plans a statement, and returns the most that it may spend; nil: nothing is planned.
	plans func(sql string) (spends int64, err error)
}

// mend adds a statement that works to the hint of a refusal, with others before it that it needs.
func (t trial) mend(err error, text string) error {
	var refused *pgerr.Error
	if !errors.As(err, &refused) || !slices.Contains(mendable, refused.Code) {
		return err
	}
	sql := t.instead(text, refused.Position-1)
	if sql == "" || strings.HasSuffix(refused.Hint, ": "+sql+".") { // it says so
		return err
	}
	return refused.WithHint("%s", strings.TrimSpace(refused.Hint+" Try: "+sql+"."))
}

// mostPlanned bounds how many statements are tried in the place of one, and mostBounded how often one is given more bounds.
const mostPlanned, mostBounded = 4, 8

// instead returns statements for a statement that is refused at a place, "" if there are none.
func (t trial) instead(text string, at int) string {
	planned := 0
	for _, c := range repair.Instead(text, at, t.cat.Schema()) {
		if !t.resolve(c) {
			continue
		}
		if planned++; planned > mostPlanned {
			break
		}
		if found, ok := t.bounded(c); ok {
			return found.String()
		}
	}
	return ""
}

// resolve reports whether the statements of a candidate resolve, but for bounds that it lacks still.
func (t trial) resolve(c repair.Candidate) bool {
	script, err := parser.Parse(c.Before+c.Rehearsal(), planner.Names(t.cat))
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(script.Statements, func(s *parser.Statement) bool {
		err := t.resolves(s)
		return err != nil && !isBoundless(err)
	})
}

// bounded plans a candidate, with more bounds until it has all that it needs: the refusal of each plan names a column. The bounds of a
// column may spend half as much as the statement, a quarter of its price in a budget of zCDP, and no more than 1: they are asked for once,
// and decide only which values are cut.
func (t trial) bounded(c repair.Candidate) (repair.Candidate, bool) {
	for range mostBounded {
		sql := c.Rehearsal()
		err := t.analyses(sql)
		if err == nil && t.plans == nil {
			return c, true
		}
		if err == nil {
			var spends int64
			if spends, err = t.plans(sql); err == nil {
				if spends > 0 {
					c = c.Spending(dp.Decimal(min(spends/2, dp.PicoPerUnit), 12))
				}
				return c, true
			}
		}
		refused, ok := errors.AsType[*pgerr.Error](err)
		if !ok || !isBoundless(err) {
			return c, false
		}
		more := repair.Bounded(c, refused.Position-1, t.cat.Schema())
		if len(more) == 0 {
			return c, false
		}
		c = more[0]
	}
	return c, false
}

func isBoundless(err error) bool {
	refused, ok := errors.AsType[*pgerr.Error](err)
	return ok && refused.Code == pgerr.NoBounds
}

// analyses resolves a statement that is parsed by itself, so that a refusal has its place in the text.
func (t trial) analyses(sql string) error {
	script, err := parser.Parse(sql, planner.Names(t.cat))
	if err != nil || len(script.Statements) != 1 {
		return cmp.Or(err, errUseless)
	}
	return t.resolves(script.Statements[0])
}

// resolves returns why a statement is not about protected tables, or would not come as far as to be planned.
func (t trial) resolves(stmt *parser.Statement) error {
	releases := stmt.Class == parser.Release || stmt.Class == parser.Explain
	switch {
	case !releases:
		return errUseless
	case stmt.Let != nil && t.plans == nil: // its results are known when it is planned
		return errUseless
	}
	if err := checkGrants(stmt.Protected, t.granted); err != nil || stmt.Let != nil {
		return err
	}
	_, err := planner.Analyze(t.work, t.cat, stmt, t.params)
	return err
}
