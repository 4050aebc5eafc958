package proxy

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// This file holds computations of views whose definition is not shown: of their constants,
// and of the rows of views that aggregate, of which a part of the query is left around
// their blocks.

// leavesSession reports whether a part of a query is computed in a session of our own.
func leavesSession(q *planner.Query) bool {
	return q.Concealed() > 0 || hasConcealedFolds(q) || q.ConcealsLists()
}

func hasConcealedFolds(q *planner.Query) bool {
	return slices.ContainsFunc(q.Folds(), func(f scalar.Fold) bool { return f.Concealed })
}

// concealedValues computes the constants that are concealed, of which some name the values
// of the others.
func (e *execution) concealedValues(ctx context.Context, q *planner.Query, p *prelude) error {
	if !hasConcealedFolds(q) {
		return nil
	}
	folds := q.Folds()
	if err := q.Check(p.values); err != nil {
		return err
	}
	var cols []string
	var results []int16
	params, oids, formats := make([][]byte, len(folds)), make([]uint32, len(folds)), make([]int16, len(folds))
	for i, f := range folds {
		if f.Concealed {
			cols, results = append(cols, "("+f.SQL+")"), append(results, f.Format())
			oids[i] = pgtype.Bool // nobody names it
			continue
		}
		params[i], oids[i], formats[i] = p.values[i].Bytes, p.values[i].OID, f.Format()
		if p.values[i].OID >= pgtype.FirstUser { // one of the analyst's own, perhaps: its input calls functions of theirs
			oids[i] = pgtype.Text
		}
	}
	return e.aside(ctx, p, func(conn *pgconn.PgConn) error {
		res := conn.ExecParams(ctx, "SELECT "+strings.Join(cols, ", "), params, oids, formats, results).Read()
		if res.Err != nil {
			return res.Err
		}
		next := 0
		for i, f := range folds {
			if f.Concealed {
				d := res.FieldDescriptions[next]
				p.values[i] = scalar.Value{OID: d.DataTypeOID, Binary: d.Format == 1, Bytes: slices.Clone(res.Rows[0][next])}
				next++
			}
		}
		return nil
	}, nil)
}

// describeConcealed proves, before the charge, that the views that are left in the rewritten
// statement have the columns that they have on the mirror.
func (e *execution) describeConcealed(ctx context.Context, q *planner.Query, p *prelude) error {
	if q.Concealed() == 0 {
		return nil
	}
	return e.aside(ctx, p, func(conn *pgconn.PgConn) error {
		for i := range q.Concealed() {
			view := e.text.stmt.Concealed[i].Resolved
			got, err := conn.Prepare(ctx, "", concealedSQL(e.text.stmt, q, i, func(int, int) string { return "NULL" }), nil)
			if err != nil {
				return err
			}
			want, err := conn.Prepare(ctx, "", "SELECT * FROM "+ast.QuoteIdent(view.Schema)+"."+ast.QuoteIdent(view.Name), nil)
			if err != nil {
				return err
			}
			if !slices.EqualFunc(got.Fields, want.Fields, func(x, y pgconn.FieldDescription) bool {
				return x.Name == y.Name && x.DataTypeOID == y.DataTypeOID && x.TypeModifier == y.TypeModifier
			}) {
				return errors.New("proxy: the query of a view has other columns than the view")
			}
		}
		return nil
	}, nil)
}

// concealedSQL writes the rest of the query of a view.
func concealedSQL(st *parser.Statement, q *planner.Query, view int, array func(block, column int) string) string {
	return "SELECT * FROM " + st.ConcealedQuery(view, func(block int) string {
		return q.Relation(block, func(col int) string { return array(block, col) })
	}) + " AS v"
}

// concealedRows returns the rows of such views, as the arrays of their columns' texts. The
// cursor is filled with the settings of the analyst's session and read without them, so that
// the texts mean the same in any.
func (e *execution) concealedRows(ctx context.Context, q *planner.Query, p *prelude, released [][]string) ([][]string, error) {
	out := make([][]string, q.Concealed())
	for i := range out {
		sql := concealedSQL(e.text.stmt, q, i, func(block, col int) string { return ast.Quote(released[block][col]) })
		err := e.aside(ctx, p, func(conn *pgconn.PgConn) error {
			if _, err := conn.Exec(ctx, "CLOSE ALL").ReadAll(); err != nil {
				return err
			}
			// The extended protocol takes one statement.
			return conn.ExecParams(ctx, "DECLARE dp NO SCROLL CURSOR WITH HOLD FOR "+sql, nil, nil, nil, nil).Read().Err
		}, func(conn *pgconn.PgConn) error {
			results, err := conn.Exec(ctx, "FETCH ALL FROM dp; CLOSE dp").ReadAll()
			if err == nil {
				out[i] = arraysOf(results[0])
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// arraysOf returns the columns of a result as arrays.
func arraysOf(r *pgconn.Result) []string {
	out := make([]string, len(r.FieldDescriptions))
	for i := range out {
		cells := make([]*string, len(r.Rows))
		for j, row := range r.Rows {
			if row[i] != nil {
				text := string(row[i])
				cells[j] = &text
			}
		}
		out[i] = planner.ArrayText(cells)
	}
	return out
}

// aside runs f, and then after, in such a session.
func (e *execution) aside(ctx context.Context, p *prelude, f, after func(*pgconn.PgConn) error) error {
	limit := e.p.cfg.Defaults.Timeout
	return e.concealedError(ctx, e.p.cfg.Aside.runAs(ctx, e.analyst, p.carried, limit, f, after))
}

// concealedError says that something failed, and gives no cause: the mirror's words could quote it.
func (e *execution) concealedError(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !ok:
		return err
	}
	e.p.cfg.Log.Error("what a view holds cannot be computed", "analyst", e.analyst, "code", refused.Code,
		"to do", "dpproxy sync, if the mirror is of an earlier version")
	return pgerr.New(pgerr.FeatureNotSupported, "what the definition of a view holds cannot be computed").
		WithHint("Ask the administrator: the definition is not shown.")
}
