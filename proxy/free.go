package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/wire"
)

// This file holds the statements that cost nothing: refused ones, EXPLAIN,
// dp.budget, and the probes of tools that ask for columns and no rows.

// refuse raises what the parser found, unless the names mean other relations in
// this session, such as temporary tables.
func (a *answer) refuse(ctx context.Context, m *wire.Mirror, _ wire.Bound) (wire.Rewrite, error) {
	shadowed, err := a.shadowed(ctx, m)
	if err != nil || shadowed {
		return wire.Rewrite{Relay: true}, err
	}
	return wire.Rewrite{}, a.text.stmt.Refusal
}

// shadowed asks the session what the statement's names mean.
func (a *answer) shadowed(ctx context.Context, m *wire.Mirror) (bool, error) {
	tables := a.text.stmt.Protected
	if len(tables) == 0 {
		return false, nil
	}
	res, err := m.Query(ctx, "SELECT "+strings.Join(relationColumns(tables), ", "), nil, nil, nil, nil)
	if err != nil {
		return false, err
	}
	if len(res.Rows) != 1 {
		return false, errMirror
	}
	return a.p.relations.shadowed(ctx, tables, res.Rows[0])
}

// explain answers EXPLAIN with the plan and its price. It reads and charges
// nothing.
func (a *answer) explain(ctx context.Context, m *wire.Mirror, b wire.Bound) (wire.Rewrite, error) {
	analysed, err := a.analyse(wire.Bound{ParamOIDs: b.ParamOIDs})
	if err != nil {
		return wire.Rewrite{}, err
	}
	pre, err := a.prelude(ctx, m, analysed.query, b)
	if err != nil || pre.shadowed {
		return wire.Rewrite{Relay: true}, err
	}
	plan, err := a.plan(analysed, pre)
	if err != nil {
		return wire.Rewrite{}, err
	}
	known := a.recall(ctx, plan, pre.values)
	costs, err := a.costs(ctx, plan.Rest(known.blocks()), known)
	if err != nil {
		return wire.Rewrite{}, err
	}
	lines := plan.Explain(costs)
	cells := make([]*string, len(lines))
	for i := range lines {
		cells[i] = &lines[i]
	}
	array := planner.ArrayText(cells)
	const sql = `SELECT * FROM pg_catalog.unnest(CAST(%s AS pg_catalog.text[])) AS "QUERY PLAN"`
	return wire.Rewrite{
		SQL:       fmt.Sprintf(sql, "$"+strconv.Itoa(len(b.ParamOIDs)+1)),
		Extra:     [][]byte{[]byte(array)},
		ExtraOIDs: []uint32{0},
		Inline:    fmt.Sprintf(sql, parser.Quote(array)),
		Tag:       "EXPLAIN",
	}, nil
}

// costs says what a plan would debit, without what is known already, and what would
// be left.
func (a *answer) costs(ctx context.Context, rest *planner.Plan, known *known) ([]planner.Cost, error) {
	debits, err := a.debits(rest, known.owed)
	if err != nil {
		return nil, err
	}
	var costs []planner.Cost
	for _, d := range debits {
		balances, err := a.p.cfg.Ledger.Balances(ctx, d.Scope)
		if err != nil || len(balances) != 1 {
			return nil, chargeError(accountant.ErrUnavailable)
		}
		left := balances[0].Remaining()
		c := planner.Cost{Scope: fmt.Sprintf("%s %s", d.Scope.Kind, d.Scope.Name), Loss: d.Loss, Remaining: left, Fits: d.Loss.Fits(left)}
		if after, err := left.Minus(d.Loss); err == nil {
			c.Remaining = after
		}
		costs = append(costs, c)
	}
	return costs, nil
}

// state gives the session what dp.budget shows, and runs the statement as it is.
func (a *answer) state(ctx context.Context, m *wire.Mirror, _ wire.Bound) (wire.Rewrite, error) {
	var tables []string
	for t := range a.p.analyst(a.analyst).Tables {
		tables = append(tables, t.String())
	}
	balances, err := a.p.cfg.Ledger.Balances(ctx)
	if err != nil {
		return wire.Rewrite{}, chargeError(err)
	}
	var rows []budgetRow
	for _, b := range balances {
		if visible(b.Scope, a.analyst, tables) {
			rows = append(rows, budget(b))
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return wire.Rewrite{}, err
	}
	_, err = m.Query(ctx, "SELECT pg_catalog.set_config('dp.state', $1, false)", []uint32{25}, [][]byte{text}, nil, nil)
	return wire.Rewrite{Relay: true}, err
}

// visible reports whether an analyst may see a budget: the unit's, his own, and
// those of the tables he may ask about.
func visible(s accountant.Scope, analyst string, tables []string) bool {
	switch s.Kind {
	case accountant.UnitScope:
		return true
	case accountant.AnalystScope:
		return s.Name == analyst
	case accountant.TableScope:
		return slices.Contains(tables, s.Name)
	}
	return false
}

// budgetRow is a row of dp.budget; the view on the mirror names the same columns.
type budgetRow struct {
	Scope     string      `json:"scope"`
	Kind      string      `json:"kind"`
	Measure   string      `json:"measure"`
	Limit     json.Number `json:"limit"`
	Spent     json.Number `json:"spent"`
	Remaining json.Number `json:"remaining"`
	DeltaMax  json.Number `json:"delta_limit"`
	Delta     json.Number `json:"delta_spent"`
}

func budget(b accountant.Balance) budgetRow {
	left := b.Limit.Pico() - b.Spent.Pico()
	return budgetRow{
		Scope: b.Scope.Name, Kind: string(b.Scope.Kind), Measure: b.Limit.Measure().String(),
		Limit: pico(b.Limit.Pico()), Spent: pico(b.Spent.Pico()), Remaining: pico(left),
		DeltaMax: json.Number(dp.Decimal(b.Limit.Atto(), 18)), Delta: json.Number(dp.Decimal(b.Spent.Atto(), 18)),
	}
}

func pico(n int64) json.Number { return json.Number(dp.Decimal(n, 12)) }

// empty answers a probe for columns with those columns and no rows.
func (a *answer) empty(ctx context.Context, m *wire.Mirror, b wire.Bound) (wire.Rewrite, error) {
	if shadowed, err := a.shadowed(ctx, m); err != nil || shadowed {
		return wire.Rewrite{Relay: true}, err
	}
	if len(b.Fields) == 0 {
		return wire.Rewrite{}, pgerr.New(pgerr.RowAccess, "rows of protected tables are not available")
	}
	var ask []string
	for _, f := range b.Fields {
		ask = append(ask, fmt.Sprintf("pg_catalog.format_type(%d, %d)", f.DataTypeOID, f.TypeModifier))
	}
	res, err := m.Query(ctx, "SELECT "+strings.Join(ask, ", "), nil, nil, nil, nil)
	if err != nil {
		return wire.Rewrite{}, err
	}
	if len(res.Rows) != 1 {
		return wire.Rewrite{}, errMirror
	}
	var cols []string
	for i, f := range b.Fields {
		cols = append(cols, "CAST(NULL AS "+string(res.Rows[0][i])+") AS "+parser.QuoteIdent(string(f.Name)))
	}
	sql := "SELECT " + strings.Join(cols, ", ") + " WHERE false"
	return wire.Rewrite{SQL: sql, Inline: sql}, nil
}
