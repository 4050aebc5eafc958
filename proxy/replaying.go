package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

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
// It returns what puts all that is known of errors into the text of the answer as well, where columns keep places for it.
func replayed(
	ctx context.Context, e *execution, m *wire.Asker, b wire.BindRequest, q *planner.Query, plan *planner.Plan,
	released [][]*planner.Released, pre *prelude,
) (put func(sql string) string, err error) {
	stmt, names := e.text.stmt, planner.Unexplained(plan)
	f := &filling{fields: b.Fields, places: stmt.ErrorPlaces, replayed: map[string]string{}, known: map[string][]planner.KnownError{}}
	if stmt.Form != parser.Query {
		return f.put, nil
	}
	for _, p := range f.places {
		if !p.Formula && !slices.Contains(names, p.Of) {
			f.known[p.Of] = planner.KnownErrors(plan, released, p.Of)
		}
	}
	unexplained := func(p parser.ErrorPlace) bool { return slices.Contains(names, p.Of) }
	if len(names) == 0 || stateOf(e.session).last == nil ||
		pre.settings.Notice == settings.Silence && !slices.ContainsFunc(f.places, unexplained) {
		return f.put, nil
	}
	e.enter(stepReplay)
	of, ok := replay.NewStatement(stmt, q, plan)
	if !ok || len(of.Columns()) != len(b.Fields) {
		return f.put, nil
	}
	f.of = of
	account, known, err := (&replaying{e, m, of, b}).account(ctx, plan, released, 1-pre.settings.Confidence, pre.timeout)
	if err != nil || account == nil {
		return f.put, err
	}
	own := *stateOf(e.session).last // others may read the one of the history
	own.replay(*account, names, !known)
	e.p.history.restate(e.analyst, &own)
	setLast(e.session, &own)
	if known {
		for _, name := range names {
			f.replayed[name] = account.ErrorsOf(name)
		}
	}
	return f.put, nil
}

// replayable names the columns of a statement whose errors are found by replays, as far as its text tells. A replay that would take long,
// or calls a function of the session's own, states none of them.
func replayable(stmt *parser.Statement, q *planner.Query, plan *planner.Plan) (names []string) {
	of, ok := replay.NewStatement(stmt, q, plan)
	if !ok || stmt.Form != parser.Query && stmt.Explained != parser.Query || len(planner.Unexplained(plan)) == 0 {
		return nil
	}
	return of.Replayed()
}

// account replays the query; nil if no error follows from that, or replicas would be drawn for longer than a statement_timeout. known is
// false if limits may leave out more than can be told.
func (r *replaying) account(
	ctx context.Context, plan *planner.Plan, released [][]*planner.Released, alpha float64, timeout time.Duration,
) (a *replay.Account, known bool, err error) {
	replicas := replay.NewReplicas(plan, released)
	within, stop := patience(ctx, timeout)
	defer stop()
	cells, ok := r.of.Cells(within, time.Now, replicas, alpha)
	if !ok {
		return nil, false, context.Cause(ctx) // nil if it has not ended
	}
	result, err := r.evaluate(ctx, cells)
	if err != nil || result == nil {
		return nil, false, err
	}
	account, ok := r.of.Account(result, numbersOf(r.bound.Fields), cells, alpha)
	if !ok {
		return nil, false, nil
	}
	return &account, !cells.Untold, nil
}

// evaluate returns the rows of the query over the replicas, by the mirror; nil if it evaluates none.
func (r *replaying) evaluate(ctx context.Context, cells replay.Cells) ([]byte, error) {
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

// numbersOf says which columns have texts that are numbers, and how these are shown.
func numbersOf(fields []pgproto3.FieldDescription) (all []replay.Shown) {
	for _, f := range fields {
		shown := replay.NoNumber
		if t, ok := pgtype.OfParameter(f.DataTypeOID); ok && t.Number() && !t.Array {
			shown = replay.Exact
		}
		switch f.DataTypeOID {
		case pgtype.Float4:
			shown = replay.Single
		case pgtype.Float8:
			shown = replay.Double
		}
		all = append(all, shown)
	}
	return all
}
