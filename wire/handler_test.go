package wire_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"dpproxy/pgerr"
	"dpproxy/wire"
)

// fakeHandler claims statements that mention secret and answers them with the
// rows that the database plain has. It knows SQL only by its words.
type fakeHandler struct {
	runs    atomic.Int64
	started chan struct{} // gets a value when a statement with "wait" runs
}

func newFakeHandler() *fakeHandler { return &fakeHandler{started: make(chan struct{}, 100)} }

func (h *fakeHandler) Screen(_ *wire.Session, sql string) ([]wire.Statement, error) {
	if i := strings.Index(sql, "unspeakable"); i >= 0 {
		return nil, pgerr.New(pgerr.RowAccess, "not that word").At(i)
	}
	if strings.Contains(sql, "panic") {
		panic("the handler has a defect")
	}
	if !strings.Contains(sql, "secret") && !strings.Contains(sql, "forbidden") {
		return nil, nil
	}
	var out []wire.Statement
	offset := 0
	for part := range strings.SplitSeq(sql, ";") {
		trimmed := strings.TrimSpace(part)
		if trimmed != "" {
			out = append(out, h.statement(trimmed, offset+strings.Index(part, trimmed)))
		}
		offset += len(part) + 1
	}
	return out, nil
}

func (h *fakeHandler) statement(sql string, offset int) wire.Statement {
	st := wire.Statement{SQL: sql, Offset: offset}
	if strings.HasPrefix(sql, "PREPARE") || !strings.Contains(sql, "secret") && !strings.Contains(sql, "forbidden") {
		return st
	}
	st.Describe = sql
	if strings.HasPrefix(sql, "COPY (") {
		st.Utility = true
		st.Describe = sql[len("COPY ("):strings.LastIndex(sql, ")")]
	}
	if strings.HasPrefix(sql, "CREATE") || strings.HasPrefix(sql, "DECLARE") {
		st.Utility = true
	}
	st.Early = func() *wire.Question {
		switch {
		case strings.Contains(sql, "early nonsense"):
			return &wire.Question{SQL: "SELECT nothing FROM nowhere"}
		case strings.Contains(sql, "asked late"):
			return nil
		}
		return &wire.Question{SQL: "SELECT current_setting('TimeZone'), 'ö'::text"}
	}
	st.Run = func(ctx context.Context, m *wire.Asker, b wire.BindRequest) (wire.Rewrite, error) {
		h.runs.Add(1)
		return h.run(ctx, m, b, sql)
	}
	return st
}

func (h *fakeHandler) run(ctx context.Context, m *wire.Asker, b wire.BindRequest, sql string) (wire.Rewrite, error) {
	if i := strings.Index(sql, "forbidden"); i >= 0 {
		return wire.Rewrite{}, pgerr.New(pgerr.RowAccess, "rows of a protected table").At(i).
			WithDetail("a detail").WithHint("ask for an aggregate")
	}
	switch {
	case strings.Contains(sql, "broken"):
		return wire.Rewrite{}, errors.New("something is wrong inside")
	case strings.Contains(sql, "wait"):
		h.started <- struct{}{}
		<-ctx.Done()
		return wire.Rewrite{}, ctx.Err()
	case strings.Contains(sql, "asks with a deadline"):
		short, stop := context.WithTimeout(ctx, 10*time.Millisecond)
		defer stop()
		_, err := m.Query(short, "SELECT pg_sleep(60)", nil, nil, nil, nil)
		return wire.Rewrite{}, pgerr.New(pgerr.QueryCanceled, "out of time: %t", err != nil)
	case strings.Contains(sql, "asks a long question"):
		h.started <- struct{}{}
		_, err := m.Query(ctx, "SELECT pg_sleep(60)", nil, nil, nil, nil)
		return wire.Rewrite{}, err
	case strings.Contains(sql, "asks nonsense and hides it"):
		_, err := m.Query(ctx, "SELECT 1/0", nil, nil, nil, nil)
		return wire.Rewrite{}, pgerr.New(pgerr.DataUnavailable, "hidden: %t", err != nil)
	case strings.Contains(sql, "asks nonsense and ignores it"):
		m.Query(ctx, "SELECT 1/0", nil, nil, nil, nil)
	case strings.Contains(sql, "asks nonsense"):
		_, err := m.Query(ctx, "SELECT nothing FROM nowhere", nil, nil, nil, nil)
		return wire.Rewrite{}, err
	case strings.Contains(sql, "asks for three rows"):
		r, err := m.First(ctx, 3, "SELECT generate_series(1, $1)", []uint32{23}, [][]byte{[]byte("10")}, nil)
		if err != nil {
			return wire.Rewrite{}, err
		}
		return wire.Rewrite{}, pgerr.New(pgerr.ProgramLimitExceeded, "%d rows", len(r.Rows))
	case strings.Contains(sql, "asks for many cells"):
		r, err := m.Query(ctx, "SELECT "+strings.Repeat("NULL, ", 20)+"NULL FROM generate_series(1, 200000)", nil, nil, nil, nil)
		if err != nil {
			return wire.Rewrite{}, err
		}
		return wire.Rewrite{}, pgerr.New(pgerr.ProgramLimitExceeded, "%d rows", len(r.Rows))
	case strings.Contains(sql, "relayed"):
		return wire.Rewrite{Relay: true, Notices: []wire.Notice{{Message: "relayed after all"}}}, nil
	case strings.Contains(sql, "rewritten badly"):
		return wire.Rewrite{SQL: "SELEKT", Inline: "SELEKT"}, nil
	}
	return h.rewrite(ctx, m, b, sql)
}

// rewrite puts a constant relation in the place of the table. It asks the mirror
// first, in the client's own transaction, as the product does.
func (h *fakeHandler) rewrite(ctx context.Context, m *wire.Asker, b wire.BindRequest, sql string) (wire.Rewrite, error) {
	r, err := b.Early, error(nil)
	if r == nil {
		r, err = m.Query(ctx, "SELECT current_setting('TimeZone'), $1::text", []uint32{25}, [][]byte{[]byte("ö")}, nil, nil)
	}
	if err != nil {
		return wire.Rewrite{}, err
	}
	if len(r.Rows) != 1 || string(r.Rows[0][1]) != "ö" || len(r.Fields) != 2 {
		return wire.Rewrite{}, fmt.Errorf("the mirror answered %v", r)
	}
	const relation = "(SELECT u.id::int AS id, u.name::varchar(10) AS name " +
		"FROM ROWS FROM (pg_catalog.unnest(%s::int[]), pg_catalog.unnest(%s::varchar[])) AS u(id, name)) AS secret"
	ids, names := "{1,2,3}", "{one,zwei,trois}"
	n := len(b.Params)
	rw := wire.Rewrite{
		SQL:       strings.Replace(sql, "secret", fmt.Sprintf(relation, fmt.Sprintf("$%d", n+1), fmt.Sprintf("$%d", n+2)), 1),
		Inline:    strings.Replace(sql, "secret", fmt.Sprintf(relation, "'"+ids+"'", "'"+names+"'"), 1),
		Extra:     [][]byte{[]byte(ids), []byte(names)},
		ExtraOIDs: []uint32{1007, 1015},
	}
	if strings.Contains(sql, "by parameters") {
		rw.Inline, rw.ExtraFormats = "", []int16{0, 0}
	}
	if strings.Contains(sql, "notice me") {
		rw.Notices = []wire.Notice{
			{Message: "it cost 0.1", Detail: "a detail", Hint: "a hint"},
			{Severity: "WARNING", Code: "01000", Message: "nearly gone"},
		}
		rw.Tag = "PAID 3"
	}
	return rw, nil
}

var _ wire.Handler = (*fakeHandler)(nil)
