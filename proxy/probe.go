package proxy

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/wire"
)

// A probe is the execution of a statement by which a tool asks for columns and no rows.
type probe struct{ *execution }

// empty answers a probe for columns with the columns and no rows.
func (p probe) empty(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	if shadowed, err := p.p.relations.anyShadowed(ctx, m, p.text.stmt); err != nil || shadowed {
		return wire.Rewrite{Relay: true}, err
	}
	if len(b.Fields) == 0 {
		return wire.Rewrite{}, pgerr.New(pgerr.RowAccess, "rows of protected tables are not available")
	}
	sql, err := withoutRows(ctx, m, b.Fields)
	return wire.Rewrite{SQL: sql, Inline: sql}, err
}

// withoutRows is a query with columns, and without rows.
func withoutRows(ctx context.Context, m *wire.Asker, fields []pgproto3.FieldDescription) (sql string, err error) {
	var ask []string
	for _, f := range fields {
		ask = append(ask, fmt.Sprintf("pg_catalog.format_type(%d, %d)", f.DataTypeOID, f.TypeModifier))
	}
	res, err := m.Query(ctx, "SELECT "+strings.Join(ask, ", "), nil, nil, nil, nil)
	if err != nil {
		return "", err
	}
	if len(res.Rows) != 1 {
		return "", errMirror
	}
	var cols []string
	for i, f := range fields {
		cols = append(cols, "CAST(NULL AS "+string(res.Rows[0][i])+") AS "+ast.QuoteIdent(string(f.Name)))
	}
	return "SELECT " + strings.Join(cols, ", ") + " WHERE false", nil
}

// skips asks the session whether Postgres runs nothing of CREATE TABLE IF NOT EXISTS AS:
// the table is there, in the schema in which it would be made.
func skips(ctx context.Context, m *wire.Asker, st *parser.Statement) (bool, error) {
	t := st.Unless
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
