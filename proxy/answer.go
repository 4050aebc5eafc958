package proxy

import (
	"context"
	"math/big"

	"dpproxy/mechanisms"
	"dpproxy/parser"
	"dpproxy/pgerr"
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
func (a *answer) release(ctx context.Context, m *wire.Mirror, b wire.Bound) (wire.Rewrite, error) {
	arrived := a.p.cfg.Grid.arrival()
	query, err := a.analyse(b)
	if err != nil {
		return wire.Rewrite{}, err
	}
	pre, err := a.prelude(ctx, m, query, b)
	if err != nil || pre.shadowed {
		return wire.Rewrite{Relay: true}, err
	}
	if err := a.describe(ctx, m, query, b); err != nil {
		return wire.Rewrite{}, err
	}
	if err := a.rehearse(ctx, m); err != nil {
		return wire.Rewrite{}, err
	}
	plan, err := a.plan(query, pre)
	if err != nil {
		return wire.Rewrite{}, err
	}
	if !plan.Reads() {
		return a.rewrite(query, columns(plan, nil), b), nil
	}
	known := a.recall(ctx, plan, pre.values)
	pre.arrived = arrived
	noisy, receipt, err := a.draw(ctx, plan, known, pre)
	if err != nil {
		return wire.Rewrite{}, a.leave(ctx, arrived, receipt, err)
	}
	rw := a.rewrite(query, columns(plan, noisy), b)
	if pre.settings.notices {
		rw.Notices = append(rw.Notices, receipt.notice(plan, noisy, pre.settings.confidence))
	}
	if err := a.leave(ctx, arrived, receipt, nil); err != nil {
		return wire.Rewrite{}, err
	}
	return rw, nil
}

// draw returns each block's released rows: those that are known, and the others
// after they were charged, read and given their noise. With an error behind the charge
// it returns the receipt.
func (a *answer) draw(ctx context.Context, plan *planner.Plan, known *known, pre *prelude) ([][][]*big.Int, *receipt, error) {
	rest := plan.Rest(known.blocks())
	if !rest.Reads() {
		receipt, err := a.charge(ctx, rest, known)
		return known.rows(), receipt, err
	}
	conn, err := a.p.cfg.Data.acquire(ctx, rest, pre.timeout)
	if err != nil {
		return nil, nil, err
	}
	defer conn.release()
	receipt, err := a.charge(ctx, rest, known)
	if err != nil {
		return nil, nil, err
	}
	exact, err := conn.read(ctx, rest, pre.values, a.p.cfg.Defaults.Timeout, a.p.cfg.Grid.limit(pre.arrived, pre.timeout))
	if err != nil {
		return nil, receipt, a.failed(ctx, receipt, plan, err)
	}
	noisy := known.rows()
	for i, b := range rest.Blocks {
		if noisy[i] == nil {
			noisy[i] = a.noise(b, exact[i])
		}
	}
	a.remember(ctx, rest, known, noisy)
	return noisy, receipt, nil
}

// analyse resolves the statement and checks that it is the analyst's to ask.
func (a *answer) analyse(b wire.Bound) (*planner.Query, error) {
	query, err := a.text.analyse(a.p.cfg.Catalog)
	if err != nil {
		return nil, err
	}
	if a.text.stmt.Form == parser.Utility && len(b.Params) > 0 {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "a utility statement over protected data takes no parameters").
			WithHint("Write the values as constants.")
	}
	granted := a.p.cfg.Analysts[a.analyst].Tables
	for _, t := range a.text.stmt.Protected {
		if !granted[tableName(t)] {
			return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied for table %s", t.Resolved.Name).At(t.At)
		}
	}
	return query, nil
}

// plan decides everything, with the values of the constants and the settings.
func (a *answer) plan(query *planner.Query, pre *prelude) (*planner.Plan, error) {
	oids := make([]uint32, len(pre.values))
	for i, v := range pre.values {
		oids[i] = v.OID
	}
	template, err := a.text.template(query, oids)
	if err != nil {
		return nil, err
	}
	scopes := a.p.scopes(a.analyst, query.Tables())
	plan, err := template.Bind(pre.values, planner.Settings{
		EpsilonPico: pre.settings.epsilonPico,
		Mechanism:   pre.settings.mechanism,
		Pure:        a.p.pure(scopes),
		Alpha:       1 - pre.settings.confidence,
	})
	if err != nil {
		return nil, err
	}
	return plan, a.p.incidents.admit(a.analyst, plan.Shape)
}

// noise is where exact aggregates become released ones.
func (a *answer) noise(b *planner.BlockPlan, exact [][]mechanisms.Private) [][]*big.Int {
	noisy := make([][]*big.Int, len(exact))
	for r, row := range exact {
		noisy[r] = make([]*big.Int, len(row))
		for k, v := range row {
			noisy[r][k] = mechanisms.Release(b.Mechanisms[k], a.p.cfg.Source, v).Int()
		}
	}
	return noisy
}

// columns returns the arrays of each block's released relation.
func columns(plan *planner.Plan, noisy [][][]*big.Int) [][]string {
	out := make([][]string, len(plan.Blocks))
	for i, b := range plan.Blocks {
		var rows [][]*big.Int
		if noisy != nil {
			rows = noisy[i]
		}
		out[i] = b.Columns(rows)
	}
	return out
}

// rewrite puts the released relations in the places of the blocks.
func (a *answer) rewrite(query *planner.Query, released [][]string, b wire.Bound) wire.Rewrite {
	rw := wire.Rewrite{Inline: a.text.stmt.Splice(func(block int) string {
		return query.Relation(block, func(col int) string { return parser.Quote(released[block][col]) })
	})}
	if a.text.stmt.Form == parser.Utility || b.Simple {
		return rw
	}
	rw.SQL = a.parameterised(query, len(b.ParamOIDs))
	for _, cols := range released {
		for _, c := range cols {
			rw.Extra = append(rw.Extra, []byte(c))
			rw.ExtraOIDs = append(rw.ExtraOIDs, 0)
		}
	}
	return rw
}
