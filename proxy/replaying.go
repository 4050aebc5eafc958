package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/estimate"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/pgtype"
	"dpproxy/proxy/replay"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// A replaying evaluates the client's own query over replicas of its released relations, in the client's session on the mirror.
type replaying struct {
	*execution
	asker *wire.Asker
	of    *replay.Statement
	bound wire.BindRequest
}

// replayed adds errors to the account: of the columns that a SELECT computes above its released relations, and that have none by a formula.
// It returns what puts them into the text of the answer as well, where columns keep places for them.
func replayed(
	ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest, q *planner.Query, plan *planner.Plan,
	released [][]*planner.Released, pre *prelude,
) (put func(sql string) string, err error) {
	stmt, names, last := e.text.stmt, planner.Unexplained(plan), stateOf(e.session).last
	put = func(sql string) string { return sql }
	places := slices.DeleteFunc(slices.Clone(stmt.ErrorPlaces), func(p parser.ErrorPlace) bool { return !slices.Contains(names, p.Of) })
	if len(names) == 0 || last == nil || stmt.Form != parser.Query ||
		pre.settings.Notice == settings.Silence && len(places) == 0 {
		return put, nil
	}
	e.enter(stepReplay)
	of, ok := replay.NewStatement(stmt, q, plan)
	if !ok || len(of.Columns()) != len(b.Fields) {
		return put, nil
	}
	r := &replaying{e, m, of, b}
	result, err := r.evaluate(ctx, plan, replay.NewReplicas(plan, released), estimate.FewestReplicas(1-pre.settings.Confidence))
	if err != nil || result == nil {
		return put, err
	}
	account, ok := of.Account(result, numbersOf(b.Fields), 1-pre.settings.Confidence)
	if !ok {
		return put, nil
	}
	own := *last // others may read the one of the history
	cut := slices.ContainsFunc(planner.Errors(plan, released), func(e planner.ErrorBar) bool { return e.Beyond > 0 })
	own.replay(account, names, cut)
	setLast(e.session, &own)
	if cut || len(places) == 0 {
		return put, nil
	}
	return func(sql string) string { return of.WithErrors(sql, namesOf(b.Fields), places, account) }, nil
}

// evaluate returns the rows of the query over the replicas, by the mirror; nil if it evaluates none.
func (r *replaying) evaluate(ctx context.Context, plan *planner.Plan, replicas *replay.Replicas, fewest int) ([]byte, error) {
	cells, ok := r.of.Cells(plan, replicas, fewest)
	if !ok {
		return nil, nil
	}
	literals, err := r.literals(ctx)
	if err != nil {
		return nil, err
	}
	arguments := [][]byte{
		[]byte(r.of.SQL(literals, cells)), []byte(cells.Text),
		[]byte(planner.ArrayText(pointers(r.of.Calls()))), []byte(planner.ArrayText(pointers(r.of.Names()))),
	}
	res, err := r.asker.Query(ctx, replay.Prepare, []uint32{pgtype.Text, pgtype.Text, pgtype.Text, pgtype.Text}, arguments, nil, nil)
	if err != nil || len(res.Rows) != 1 || string(res.Rows[0][0]) != "t" {
		return nil, err
	}
	if _, err := r.asker.Query(ctx, replay.Block, nil, nil, nil, nil); err != nil {
		return nil, err
	}
	res, err = r.asker.Query(ctx, replay.Fetch, nil, nil, nil, nil)
	if err != nil || len(res.Rows) != 1 {
		return nil, err
	}
	return slices.Clone(res.Rows[0][0]), nil
}

func pointers(texts []string) (all []*string) {
	for _, t := range texts {
		all = append(all, &t)
	}
	return all
}

// literals writes the client's parameters as literals of their types.
func (r *replaying) literals(ctx context.Context) (all []string, err error) {
	if len(r.bound.ParamOIDs) == 0 {
		return nil, nil
	}
	var columns []string
	for i, oid := range r.bound.ParamOIDs {
		columns = append(columns, fmt.Sprintf(
			"'CAST(' || pg_catalog.quote_nullable(CAST($%d AS pg_catalog.text)) || ' AS ' || pg_catalog.format_type(%d, NULL) || ')'",
			i+1, oid))
	}
	res, err := r.asker.Query(ctx, "SELECT "+strings.Join(columns, ", "), r.bound.ParamOIDs, r.bound.Params, r.bound.Formats, nil)
	if err != nil {
		return nil, err
	}
	if len(res.Rows) != 1 {
		return nil, errors.New("proxy: parameters have no texts")
	}
	for _, text := range res.Rows[0] {
		all = append(all, string(text))
	}
	return all, nil
}

func namesOf(fields []pgproto3.FieldDescription) (all []string) {
	for _, f := range fields {
		all = append(all, string(f.Name))
	}
	return all
}

// numbersOf says which columns have texts that are numbers.
func numbersOf(fields []pgproto3.FieldDescription) (all []bool) {
	for _, f := range fields {
		t, ok := pgtype.OfParameter(f.DataTypeOID)
		all = append(all, ok && t.Number() && !t.Array)
	}
	return all
}
