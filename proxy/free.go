package proxy

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"dpproxy/accountant"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// This file holds the statements that cost nothing: refused ones, EXPLAIN,
// dp.budget, and the probes of tools that ask for columns and no rows.

// refuse raises what the parser found, unless the names mean other relations in
// this session, such as temporary tables.
func (a *answer) refuse(ctx context.Context, m *wire.Asker, _ wire.BindRequest) (wire.Rewrite, error) {
	shadowed, err := a.shadowed(ctx, m)
	if err != nil || shadowed {
		return wire.Rewrite{Relay: true}, err
	}
	return wire.Rewrite{}, a.text.stmt.Refusal
}

// refuseRows refuses a statement that asks for rows of protected tables, unless the
// session wants none in their place.
func (a *answer) refuseRows(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	s, err := a.rowSettings(ctx, m)
	switch {
	case err != nil:
		return wire.Rewrite{}, err
	case s.NoRows:
		return a.withoutRows(ctx, m, b, s.Notices)
	}
	return a.refuse(ctx, m, b)
}

// rowSettings reads the settings that say what becomes of a statement that asks for rows.
func (a *answer) rowSettings(ctx context.Context, m *wire.Asker) (*settings.Settings, error) {
	names := []string{"rows", "notice"}
	res, err := m.Query(ctx, "SELECT pg_catalog.current_setting('dp.rows', true), pg_catalog.current_setting('dp.notice', true)", nil, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	if len(res.Rows) != 1 {
		return nil, errMirror
	}
	s := &settings.Settings{Notices: true}
	for i, name := range names {
		if err := s.Parse(name, string(res.Rows[0][i])); err != nil {
			return nil, err
		}
	}
	if err := s.ReadComments(a.text.stmt); err != nil {
		return nil, err
	}
	return s, nil
}

// withoutRows answers a statement that asks for rows of protected tables with its columns
// and none, for tools that read a row to learn the columns. It looks at nothing but the
// statement: the answer is the same whatever the tables hold.
func (a *answer) withoutRows(ctx context.Context, m *wire.Asker, b wire.BindRequest, notice bool) (wire.Rewrite, error) {
	if len(b.Fields) == 0 {
		d, err := m.DescribeOwn(ctx, a.text.stmt.Text, b.ParamOIDs)
		if err != nil {
			return wire.Rewrite{}, err
		}
		b.Fields = d.Fields
	}
	rw, err := a.empty(ctx, m, b)
	if err == nil && notice && !rw.Relay {
		rw.Notices = append(rw.Notices, wire.Notice{Message: a.text.stmt.Refusal.Message + ": none are shown"})
	}
	return rw, err
}

// shadowed asks the session what the statement's names mean.
func (a *answer) shadowed(ctx context.Context, m *wire.Asker) (bool, error) {
	tables := a.text.stmt.Named()
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

// skipped asks the session whether Postgres runs nothing of CREATE TABLE IF NOT EXISTS AS:
// the table is there, in the schema in which it would be made.
func (a *answer) skipped(ctx context.Context, m *wire.Asker) (bool, error) {
	t := a.text.stmt.Unless
	if t == nil {
		return false, nil
	}
	schema := "pg_catalog.quote_ident(pg_catalog.current_schema())"
	if t.Schema != "" {
		schema = ast.Quote(ast.QuoteIdent(t.Schema))
	}
	res, err := m.Query(ctx, "SELECT pg_catalog.to_regclass("+schema+" OPERATOR(pg_catalog.||) "+
		ast.Quote("."+ast.QuoteIdent(t.Name))+") IS NOT NULL", nil, nil, nil, nil)
	if err != nil {
		return false, err
	}
	if len(res.Rows) != 1 {
		return false, errMirror
	}
	return string(res.Rows[0][0]) == "t", nil
}

// explain answers EXPLAIN with the plan and its price, in the column that Postgres has for the
// format that is asked for. It reads and charges nothing.
func (a *answer) explain(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	lines, shadowed, err := a.explained(ctx, m, b)
	if err != nil || shadowed {
		return wire.Rewrite{Relay: true}, err
	}
	text, sql, err := planText(lines, b.Fields)
	if err != nil {
		return wire.Rewrite{}, err
	}
	return wire.Rewrite{
		SQL:       fmt.Sprintf(sql, "$"+strconv.Itoa(len(b.ParamOIDs)+1)),
		Extra:     [][]byte{[]byte(text)},
		ExtraOIDs: []uint32{0},
		Inline:    fmt.Sprintf(sql, ast.Quote(text)),
		Tag:       "EXPLAIN",
	}, nil
}

// planText writes the lines of a plan as a value for the column that EXPLAIN has, and the
// statement that shows it: a row for each line, or one document.
func planText(lines []string, fields []pgproto3.FieldDescription) (text, sql string, err error) {
	format := uint32(pgtype.TextOID)
	if len(fields) == 1 {
		format = fields[0].DataTypeOID
	}
	switch format {
	case pgtype.JSONOID:
		type plan struct {
			Node  string   `json:"Node Type"`
			Lines []string `json:"Lines"`
		}
		document, err := json.MarshalIndent([]map[string]plan{{"Plan": {Node: planNode, Lines: lines}}}, "", "  ")
		return string(document), `SELECT CAST(%s AS pg_catalog.json) AS "QUERY PLAN"`, err
	case pgtype.XMLOID:
		type plan struct {
			XMLName xml.Name `xml:"http://www.postgresql.org/2009/explain explain"`
			Node    string   `xml:"Query>Plan>Node-Type"`
			Lines   []string `xml:"Query>Plan>Lines>Item"`
		}
		document, err := xml.MarshalIndent(plan{Node: planNode, Lines: lines}, "", "  ")
		return string(document), `SELECT CAST(%s AS pg_catalog.xml) AS "QUERY PLAN"`, err
	}
	cells := make([]*string, len(lines))
	for i := range lines {
		cells[i] = &lines[i]
	}
	return planner.ArrayText(cells), `SELECT * FROM pg_catalog.unnest(CAST(%s AS pg_catalog.text[])) AS "QUERY PLAN"`, nil
}

// planNode is what a document of EXPLAIN calls the plan, where Postgres has the type of a node.
const planNode = "Release"

// explained returns the lines of EXPLAIN; shadowed says that the statement is of other
// relations than the protected ones.
func (a *answer) explained(ctx context.Context, m *wire.Asker, b wire.BindRequest) (lines []string, shadowed bool, err error) {
	analysed, err := a.analyse(wire.BindRequest{ParamOIDs: b.ParamOIDs})
	if err != nil {
		return nil, false, err
	}
	pre, err := a.prelude(ctx, m, analysed.query, b)
	if err != nil || pre.shadowed {
		return nil, err == nil, err
	}
	plan, err := a.affordable(ctx, analysed, pre)
	if err != nil {
		return nil, false, err
	}
	var known *known
	if plan.Chained() != 0 {
		known = a.recallChains(ctx, plan, pre).known
	} else {
		known = a.recall(ctx, plan, pre.values)
	}
	costs, err := a.costs(ctx, plan.Rest(known.blocks()), known)
	if err != nil {
		return nil, false, err
	}
	if plan.Candidates == nil && plan.Reads() {
		plan = a.compared(plan, analysed, pre)
	}
	return plan.Explain(costs), false, nil
}

// compared returns the plan with what else it could have been: with what dp.epsilon allows,
// noise of either kind.
func (a *answer) compared(plan *planner.Plan, analysed *analysed, pre *prelude) *planner.Plan {
	out := *plan
	for _, name := range []string{"gaussian", "laplace"} {
		other := *pre
		other.settings.Mechanism = name
		c := planner.Candidate{Mechanism: name, Note: "not possible in these budgets, or not allowed by the policy", Chosen: name == plan.Mechanism}
		if p, err := a.plan(analysed, &other); err == nil {
			if loss, err := a.p.prices.price(p.Event, a.p.measures[a.p.scopes(a.analyst, p.Tables)[0]]); err == nil {
				c = planner.Candidate{Mechanism: name, Loss: loss, Errors: []planner.ErrorBar{}, Chosen: c.Chosen}
				for _, b := range p.Blocks {
					c.Errors = append(c.Errors, b.Errors(nil)...)
				}
			}
		}
		out.Candidates = append(out.Candidates, c)
	}
	return &out
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
		if err == nil && len(balances) != 1 {
			err = accountant.ErrUnavailable
		}
		if err != nil {
			return nil, chargeError(err)
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

// empty answers a probe for columns with those columns and no rows.
func (a *answer) empty(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
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
		cols = append(cols, "CAST(NULL AS "+string(res.Rows[0][i])+") AS "+ast.QuoteIdent(string(f.Name)))
	}
	sql := "SELECT " + strings.Join(cols, ", ") + " WHERE false"
	return wire.Rewrite{SQL: sql, Inline: sql}, nil
}
