package proxy

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/planner"
	"dpproxy/planner/scalar"
	"dpproxy/planner/work"
	"dpproxy/wire"
)

// listKeys asks the mirror for the public values of grouping keys, once the constants are known, and appends the answers to these. They
// follow from the statement, its constants and the policy, so they are asked for once.
func listKeys(ctx context.Context, e *execution, m *wire.Asker, q *planner.Query, p *prelude) error {
	key := newPlanKey(q, p.values, planner.Settings{})
	if known, ok := e.text.lists.get(key); ok {
		p.values = slices.Concat(p.values, known)
		return nil
	}
	patience, stop := p.patience(ctx)
	defer stop()
	asked, err := q.Lists(work.New(patience, work.Most), p.values)
	if err != nil {
		return timely(err)
	}
	answers, size := make([]scalar.Value, len(asked)), 0
	for _, concealed := range []bool{false, true} {
		row, err := listed(ctx, e, m, q, p, asked, concealed)
		if err != nil {
			return err
		}
		for i, cell := range row {
			if cell != nil {
				answers[i].Bytes, size = slices.Clone(cell), size+len(cell)
			}
		}
	}
	e.text.lists.add(key, answers, size)
	p.values = slices.Concat(p.values, answers)
	return nil
}

// listed asks for the lists of blocks that analysts may see in their own session, and for those of others in one of ours.
func listed(
	ctx context.Context, e *execution, m *wire.Asker, q *planner.Query, p *prelude, asked []planner.Listing, concealed bool,
) (row [][]byte, err error) {
	sql := planner.ListsSQL(asked, concealed)
	if sql == "" {
		return nil, nil
	}
	params, oids, formats := q.Parameters(p.values, concealed)
	if concealed {
		err := e.aside(ctx, p, func(conn *pgconn.PgConn) error {
			res := conn.ExecParams(ctx, sql, params, oids, formats, nil).Read()
			if res.Err == nil {
				row = res.Rows[0]
			}
			return res.Err
		}, nil)
		return row, err
	}
	res, err := m.Query(ctx, sql, oids, params, formats, nil)
	if err != nil {
		return nil, err
	}
	if len(res.Rows) != 1 {
		return nil, errMirror
	}
	return res.Rows[0], nil
}
