package proxy

import (
	"context"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/proxy/replay"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// rehearse lets the mirror refuse, before the charge, a statement whose result has no place to stay: a table or a cursor that is there, a
// schema that is not, a right that is missing, or a cursor without a transaction. It comes before other private questions: from Postgres 18
// on they begin a transaction that would do for a cursor. Mistakes in the text come before it.
func rehearse(ctx context.Context, m *wire.Asker, st *parser.Statement, to parser.Destination, b wire.BindRequest) error {
	if to.Table == "" && to.Cursor == "" && len(to.Changes) == 0 {
		return nil
	}
	if err := new(settings.Settings).ReadComments(st); err != nil {
		return err
	}
	for _, c := range to.Changes {
		if err := mayChange(ctx, m, c); err != nil {
			return err
		}
		if err := mayPublish(ctx, m, c.Of); err != nil {
			return err
		}
	}
	switch {
	case to.Table != "":
		return makesTable(ctx, m, to.Table, b)
	case to.Cursor != "":
		return makesCursor(ctx, m, to)
	}
	return nil
}

// makesCursor makes the cursor, of nothing, and closes it.
func makesCursor(ctx context.Context, m *wire.Asker, to parser.Destination) error {
	for _, sql := range []string{to.Cursor + " SELECT", "CLOSE " + ast.QuoteIdent(to.Name)} {
		if _, err := m.Query(ctx, sql, nil, nil, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// makesTable makes the table, without a row, and undoes that.
func makesTable(ctx context.Context, m *wire.Asker, begins string, b wire.BindRequest) error {
	can, err := m.Query(ctx, "SELECT "+replay.Undoes, nil, nil, nil, nil)
	if err != nil || len(can.Rows) != 1 || string(can.Rows[0][0]) != "t" {
		return err
	}
	columns, err := withoutRows(ctx, m, b.Fields)
	if err != nil {
		return err
	}
	block := "BEGIN BEGIN EXECUTE " + ast.Quote(begins+" "+columns+" WITH NO DATA") + "; RAISE SQLSTATE 'DP000'; " +
		"EXCEPTION WHEN SQLSTATE 'DP000' THEN NULL; END; END"
	_, err = m.Query(ctx, "DO LANGUAGE plpgsql "+ast.Quote(block), nil, nil, nil, nil)
	return err
}

// mayChange refuses rows of a table that the session may not change.
func mayChange(ctx context.Context, m *wire.Asker, c parser.Change) error {
	table, privilege := ast.Quote(ast.QualifiedIdent(c.Of.Schema, c.Of.Name)), ast.Quote(c.Privilege)
	sql := "SELECT pg_catalog.has_table_privilege(" + table + ", " + privilege + ")"
	if c.Privilege != "DELETE" {
		sql += " OR pg_catalog.has_any_column_privilege(" + table + ", " + privilege + ")"
	}
	res, err := m.Query(ctx, sql, nil, nil, nil, nil)
	if err == nil && len(res.Rows) == 1 && string(res.Rows[0][0]) == "f" {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for table %s", c.Of.Name)
	}
	return err
}
