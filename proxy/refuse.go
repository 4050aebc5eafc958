package proxy

import (
	"context"

	"dpproxy/proxy/settings"
	"dpproxy/wire"
)

// A refusal is the execution of a statement that the parser refuses.
type refusal struct{ *execution }

// refuse raises the parser's refusal, unless the names mean other relations in
// this session, such as temporary tables.
func (r refusal) refuse(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	shadowed, err := r.p.relations.anyShadowed(ctx, m, r.text.stmt)
	if err != nil || shadowed {
		return wire.Rewrite{Relay: true}, err
	}
	return wire.Rewrite{}, mended(ctx, r.execution, m, b, r.text.stmt.Refusal)
}

// refuseRows refuses a statement that asks for rows of protected tables, unless the
// session wants none in their place.
func (r refusal) refuseRows(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
	s, err := r.rowSettings(ctx, m)
	switch {
	case err != nil:
		return wire.Rewrite{}, err
	case s.NoRows:
		return r.withoutRows(ctx, m, b, s.Notice != settings.Silence)
	}
	return r.refuse(ctx, m, b)
}

// rowSettings reads the settings that decide on statements that ask for rows.
func (r refusal) rowSettings(ctx context.Context, m *wire.Asker) (*settings.Settings, error) {
	names := []string{"rows", "notice"}
	const sql = "SELECT pg_catalog.current_setting('dp.rows', true), pg_catalog.current_setting('dp.notice', true)"
	res, err := m.Query(ctx, sql, nil, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	if len(res.Rows) != 1 {
		return nil, errMirror
	}
	s := &settings.Settings{Notice: settings.Brief}
	for i, name := range names {
		if err := s.Parse(name, string(res.Rows[0][i])); err != nil {
			return nil, err
		}
	}
	if err := s.ReadComments(r.text.stmt); err != nil {
		return nil, err
	}
	return s, nil
}

// withoutRows answers a statement that asks for rows of protected tables with its columns
// and none, for tools that read a row to learn the columns. It looks at nothing but the
// statement: the answer is the same whatever the tables hold.
func (r refusal) withoutRows(ctx context.Context, m *wire.Asker, b wire.BindRequest, notice bool) (wire.Rewrite, error) {
	if len(b.Fields) == 0 {
		d, err := m.DescribeOwn(ctx, r.text.stmt.Text, b.ParamOIDs)
		if err != nil {
			return wire.Rewrite{}, err
		}
		b.Fields = d.Fields
	}
	rw, err := probe(r).empty(ctx, m, b)
	if err == nil && notice && !rw.Relay {
		rw.Notices = append(rw.Notices, wire.Notice{Message: r.text.stmt.Refusal.Message + ": none are shown"})
	}
	return rw, err
}
