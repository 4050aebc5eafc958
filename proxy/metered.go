package proxy

import (
	"context"
	"errors"

	"dpproxy/planner/work"
	"dpproxy/proxy/reader"
	"dpproxy/wire"
)

// This file ends planning that takes too long. A statement that takes more work than any should is refused by its work, counted, and not by
// a clock ([work.Meter]). Before that a cancel request, the client's leaving and the session's statement_timeout end it.

// understand resolves the statement. One that takes long is resolved anew within the session's statement_timeout, for which the mirror is
// asked then: the prelude, which asks for it too, needs to know what the statement is about. Without a mirror it is not.
func understand(ctx context.Context, e *execution, m *wire.Asker, params []uint32) *analysed {
	brief := work.New(ctx, work.Brief)
	a := e.text.analyse(brief, e.p.cfg.Catalog, params)
	if m == nil || brief.Err() == nil || ctx.Err() != nil {
		return a
	}
	res, err := m.Query(ctx, "SELECT pg_catalog.current_setting('statement_timeout')", nil, nil, nil, nil)
	if err == nil && len(res.Rows) != 1 {
		err = errMirror
	}
	if err != nil {
		return &analysed{err: err}
	}
	within, stop := patience(ctx, duration(res.Rows[0][0]))
	defer stop()
	a = e.text.analyse(work.New(within, work.Most), e.p.cfg.Catalog, params)
	a.err = timely(a.err)
	return a
}

// timely is an error of planning as clients see it.
func timely(err error) error {
	if errors.Is(err, reader.ErrTimeout) {
		return stopped(err, nil)
	}
	return err
}
