package proxy

import (
	"context"
	"fmt"
	"strconv"

	"dpproxy/dp"
	"dpproxy/proxy/survey"
	"dpproxy/wire"
)

// A forecast is the execution of EXPLAIN of a statement that calls dp.survey.
type forecast struct{ surveying }

// explain forecasts a survey.
func (x forecast) explain(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	lines, err := x.lines(ctx, m, b)
	if err != nil {
		return wire.Rewrite{}, err
	}
	return planRewrite(lines, b)
}

// lines are those of the forecast. It reads nothing of the protected database, and is made of things that all analysts of the table may
// see: the policy, and the rows that the mirror shows.
func (x forecast) lines(ctx context.Context, m *wire.Asker, b wire.BindRequest) ([]string, error) {
	desk, call := x.p.cfg.Surveys, x.text.stmt.Survey
	q, err := desk.Understand(call, x.analyst)
	if err != nil {
		return nil, err
	}
	f, err := desk.Forecast(ctx, q)
	if err != nil {
		return nil, err
	}
	if where := q.Where(); where != "" && f.Seen {
		if err := x.count(ctx, m, f, where); err != nil {
			return nil, err
		}
	}
	x.p.consents.show(x.analyst, askedBy(x.text.stmt.InnerText(), b), nil)
	return forecastLines(f), nil
}

// count counts the rows that meet the condition, in the analyst's own session: what the mirror shows, they may read.
func (forecast) count(ctx context.Context, m *wire.Asker, f *survey.Forecast, where string) error {
	res, err := m.Query(ctx, fmt.Sprintf(
		"SELECT pg_catalog.count(*), pg_catalog.count(*) FILTER (WHERE remaining OPERATOR(pg_catalog.>=) %s) FROM %s WHERE (%s)",
		dp.Decimal(f.EpsilonPico(), 12), f.Table, where), nil, nil, nil, []int16{0, 0})
	if err != nil {
		return err
	}
	if len(res.Rows) != 1 || len(res.Rows[0]) != 2 {
		return fmt.Errorf("proxy: a count of objects has %d rows", len(res.Rows))
	}
	if f.Objects, err = strconv.Atoi(string(res.Rows[0][0])); err == nil {
		f.Able, err = strconv.Atoi(string(res.Rows[0][1]))
	}
	return err
}

// forecastLines writes a forecast as the tree of EXPLAIN.
func forecastLines(f *survey.Forecast) []string {
	epsilon := dp.Decimal(f.EpsilonPico(), 12)
	kind, mechanism := f.Mechanism()
	lines := []string{"survey of " + f.String(), "├─ question: " + kind, "├─ mechanism: " + mechanism}
	if f.Where() != "" {
		lines = append(lines, "├─ condition: "+f.Where())
	}
	if f.Known {
		return append(lines, "└─ cost: none, it was asked before, and its answers stay")
	}
	asked, able := "├─ asked: all objects, of which no survey has seen one yet", ""
	if f.Seen {
		asked = fmt.Sprintf("├─ asked: %d objects as of the last survey, and those that have appeared since", f.Objects)
		able = fmt.Sprintf("├─ can answer: %d of these", f.Able)
		if f.Never {
			able += " surely, and others whose losses stay within the budget whatever they answer"
		}
	}
	if f.EpsilonPico() > f.Budget.EpsilonPico {
		able = "├─ can answer: none"
	}
	lines = append(lines, asked)
	if able != "" {
		lines = append(lines, able)
	}
	loss := "ε=" + epsilon
	if f.Never {
		loss = "at most " + loss
	}
	budget := dp.Decimal(f.Budget.EpsilonPico, 12)
	return append(lines, fmt.Sprintf("├─ cost: %s of each object that answers, for ever, of a budget of %s", loss, budget),
		"└─ budgets of aggregates: nothing")
}
