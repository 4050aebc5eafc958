package proxy

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// This file holds EXECUTE. Its prepared statement is known to the session alone: the mirror is
// asked for the text, and for the values of the arguments, and then the statement
// goes the way of a Bind with these values.

// preparedSQL asks for a prepared statement: its text, and the types of its
// parameters by OID and by a name that says the same under any search_path. The text
// comes in the first row alone.
const preparedSQL = `SELECT CASE WHEN u.place OPERATOR(pg_catalog.>) 1 THEN NULL ELSE p.statement END, p.from_sql,
CAST(u.type AS pg_catalog.oid), pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(t.typname))
FROM pg_catalog.pg_prepared_statements AS p
LEFT JOIN LATERAL pg_catalog.unnest(p.parameter_types) WITH ORDINALITY AS u(type, place) ON true
LEFT JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) CAST(u.type AS pg_catalog.oid)
LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
WHERE p.name OPERATOR(pg_catalog.=) $1
ORDER BY u.place`

// prepared is a prepared statement of the session.
type prepared struct {
	text  *text
	oids  []uint32
	types []string
}

// An executeStatement is the execution of EXECUTE.
type executeStatement struct{ *execution }

// run runs EXECUTE. A statement that is not protected runs as the client wrote it.
func (e executeStatement) run(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	x := e.text.stmt.Execute
	relay := wire.Rewrite{Relay: true}
	if skipped, err := skips(ctx, m, e.text.stmt); err != nil || skipped {
		return relay, err
	}
	st, err := e.prepared(ctx, m, x)
	if err != nil || st == nil || len(st.oids) > 0 && len(st.oids) != len(x.Args) {
		return relay, withoutPosition(err) // Postgres refuses the rest
	}
	if class := st.text.stmt.Class; class == parser.Release || class == parser.Refused {
		if err := settings.RefuseComments(e.text.stmt); err != nil {
			return wire.Rewrite{}, err
		}
	}
	inner := preparedQuery{&execution{p: e.p, session: e.session, analyst: e.analyst, text: st.text}, st}
	rw := relay
	switch st.text.stmt.Class {
	case parser.Release:
		rw, err = inner.run(ctx, m, e.text.stmt, b)
	case parser.Refused:
		if st.text.stmt.OnlyRows && !x.Explained && !x.Created {
			rw, err = refusal{inner.execution}.refuseRows(ctx, m, b)
		} else {
			rw, err = refusal{inner.execution}.refuse(ctx, m, b)
		}
	case parser.Empty:
		if !x.Explained && !x.Created {
			rw, err = probe{inner.execution}.empty(ctx, m, b)
		}
	case parser.Relay:
		if mentionsState(st.text.stmt.Text) {
			rw, err = stateView{inner.execution}.show(ctx, m, b)
		}
	case parser.Explain, parser.Set, parser.Execution: // none of them can be prepared
	}
	return rw, withoutPosition(err)
}

// withoutPosition takes the position out of an error: it counts in the text of PREPARE.
func withoutPosition(err error) error {
	if own, ok := errors.AsType[*pgerr.Error](err); ok {
		moved := *own
		moved.Position = 0
		return &moved
	}
	return err
}

// prepared looks a statement up. It is nil if there is none, or if its text does not
// tell its kind.
func (e executeStatement) prepared(ctx context.Context, m *wire.Asker, x *parser.Execute) (*prepared, error) {
	res, err := m.Query(ctx, preparedSQL, []uint32{pgtype.TextOID}, [][]byte{[]byte(x.Name)}, nil, nil)
	if err != nil || len(res.Rows) == 0 {
		return nil, err
	}
	sql, ok := string(res.Rows[0][0]), true
	if string(res.Rows[0][1]) == "t" {
		sql, ok = parser.PreparedText(sql, x.Name)
	}
	if !ok {
		return nil, nil //nolint:nilnil // the mirror refuses it if it is protected
	}
	texts, err := e.p.texts.get(parser.Text{SQL: sql})
	if err != nil || len(texts) != 1 {
		return nil, err
	}
	st := &prepared{text: texts[0]}
	for _, row := range res.Rows {
		if row[2] == nil {
			break // it has no parameters
		}
		oid, err := strconv.ParseUint(string(row[2]), 10, 32)
		if err != nil {
			return nil, err
		}
		st.oids, st.types = append(st.oids, uint32(oid)), append(st.types, string(row[3]))
	}
	return st, nil
}

// A preparedQuery is the execution of a prepared statement over protected tables.
type preparedQuery struct {
	*execution

	prepared *prepared
}

// run releases a prepared statement, or explains the cost of that.
func (e preparedQuery) run(ctx context.Context, m *wire.Asker, outer *parser.Statement, b wire.BindRequest) (wire.Rewrite, error) {
	st := e.prepared
	x := outer.Execute
	if x.Measured {
		return wire.Rewrite{}, pgerr.New(pgerr.NotAllowed, "EXPLAIN ANALYZE of protected data is not allowed").
			WithHint("Use EXPLAIN without ANALYZE: it shows the privacy plan and its cost.")
	}
	bound := wire.BindRequest{Fields: b.Fields, ParamOIDs: st.oids}
	var err error
	if bound.Params, err = arguments(ctx, m, x, st); err != nil {
		return wire.Rewrite{}, err
	}
	if len(st.oids) > 0 {
		bound.Formats = []int16{1}
	}
	var rw wire.Rewrite
	switch {
	case x.Explained:
		rw, err = explanation{e.execution, x.Verbose}.explain(ctx, m, bound)
	case x.Created:
		rw, err = e.created(ctx, m, outer, bound)
	default:
		bound.Asked = e.text.stmt.Text
		rw, err = keep(ctx, e.execution, m, bound)
	}
	if err != nil || rw.Relay || len(st.oids) == 0 {
		return rw, err
	}
	// The arguments go before the released relations, in the places of $1, $2, ...
	rw.ExtraFormats = append(slices.Repeat([]int16{1}, len(st.oids)), make([]int16, len(rw.Extra))...)
	rw.Extra = slices.Concat(bound.Params, rw.Extra)
	rw.ExtraOIDs = slices.Concat(st.oids, rw.ExtraOIDs)
	rw.Inline = ""
	return rw, nil
}

// created releases a prepared query into a table: in CREATE TABLE AS, the rewritten query
// stands for EXECUTE. With NO DATA the query itself does, of which Postgres takes the columns.
func (e preparedQuery) created(ctx context.Context, m *wire.Asker, outer *parser.Statement, b wire.BindRequest) (wire.Rewrite, error) {
	query := e.text.stmt
	before, after, ok := outer.Creating(query)
	if !ok {
		return wire.Rewrite{}, pgerr.New(pgerr.FeatureNotSupported, "CREATE TABLE AS EXECUTE is of a prepared SELECT alone").
			WithHint("Prepare a query, or write it: CREATE TABLE ... AS SELECT ...")
	}
	rw := wire.Rewrite{SQL: query.Text, Tag: "SELECT 0"}
	if !outer.Execute.NoData {
		d, err := m.Describe(ctx, query.Text, b.ParamOIDs)
		if err != nil {
			return wire.Rewrite{}, err
		}
		b.Fields = d.Fields
		if err := rehearse(ctx, m, outer, parser.Destination{Table: before}, b); err != nil {
			return wire.Rewrite{}, err
		}
		b.Asked = outer.Text
		if rw, err = keepIn(ctx, e.execution, m, b, outer.Destination); err != nil || rw.Relay {
			return rw, err
		}
	}
	rw.SQL, rw.Inline = before+rw.SQL+after, ""
	return rw, nil
}

// arguments evaluates the arguments in the session, as values of the parameters'
// types in binary, which do not depend on the session's settings.
func arguments(ctx context.Context, m *wire.Asker, x *parser.Execute, st *prepared) ([][]byte, error) {
	if len(st.oids) == 0 {
		return nil, nil // Postgres takes arguments that nobody asks for, and forgets them
	}
	cols := make([]string, len(x.Args))
	for i, arg := range x.Args {
		cols[i] = "CAST((" + arg + "\n) AS " + st.types[i] + ")"
	}
	res, err := m.Query(ctx, "SELECT "+strings.Join(cols, ", "), nil, nil, nil, []int16{1})
	if err != nil {
		return nil, err
	}
	if len(res.Rows) != 1 || len(res.Rows[0]) != len(cols) {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "an argument of EXECUTE is not one value")
	}
	return res.Rows[0], nil
}
