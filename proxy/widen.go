package proxy

import (
	"cmp"
	"strings"

	"dpproxy/mirror"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// columnsSetting is the setting of columns with errors.
const columnsSetting = "dp.columns"

// columnsSQL asks a session for it.
const columnsSQL = "SELECT pg_catalog.current_setting('" + columnsSetting + "', true)"

const confidenceSQL = "SELECT pg_catalog.current_setting('dp.confidence', true)"

// Widen implements wire.Widener: where dp.columns asks for it, a column with noise gets others with its error. The wider statement is
// then described to the client, prepared, copied or read by a cursor, as if the client had
// written it. Sessions that cannot have changed the setting are not asked for it.
func (p *Proxy) Widen(s *wire.Session, sql string, ask func(sql string) (string, error)) (*wire.Widened, error) {
	if !p.filter.Matches(sql) {
		return nil, nil //nolint:nilnil // the client's own text
	}
	state := stateOf(s)
	if strings.Contains(strings.ToLower(sql), "columns") || p.analyst(s.User()).Widens || s.StartedWith(columnsSetting) != "" {
		state.widens = true
	}
	if !state.widens {
		return nil, nil //nolint:nilnil // the client's own text
	}
	texts, err := p.texts.get(parser.Text{SQL: sql})
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // refused when it is screened
	}
	var session *settings.Settings
	out := &wire.Widened{}
	end := 0
	for _, t := range texts {
		query, at := p.widened(t)
		if query == nil {
			continue
		}
		if session == nil {
			session = &settings.Settings{}
			value, err := ask(columnsSQL)
			if err != nil {
				return nil, err
			}
			_ = session.Parse("columns", value) // refused when the statement runs
		}
		own := *session
		if own.ReadComments(t.stmt) != nil {
			continue
		}
		published, err := isPublished(t.stmt.Destination, ask)
		if err != nil {
			return nil, err
		}
		if published {
			own.ErrorColumns = cmp.Or(own.ErrorColumns, parser.Intervals)
		}
		if !settings.Widens(string(own.ErrorColumns)) {
			continue
		}
		if own.Confidence == 0 {
			value, err := ask(confidenceSQL)
			if err != nil {
				return nil, err
			}
			_ = session.Parse("confidence", value)
			session.Confidence = cmp.Or(session.Confidence, p.cfg.Defaults.Confidence)
			own.Confidence = session.Confidence
		}
		for _, i := range query.ErrorColumns(own.Confidence, own.ErrorColumns, published) {
			out.SQL += sql[end : t.stmt.Offset+at+i.At]
			end = t.stmt.Offset + at + i.At
			out.Inserted = append(out.Inserted, struct{ Start, End int }{len(out.SQL), len(out.SQL) + len(i.Text)})
			out.SQL += i.Text
		}
	}
	if len(out.Inserted) == 0 {
		return nil, nil //nolint:nilnil // the client's own text
	}
	out.SQL += sql[end:]
	return out, nil
}

// isPublished reports whether the result of a statement stays in a published table. Such a table has all that is known of its errors,
// unless the statement or the session says otherwise.
func isPublished(to parser.Destination, ask func(sql string) (string, error)) (bool, error) {
	var in, find string
	switch {
	case to.Table != "":
		in, find = to.Made.Schema, "SELECT pg_catalog.current_schema()"
	case len(to.Changes) == 1 && to.Changes[0].Privilege == "INSERT":
		of := to.Changes[0].Of
		in, find = of.Schema, `SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n
			ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(`+ast.Quote(ast.QuoteIdent(of.Name))+")"
	default:
		return false, nil
	}
	if in == "" {
		var err error
		if in, err = ask(find); err != nil {
			return false, err
		}
	}
	return in == mirror.PublishedSchema, nil
}

// widened is the query of a statement that releases columns with noise, at once or when it is executed, and where it begins in it; nil if
// there is none.
func (p *Proxy) widened(t *text) (query *parser.Statement, at int) {
	switch t.stmt.Class {
	case parser.Release, parser.Empty:
		return t.stmt, 0
	case parser.Relay:
		inner, ok := parser.PreparedSpan(t.stmt.Text)
		if !ok {
			return nil, 0
		}
		texts, err := p.texts.get(parser.Text{SQL: t.stmt.Text[inner.Start:inner.End]})
		if err == nil && len(texts) == 1 && texts[0].stmt.Class == parser.Release {
			return texts[0].stmt, inner.Start + texts[0].stmt.Offset
		}
	case parser.Explain, parser.Refused, parser.Set, parser.Execution:
	}
	return nil, 0
}
