package proxy

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/wire"
)

// This file holds the relations of the schema dp: views and a function on the mirror over
// settings of the session, which are filled when a statement mentions them. They tell an
// analyst of their own affairs, and cost nothing.

// A stateView is the execution of a statement that may read the relations of the schema dp.
type stateView struct{ *execution }

// show fills the settings, and runs the statement as it is.
func (s stateView) show(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	balances, err := s.p.cfg.Ledger.Balances(ctx)
	if err != nil {
		return wire.Rewrite{}, chargeError(err)
	}
	local, err := s.p.cfg.Surveys.Describe(ctx, s.analyst)
	if err != nil {
		return wire.Rewrite{}, err
	}
	mentions := strings.ToLower(s.text.stmt.Text)
	fill := map[string]any{"dp.state": append(s.budgetRows(balances), localBudgets(s.p, local)...)}
	if strings.Contains(mentions, "tables") {
		fill["dp.state_tables"] = append(s.tableRows(balances), localTables(s.p, local)...)
	}
	if strings.Contains(mentions, "published") {
		if fill["dp.state_published"], err = s.publishedRows(ctx, m); err != nil {
			return wire.Rewrite{}, err
		}
	}
	if strings.Contains(mentions, "columns") {
		fill["dp.state_columns"] = append(s.columnRows(), localColumns(local)...)
	}
	if strings.Contains(mentions, "history") {
		fill["dp.state_history"] = s.p.history.answered(s.analyst)
	}
	if strings.Contains(mentions, "last") {
		fill["dp.state_last"] = lastOf(s.session).last(ctx, s.p.cashier)
	}
	if strings.Contains(mentions, "plan") { // also where no text is known: none of before must be shown
		if fill["dp.state_plans"], err = s.plans(ctx, m, b); err != nil {
			return wire.Rewrite{}, err
		}
	}
	if strings.Contains(mentions, "local_") { // as above
		if fill["dp.state_estimates"], err = estimation(s).estimates(ctx, b); err != nil {
			return wire.Rewrite{}, err
		}
	}
	for name, rows := range fill {
		text, err := json.Marshal(rows)
		if err != nil {
			return wire.Rewrite{}, err
		}
		if _, err := m.Query(ctx, "SELECT pg_catalog.set_config($1, $2, false)", []uint32{25, 25}, [][]byte{[]byte(name), text},
			nil, nil); err != nil {
			return wire.Rewrite{}, err
		}
	}
	return wire.Rewrite{Relay: true}, nil
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
	Held      json.Number `json:"held"`
	Epsilon   *float64    `json:"epsilon"`
	Questions int64       `json:"questions"`
}

func (s stateView) budgetRows(balances []accountant.Balance) []budgetRow {
	var tables []string
	for t := range s.p.analyst(s.analyst).Tables {
		tables = append(tables, t.String())
	}
	rows := []budgetRow{}
	for _, b := range balances {
		names := visible(b.Scope.Kind, s.p.cashier.Names(b.Scope), s.analyst, tables)
		if len(names) == 0 {
			continue
		}
		rows = append(rows, budgetRow{
			Scope: strings.Join(names, ", "), Kind: string(b.Scope.Kind), Measure: b.Limit.Measure().String(),
			Limit: pico(b.Limit.Pico()), Spent: pico(b.Spent.Pico()), Remaining: pico(b.Remaining().Pico()),
			DeltaMax: json.Number(dp.Decimal(b.Limit.Atto(), 18)), Delta: json.Number(dp.Decimal(b.Spent.Atto(), 18)),
			Held: pico(b.Held.Pico()), Epsilon: epsilonLeft(b), Questions: s.p.questions(b),
		})
	}
	return rows
}

// visible returns the names of a budget that an analyst may see: the unit's, their own, and the tables that they may ask about; none if
// they may not see the budget.
func visible(kind accountant.ScopeKind, names []string, analyst string, tables []string) []string {
	switch kind {
	case accountant.UnitScope:
		return names
	case accountant.AnalystScope:
		tables = []string{analyst}
	case accountant.TableScope:
	case accountant.LocalScope: // is of each object, of which the ledger knows no loss: localBudgets
		return nil
	}
	return slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(tables, n) })
}

// usualDelta is the δ at which the rest of a budget of zCDP is shown as an ε.
const usualDelta = 1e-6

// epsilonLeft returns the rest of a budget as ε, at the usual δ.
func epsilonLeft(b accountant.Balance) *float64 {
	e, err := accountant.Odometer(b.Remaining(), usualDelta)
	if err != nil || math.IsInf(e, 0) || math.IsNaN(e) {
		return nil
	}
	return &e
}

// questions returns how many statements with the default epsilon fit the rest of a budget.
func (p *Proxy) questions(b accountant.Balance) int64 {
	typical := p.cfg.Defaults.EpsilonPico
	if b.Limit.Measure() == dp.ZCDP {
		e := float64(typical) / dp.PicoPerUnit
		typical = int64(e * e / 2 * dp.PicoPerUnit)
	}
	return b.Remaining().Pico() / max(typical, 1)
}

// tableRow is a row of dp.tables.
type tableRow struct {
	Schema        string      `json:"schema"`
	Name          string      `json:"name"`
	Unit          string      `json:"unit"`
	MaxRows       *int64      `json:"max_rows"`
	MaxPartitions *int64      `json:"max_partitions"`
	Contribution  string      `json:"contribution"`
	Measure       string      `json:"measure"`
	Spent         json.Number `json:"spent"`
	Held          json.Number `json:"held"`
	Remaining     json.Number `json:"remaining"`
	Epsilon       *float64    `json:"epsilon"`
	Questions     int64       `json:"questions"`
}

// tableRows describe the protected tables that the analyst may ask about, each with the
// budget of which the fewest questions are left.
func (s stateView) tableRows(balances []accountant.Balance) []tableRow {
	rows := []tableRow{}
	for _, t := range s.described() {
		row := tableRow{
			Schema: t.Name.Schema, Name: t.Name.Name, Unit: t.Unit, MaxRows: declared(max(t.MaxRows, t.AutoRows)),
			MaxPartitions: declared(t.MaxPartitions), Contribution: contribution(t), Questions: -1,
		}
		for _, scope := range s.scopes([]catalog.Name{t.Name}) {
			i := slices.IndexFunc(balances, func(b accountant.Balance) bool { return b.Scope == scope })
			if i < 0 {
				continue
			}
			if b := balances[i]; row.Questions < 0 || s.p.questions(b) < row.Questions {
				row.Measure, row.Spent = b.Limit.Measure().String(), pico(b.Spent.Pico())
				row.Held, row.Remaining = pico(b.Held.Pico()), pico(b.Remaining().Pico())
				row.Epsilon, row.Questions = epsilonLeft(b), s.p.questions(b)
			}
		}
		if row.Questions >= 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// contribution is how limits of contributions to statements about a table are found.
func contribution(t policy.TableDescription) string {
	if t.MaxRows > 0 {
		return planner.FixedContribution
	}
	return planner.ChosenContribution
}

// declared is a limit, nil if it is undeclared.
func declared(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// described lists the tables that the analyst may ask about.
func (s stateView) described() []policy.TableDescription {
	return slices.DeleteFunc(s.p.cfg.Catalog.Describe(),
		func(t policy.TableDescription) bool { return !s.p.analyst(s.analyst).Tables[t.Name] })
}

// columnRow is a row of dp.columns.
type columnRow struct {
	Schema string   `json:"schema"`
	Table  string   `json:"table"`
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	Low    *string  `json:"low"`
	High   *string  `json:"high"`
	Values []string `json:"values"`
}

func (s stateView) columnRows() []columnRow {
	rows := []columnRow{}
	for _, t := range s.described() {
		for _, c := range t.Columns {
			row := columnRow{Schema: t.Name.Schema, Table: t.Name.Name, Name: c.Name, Type: c.Type, Values: c.Values}
			row.Low, row.High = ends(c.Bounds)
			rows = append(rows, row)
		}
	}
	return rows
}

// planRow is a row of dp.plan: a line of EXPLAIN.
type planRow struct {
	Line  int     `json:"line"`
	Depth int     `json:"depth"`
	Item  string  `json:"item"`
	Value *string `json:"value"`
}

// plans explains the statements in calls of dp.plan, by their texts.
func (s stateView) plans(ctx context.Context, m *wire.Asker, b wire.BindRequest) (map[string][]planRow, error) {
	out := map[string][]planRow{}
	for _, call := range s.text.stmt.Plans {
		sql := call.Text
		if call.Param > 0 {
			if call.Param > len(b.Params) || b.Params[call.Param-1] == nil {
				continue
			}
			sql = string(b.Params[call.Param-1]) // a text is the same in both formats
		}
		lines, err := s.planOf(ctx, m, sql)
		if err != nil {
			return nil, withoutPosition(err)
		}
		out[sql] = lines
	}
	return out, nil
}

// planOf explains one statement.
func (s stateView) planOf(ctx context.Context, m *wire.Asker, sql string) ([]planRow, error) {
	texts, err := s.p.texts.get(parser.Text{SQL: sql})
	if err != nil {
		return nil, err
	}
	notOne := pgerr.New(pgerr.FeatureNotSupported, "dp.plan needs one query over protected tables, without parameters").WithHint(planHint)
	if len(texts) != 1 {
		return nil, notOne
	}
	inner := explanation{&execution{p: s.p, session: s.session, analyst: s.analyst, text: texts[0]}, texts[0].stmt.Verbose}
	switch texts[0].stmt.Class {
	case parser.Release, parser.Explain:
	case parser.Refused:
		return nil, texts[0].stmt.Refusal
	case parser.Relay:
		if texts[0].stmt.Survey == nil {
			return nil, noPlan(sql)
		}
		lines, err := forecast{surveying{inner.execution}}.lines(ctx, m, wire.BindRequest{})
		return planRows(lines), err
	case parser.Empty, parser.Set, parser.Execution:
		return nil, notOne
	}
	lines, shadowed, err := inner.explained(ctx, m, wire.BindRequest{})
	if err == nil && shadowed {
		err = notOne
	}
	return planRows(lines), err
}

// noPlan says why a statement that is left to Postgres has no plan: it has a mistake, or reads nothing that costs.
func noPlan(sql string) error {
	if message, at := parser.Mistake(sql); message != "" {
		return pgerr.New(pgerr.Syntax, "the statement of dp.plan does not parse: %s", message).
			WithDetail("It is at character %d of the statement.", at).WithHint(planHint)
	}
	return pgerr.New(pgerr.FeatureNotSupported, "the statement of dp.plan reads no protected table: it costs nothing").
		WithHint("EXPLAIN shows its plan. " + planHint)
}

// planHint says how dp.plan is called.
const planHint = "Write SELECT * FROM dp.plan($$SELECT count(*) FROM ...$$)."

// planRows reads the lines of EXPLAIN, of which each has its depth before it.
func planRows(lines []string) []planRow {
	const step = 4
	rows := []planRow{}
	for i, line := range lines {
		text := strings.TrimLeft(line, branches)
		row := planRow{Line: i + 1, Depth: (len([]rune(line)) - len([]rune(text)) + step - 1) / step, Item: text}
		if item, value, found := strings.Cut(text, ": "); found {
			row.Item, row.Value = item, &value
		}
		rows = append(rows, row)
	}
	return rows
}
