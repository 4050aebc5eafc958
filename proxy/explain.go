package proxy

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"dpproxy/dp"
	"dpproxy/parser/ast"
	"dpproxy/planner"
	"dpproxy/proxy/cashier"
	"dpproxy/wire"
)

// An explanation is the execution of EXPLAIN, or of EXPLAIN VERBOSE.
type explanation struct {
	*execution

	verbose bool
}

// explain answers EXPLAIN with the plan and its price, in the column that Postgres has for the
// format that is asked for. It reads and charges nothing.
func (x explanation) explain(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	lines, shadowed, err := x.explained(ctx, m, b)
	if err != nil || shadowed {
		return wire.Rewrite{Relay: true}, err
	}
	return planRewrite(lines, b)
}

// planRewrite is the statement that shows the lines of a plan.
func planRewrite(lines []string, b wire.BindRequest) (wire.Rewrite, error) {
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
	lines = wrapped(lines)
	cells := make([]*string, len(lines))
	for i := range lines {
		cells[i] = &lines[i]
	}
	return planner.ArrayText(cells), `SELECT * FROM pg_catalog.unnest(CAST(%s AS pg_catalog.text[])) AS "QUERY PLAN"`, nil
}

// planNode names the plan in a document of EXPLAIN, where Postgres has the type of a node.
const planNode = "Release"

// explained returns the lines of EXPLAIN; shadowed says that the statement is of other
// relations than the protected ones.
func (x explanation) explained(ctx context.Context, m *wire.Asker, b wire.BindRequest) (lines []string, shadowed bool, err error) {
	if x.answers == nil {
		x.execution = x.begun()
		defer func() {
			if err == nil {
				x.lent.end(x.text.plans)
			}
		}()
	}
	if x.text.stmt.Let != nil {
		return x.explainLet(ctx, x.text.stmt.Let, m, b)
	}
	analysed, err := x.resolve(ctx, m, wire.BindRequest{ParamOIDs: b.ParamOIDs})
	if err != nil {
		return explainReserve(ctx, x, m, b, err)
	}
	pre, err := x.prelude(ctx, m, analysed.query, b)
	if err != nil {
		return explainReserve(ctx, x, m, b, err)
	}
	if pre.shadowed {
		return nil, true, nil
	}
	patience, stop := pre.patience(ctx)
	defer stop()
	plan, err := x.planWithinBudget(patience, analysed, pre)
	if err != nil {
		return explainReserve(ctx, x, m, b, err)
	}
	known := x.recall(ctx, plan, pre)
	rest := plan.Rest(known.Left())
	bill := x.prepaid(ctx, x.bill(rest, known.Owed), rest, known, pre)
	costs, err := x.p.cashier.Costs(ctx, bill)
	if err != nil {
		bill.Rounds = false // nothing is reserved
		return nil, false, reserveError(bill, err)
	}
	x.p.consents.show(x.analyst, pre.asked, costs)
	if plan.Candidates == nil && plan.Reads() {
		plan = x.compared(patience, plan, analysed, pre)
	}
	if patience.Err() != nil { // others were not planned
		return nil, false, timely(context.Cause(patience))
	}
	told := *plan
	told.Standings, told.Replayed = known.Standings(), replayable(x.text.stmt, analysed.query, plan)
	if !pre.settings.Losses {
		told.PartOf = x.partOf(ctx, plan)
		costs = cashier.Shares(costs)
	}
	if lines = told.Explain(costs); x.verbose {
		lines = told.ExplainVerbose(costs)
	}
	for _, t := range x.outdated(plan) {
		lines = append(lines, olderCopy(t))
	}
	if said := wouldBePublic(plan); said != "" && x.part == nil {
		lines = append(lines, said)
	}
	if try := coarser(ctx, x.execution, plan, b.ParamOIDs); try != "" {
		lines = append(lines, "larger groups: Try: "+try+".")
	}
	return lines, false, nil
}

// partOf writes losses as parts of the budget that the plan would exhaust first, whatever of it is remembered; nil if no budget is known.
func (x explanation) partOf(ctx context.Context, plan *planner.Plan) func(dp.Loss) string {
	costs, err := x.p.cashier.Costs(ctx, x.bill(plan, nil))
	if err != nil {
		return nil // prices are written as losses
	}
	shares := cashier.Shares(costs)
	return func(l dp.Loss) string {
		of := slices.IndexFunc(shares, func(s planner.Cost) bool { return s.Loss.Measure() == l.Measure() && s.Limit.Pico() > 0 })
		if of < 0 {
			return ""
		}
		return cashier.Part(l, shares[of].Limit) + " % of " + shares[of].Of
	}
}

// compared returns the plan with its alternatives, within dp.epsilon: noise of either kind, and the chosen one, if that is
// neither.
func (x explanation) compared(ctx context.Context, plan *planner.Plan, analysed *analysed, pre *prelude) *planner.Plan {
	out := *plan
	names := []string{"gaussian", "laplace"}
	if !slices.Contains(names, plan.Mechanism) {
		names = append([]string{plan.Mechanism}, names...)
	}
	for _, name := range names {
		other := *pre
		if name != plan.Mechanism {
			other.settings.Mechanism = name
		}
		c := planner.Candidate{
			Mechanism: name, Note: "not possible in these budgets, or not allowed by the policy",
			Chosen: name == plan.Mechanism,
		}
		if p, err := x.plan(ctx, analysed, &other); err == nil {
			if loss, err := x.p.cashier.PriceIn(p.Event, x.scopes(p.Tables)[0]); err == nil {
				c = planner.Candidate{Mechanism: name, Loss: loss, Errors: p.ErrorsBefore(), Chosen: c.Chosen}
			}
		}
		out.Candidates = append(out.Candidates, c)
	}
	return &out
}
