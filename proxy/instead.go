package proxy

import (
	"context"
	"errors"
	"slices"
	"strings"

	"dpproxy/catalog"
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
	pgerr.StatementTooComplex,
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
	return trial{
		work: work.New(ctx, work.Brief), cat: e.p.cfg.Catalog, granted: e.p.analyst(e.analyst).Tables, params: b.ParamOIDs,
		plans: func(sql string) bool { return plans(ctx, e, m, b, sql) },
	}
}

// plans reports whether a statement is planned in the session of a refused one, has groups that can be shown, sums up all of its groups,
// and does not fail on them. Its constants are evaluated there: they are the client's. Where they fail, so they would have before, and
// nothing more is asked.
func plans(ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest, sql string) bool {
	texts, err := e.p.texts.get(parser.Text{SQL: sql})
	if err != nil || len(texts) != 1 {
		return false
	}
	other := &execution{p: e.p, session: e.session, analyst: e.analyst, text: texts[0], part: &part{silent: true}, answers: e.answers}
	if other.text.stmt.Let != nil {
		return newEvaluation(other, other.text.stmt.Let, m, b, true).planAll(ctx, m, nil) == nil
	}
	o, err := outlookOf(ctx, other, m, b)
	return err == nil && !o.plan.Scattered() && !o.plan.Incomplete() && rehearsed(ctx, other, m, b, o)
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
	plans   func(sql string) bool // nil: nothing is planned
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

// mostPlanned bounds how many statements are planned in the place of one.
const mostPlanned = 4

// instead returns statements for a statement that is refused at a place, "" if there are none.
func (t trial) instead(text string, at int) string {
	names, planned := planner.Names(t.cat), 0
	for _, sql := range repair.Instead(text, at, t.cat.Schema()) {
		script, err := parser.Parse(sql, names)
		if err != nil || slices.ContainsFunc(script.Statements, func(s *parser.Statement) bool { return !t.resolves(s) }) {
			continue
		}
		if t.plans == nil || len(script.Statements) > 1 { // the last of several names a table that the first will make
			return sql
		}
		if planned++; planned > mostPlanned {
			break
		}
		if t.plans(sql) {
			return sql
		}
	}
	return ""
}

// resolves reports whether a statement is about protected tables and would come as far as to be planned.
func (t trial) resolves(stmt *parser.Statement) bool {
	releases := stmt.Class == parser.Release || stmt.Class == parser.Explain
	switch {
	case !releases, checkGrants(stmt.Protected, t.granted) != nil:
		return false
	case stmt.Let != nil: // its results are known when it is planned
		return t.plans != nil
	}
	_, err := planner.Analyze(t.work, t.cat, stmt, t.params)
	return err == nil
}
