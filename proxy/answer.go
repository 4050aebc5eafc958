package proxy

import (
	"context"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/planner"
	"dpproxy/wire"
)

// answer runs one statement of one analyst.
type answer struct {
	p       *Proxy
	session *wire.Session
	analyst string
	text    *text
}

// release is the path of a protected statement. Up to the charge, everything is
// decided by the statement, the policy and the session; nothing of it depends on
// a protected row, and a refusal costs nothing. From the charge on, nothing is
// taken back.
func (a *answer) release(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	analysed, err := a.analyse(b)
	if err != nil {
		return wire.Rewrite{}, err
	}
	if err := a.rehearse(ctx, m); err != nil {
		return wire.Rewrite{}, err
	}
	if skipped, err := a.skipped(ctx, m); err != nil || skipped {
		return wire.Rewrite{Relay: true}, err
	}
	query := analysed.query
	pre, err := a.prelude(ctx, m, query, b)
	if err != nil || pre.shadowed {
		return wire.Rewrite{Relay: true}, err
	}
	if err := a.describe(ctx, m, query, pre, b); err != nil {
		return wire.Rewrite{}, err
	}
	plan, err := a.affordable(ctx, analysed, pre)
	if err != nil {
		return wire.Rewrite{}, err
	}
	if !plan.Reads() {
		return a.rewrite(ctx, query, pre, columns(plan, nil), b)
	}
	released, receipt, err := a.veiled(ctx, plan, pre)
	if err != nil {
		return wire.Rewrite{}, err
	}
	rw, err := a.rewrite(ctx, query, pre, columns(plan, released), b)
	if err != nil {
		return wire.Rewrite{}, err
	}
	if pre.settings.Notices {
		rw.Notices = append(rw.Notices, a.notice(ctx, receipt, plan, released, pre.settings.Confidence))
	}
	return rw, nil
}

// veiled draws what is released, and returns at the statement's point of the grid.
//
// A cancel request does not shorten the wait for it, and is then the reply: else it would tell
// whether the read was over when it came. The answer is paid for, and remembered.
func (a *answer) veiled(ctx context.Context, plan *planner.Plan, pre *prelude) ([][]*planner.Released, *receipt, error) {
	v := &veil{grid: a.p.cfg.Grid}
	defer v.lift() // also in a panic
	released, receipt, err := a.draw(ctx, plan, pre, v)
	if err == nil {
		v.then(func() { a.p.history.add(a.analyst, a.text.stmt.Text, plan, released, receipt) })
	}
	v.lift()
	if err == nil && ctx.Err() != nil {
		err = canceled(receipt)
	}
	return released, receipt, err
}

// draw returns what is released of each part of each block: what is known, and the others
// after they were charged, read and given their noise. With an error behind the charge it
// returns the receipt.
func (a *answer) draw(ctx context.Context, plan *planner.Plan, pre *prelude, v *veil) ([][]*planner.Released, *receipt, error) {
	if plan.Chained() != 0 {
		return a.chained(ctx, plan, pre, v)
	}
	known := a.recall(ctx, plan, pre.values)
	rest := plan.Rest(known.blocks())
	if !rest.Reads() {
		receipt, err := a.owed(ctx, rest, known, v)
		return known.released, receipt, err
	}
	if err := a.covered(ctx, rest, known.owed, chargeError); err != nil {
		return nil, nil, err
	}
	r, err := a.open(ctx, rest, pre, v)
	if err != nil {
		return nil, nil, err
	}
	receipt, err := a.charge(ctx, rest, known, v)
	if err != nil {
		return nil, nil, err
	}
	through := a.watch(ctx, plan, v, receipt)
	exacts, err := a.read(ctx, r, pre, v, receipt)
	if err != nil {
		return nil, receipt, err
	}
	released := known.released
	for i, block := range exacts {
		if released[i] != nil {
			continue
		}
		released[i] = make([]*planner.Released, len(plan.Blocks[i].Parts))
		for j, e := range block {
			released[i][j] = e.Release(a.p.cfg.Source)
		}
	}
	through()
	v.then(func() { a.remember(ctx, rest, known, released) })
	return released, receipt, nil
}

// owed charges for what is known already: nothing is read.
func (a *answer) owed(ctx context.Context, rest *planner.Plan, known *known, v *veil) (*receipt, error) {
	v.fall()
	return a.charge(ctx, rest, known, v)
}

// analyse resolves the statement and checks that it is the analyst's to ask.
func (a *answer) analyse(b wire.BindRequest) (*analysed, error) {
	analysed := a.text.analyse(a.p.cfg.Catalog, b.ParamOIDs)
	granted := checkGrants(a.text.stmt.Protected, a.p.analyst(a.analyst).Tables)
	if granted == nil {
		if err := a.checkSchema(analysed); err != nil {
			return nil, err
		}
	}
	if analysed.err != nil {
		return nil, analysed.err
	}
	return analysed, granted
}

// plan decides everything, with the values of the constants and the settings.
func (a *answer) plan(analysed *analysed, pre *prelude) (*planner.Plan, error) {
	scopes := a.p.scopes(a.analyst, analysed.query.Tables())
	allowed := a.allowance(analysed.query.Tables())
	plan, err := analysed.plan(pre.values, planner.Settings{
		EpsilonPico: allowed.most(pre.settings.Spend()),
		DeltaAtto:   a.p.policy.Load().defaults.DeltaAtto,
		Mechanism:   pre.settings.Mechanism,
		Mechanisms:  allowed.Mechanisms,
		Target:      pre.settings.Target,
		LeftPico:    pre.leftPico,
		TypicalPico: a.p.policy.Load().defaults.EpsilonPico,
		Pure:        a.p.pure(scopes),
		Alpha:       1 - pre.settings.Confidence,
		MaxRows:     pre.settings.MaxRows, MaxPartitions: pre.settings.MaxPartitions, MaxSum: pre.settings.MaxSum,
		Limits: a.p.cfg.Limits, Unindexed: a.p.cfg.Data.WithoutIndex(),
	})
	if err != nil {
		return nil, err
	}
	return plan, a.p.incidents.admit(a.analyst, plan.Shape)
}

// columns returns the arrays of each block's released relation. Blocks that read nothing
// have released nothing.
func columns(plan *planner.Plan, released [][]*planner.Released) [][]string {
	out := make([][]string, len(plan.Blocks))
	for i, b := range plan.Blocks {
		parts := make([]*planner.Released, len(b.Parts))
		if released != nil && released[i] != nil {
			parts = released[i]
		}
		out[i] = b.Columns(parts)
	}
	return out
}

// rewrite puts the released relations in the places of the blocks, and the rows of views that
// are concealed in theirs.
func (a *answer) rewrite(
	ctx context.Context, query *planner.Query, pre *prelude, released [][]string, b wire.BindRequest,
) (wire.Rewrite, error) {
	rows, err := a.concealedRows(ctx, query, pre, released)
	if err != nil {
		return wire.Rewrite{}, err
	}
	array := func(p place) string {
		if p.view {
			return rows[p.of][p.column]
		}
		return released[p.of][p.column]
	}
	rw := wire.Rewrite{Inline: a.spliced(query, false, func(p place) string { return ast.Quote(array(p)) })}
	if a.text.stmt.Form == parser.Utility || b.Simple {
		return rw, nil
	}
	var places []place
	rw.SQL, places = a.parameterised(query, len(b.ParamOIDs))
	for _, p := range places {
		rw.Extra = append(rw.Extra, []byte(array(p)))
		rw.ExtraOIDs = append(rw.ExtraOIDs, 0)
	}
	return rw, nil
}
